"""HTTP itself: authentication, request ids, bodies, limits and the audit log, the same for every dialect."""
