"""Deploying the groups of a strategy: what moves when, in which mode, and the plan of it (seed 000)."""
