"""Designs that are pulled from a repository."""
