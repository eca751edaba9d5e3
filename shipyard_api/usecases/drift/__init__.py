"""Drift: sight what actions left, and find what has changed since."""
