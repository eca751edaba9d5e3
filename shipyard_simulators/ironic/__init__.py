"""A simulated Ironic: its bare metal API over nodes in memory."""
