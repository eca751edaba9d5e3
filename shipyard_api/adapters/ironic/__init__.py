"""The provisioner port, filled by an Ironic."""
