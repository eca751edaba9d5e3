"""A simulated Ironic: its bare metal API over nodes that exist in memory only."""
