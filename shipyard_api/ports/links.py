"""Text that a peer keeps and we only point to: logs, hardware data."""

from typing import Protocol


class Links(Protocol):
    """One peer's own addresses, asked with our credentials; nobody else's are ever followed."""

    def fetch(self, address: str) -> str:
        """Return the text at an address below the peer's own base, without the passwords of addresses in it.

        Size and time are bounded. Raises Refused for any other address, before anybody is asked, and where the peer
        refuses; Unavailable or Busy where there is no usable answer.
        """
