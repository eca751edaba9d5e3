"""A simulated Drydock: the real API over a simulated site."""
