"""The page for browsers at ``/`` (ADR 0028)."""
