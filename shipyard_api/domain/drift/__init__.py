"""Drift: what the peers show of a site now, against what Shipyard left (product, section 9). Pure."""
