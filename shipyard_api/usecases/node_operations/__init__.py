"""Operations on one node for callers who wait, and the health of etcd (seed 004)."""
