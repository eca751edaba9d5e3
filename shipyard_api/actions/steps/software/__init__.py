"""The software stage: tasks of the site's graph on its nodes (product, section 7; seeds 001 and 002)."""
