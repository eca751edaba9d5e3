"""How gunicorn serves the API: what it writes to its log, and how long it waits for a caller."""
