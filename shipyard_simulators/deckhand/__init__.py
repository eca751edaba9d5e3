"""A simulated Deckhand: the real API over documents in memory."""
