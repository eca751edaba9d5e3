"""etcd, the store of a Kubernetes cluster, over its JSON gateway."""
