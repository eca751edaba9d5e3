"""The actions an operator can ask for: their steps, parameters and preconditions."""
