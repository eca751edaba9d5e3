"""Rules that an operator may change, as OpenStack and Airship write them."""
