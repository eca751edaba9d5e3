"""The notices port, filled by LISTEN of Postgres."""
