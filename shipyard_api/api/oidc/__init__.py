"""Signing in to the page with an OpenID provider, and what the command line needs for it."""
