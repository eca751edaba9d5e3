"""Promenade, which makes machines into nodes of a cluster."""
