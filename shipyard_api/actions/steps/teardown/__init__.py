"""Work items that take one node each out of its cluster (seed 004; product, section 6)."""
