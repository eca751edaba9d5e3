"""The REST face: one module per noun, app.py is the route table."""
