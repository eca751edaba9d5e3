"""The cluster port, filled by a Kubernetes API server."""
