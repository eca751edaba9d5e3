"""Events: the journal as server-sent events (HTML, 9.2)."""
