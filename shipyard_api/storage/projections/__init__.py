"""Projections: the rows that readers are shown, brought up to date by facts. One module a table."""
