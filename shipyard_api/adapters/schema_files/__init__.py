"""The schemas port, filled by the JSON Schema files that ship with Shipyard."""
