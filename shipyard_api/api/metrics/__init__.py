"""Metrics for monitoring systems; outside of every dialect."""
