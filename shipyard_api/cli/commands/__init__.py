"""The commands, one module per noun or command group."""
