"""A MAAS region controller over simulated machines: its HTTP API 2.0, spoken without any code of our adapter."""
