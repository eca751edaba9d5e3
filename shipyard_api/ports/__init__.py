"""What Shipyard needs of the outside: protocols, the values that cross them, and their promises."""
