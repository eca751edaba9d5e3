"""Use cases on configdocs: load, commit, read."""
