"""Requests that this dialect refuses by its own rules; the texts are Ironic's where scripts may look for them."""

import falcon


class Fault(Exception):
    """A resource refuses the request (contract, 5: the first form). ``code``: the status line."""

    def __init__(self, text: str, code: str = falcon.HTTP_400) -> None:
        super().__init__(text)
        self.code = code


class TooDeep(Fault):
    """The body is nested deeper than this dialect reads; answered without the wrapping of other faults."""


class NotServed(Fault):
    """There is no such resource, method or version (contract, 5: the second form)."""
