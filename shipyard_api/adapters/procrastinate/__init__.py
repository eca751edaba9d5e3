"""The wake-up port and the worker loop, filled by Procrastinate on the same Postgres."""
