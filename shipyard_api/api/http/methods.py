"""Methods of HTTP: which of them change something, and so are counted and leave a line in the audit log."""

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
