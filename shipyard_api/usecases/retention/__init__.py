"""How long what has happened is kept."""
