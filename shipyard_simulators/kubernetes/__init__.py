"""A simulated Kubernetes API server, in memory: nodes, their pods, and what protects and controls them."""
