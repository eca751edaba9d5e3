"""What one turn of an action is; knows no peer, no action and no queue by name."""
