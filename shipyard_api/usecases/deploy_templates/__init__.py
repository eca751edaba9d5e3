"""Deploy templates (seed 003)."""
