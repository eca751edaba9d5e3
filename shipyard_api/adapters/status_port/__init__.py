"""A small HTTP port of a program that serves no API: probes and metrics."""
