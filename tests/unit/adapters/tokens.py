"""Tokens of a peer, for tests of its client."""


class Tokens:
    """Tokens that get a new number whenever a new one is asked for."""

    number = 1

    def __call__(self) -> str:
        return f"token-{self.number}"

    def renew(self) -> None:
        self.number += 1
