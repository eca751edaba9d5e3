"""Use cases on API tokens: create, authenticate, list, revoke."""
