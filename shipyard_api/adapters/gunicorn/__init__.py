"""How gunicorn serves the API: the bounds of a connection, and the form of its log."""
