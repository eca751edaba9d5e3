"""The provisioner port, filled by a MAAS."""
