"""Peers as programs of their own; they share no code with the adapters they test."""
