"""The Shipyard v1.0 dialect: its routes, resources, representations and sentences."""
