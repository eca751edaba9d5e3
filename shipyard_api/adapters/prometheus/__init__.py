"""Metrics in Prometheus' text format, with prometheus_client."""
