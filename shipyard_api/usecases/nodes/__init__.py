"""Use cases on the nodes of the site."""
