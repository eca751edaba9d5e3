"""The part of Ironic's API that serves deploy templates (seed 003; contract: Ironic deploy templates)."""
