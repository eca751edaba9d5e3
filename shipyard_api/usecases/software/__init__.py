"""Use cases on releases, clusters and what their nodes run."""
