"""The ports of the cluster and of its nodes, filled by a Kubernetes API server."""
