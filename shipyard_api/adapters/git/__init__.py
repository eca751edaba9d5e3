"""Designs from a git repository, by the git of the system."""
