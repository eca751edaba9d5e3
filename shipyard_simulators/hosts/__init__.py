"""Simulated hosts: SSH servers that run what they are sent, each in a directory of its own."""
