"""The state Shipyard keeps in its own database: one module a noun, and the transaction that holds them."""
