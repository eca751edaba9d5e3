"""Deploy templates: the traits of a node choose its deploy steps (seed 003; contract: Ironic deploy templates)."""
