"""One module per verb of the operator, in folders by noun; each use case owns its transaction."""
