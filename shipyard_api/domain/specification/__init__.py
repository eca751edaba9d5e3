"""What a node is to be, by aspect; what it was given; and what the difference asks for (product, section 14)."""
