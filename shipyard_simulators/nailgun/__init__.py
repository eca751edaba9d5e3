"""A simulated nailgun, the server of Fuel: a release, a cluster, and their task graphs, to be read."""
