"""One module per verb an operator has; each owns its transaction."""
