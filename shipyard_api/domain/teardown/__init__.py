"""Taking a server out of its cluster: order, quorum of etcd, labels, drain (seed 004; contract: promenade)."""
