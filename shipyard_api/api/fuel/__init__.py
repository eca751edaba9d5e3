"""The part of Fuel's API that serves releases, clusters, roles, tags and task graphs (seeds 001 and 002)."""
