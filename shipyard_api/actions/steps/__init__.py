"""Steps that actions are composed of."""
