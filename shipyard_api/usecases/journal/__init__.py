"""Use cases that read the journal."""
