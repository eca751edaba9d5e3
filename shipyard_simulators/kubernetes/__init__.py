"""A Kubernetes API server with nodes and nothing else, in memory."""
