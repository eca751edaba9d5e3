"""Use cases on API tokens."""
