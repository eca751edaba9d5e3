"""The records and errors of the state in our own database, one module a noun; ``storage`` reads and writes them."""
