"""The one cause of many failures: what failed nodes share and others do not (product, section 15)."""
