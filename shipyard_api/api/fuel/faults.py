"""Requests that this dialect refuses by its own rules."""

import falcon


class Fault(Exception):
    """A resource refuses the request. ``code``: the status line."""

    def __init__(self, text: str, code: str = falcon.HTTP_400) -> None:
        super().__init__(text)
        self.code = code
