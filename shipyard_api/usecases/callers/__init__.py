"""Use cases on callers of the API."""
