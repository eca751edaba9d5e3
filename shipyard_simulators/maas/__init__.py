"""A simulated MAAS region controller: its HTTP API 2.0 over simulated machines."""
