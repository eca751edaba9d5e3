"""Stored plans: signed by people, and carried out by one action (product, section 13). Pure."""
