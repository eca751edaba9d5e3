"""Wires the programs from the settings: only this package chooses the adapter of each port."""
