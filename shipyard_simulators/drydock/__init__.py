"""A Drydock that speaks the real wire protocol over a simulated site."""
