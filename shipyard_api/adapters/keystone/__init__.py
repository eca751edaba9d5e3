"""Tokens and addresses of services, from a Keystone."""
