"""The rollout policy of a site: waves, budgets, maintenance windows and gates (product, section 13)."""
