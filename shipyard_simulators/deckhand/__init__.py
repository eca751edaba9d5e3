"""A Deckhand that speaks the real wire protocol, with its documents in memory."""
