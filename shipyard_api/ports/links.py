"""Texts that a peer stores and we link to: logs, hardware data."""

from typing import Protocol


class Links(Protocol):
    """Fetches addresses of one peer with our credentials; never those of any other host."""

    def fetch(self, address: str) -> str:
        """Return the text at an address below the peer's own base, without the passwords of addresses in it.

        Size and time are bounded. Raises Refused for any other address, without a request, and if the peer refuses;
        Unavailable or Busy if there is no usable answer.
        """
