"""Hardware: what the design expects of a server, what the provisioner has seen of it, and how they differ."""
