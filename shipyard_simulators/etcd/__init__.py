"""A simulated etcd cluster: its JSON gateway, and members that die, hang, come and go."""
