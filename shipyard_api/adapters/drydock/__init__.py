"""The provisioner port, filled by a Drydock."""
