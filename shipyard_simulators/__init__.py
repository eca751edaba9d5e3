"""Simulated peers as programs. They share no code with the adapters that they test."""
