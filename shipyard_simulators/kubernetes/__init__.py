"""A simulated Kubernetes API server: nodes only, in memory."""
