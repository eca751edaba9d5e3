"""The design store port, filled by a Deckhand."""
