"""Use cases on holds."""
