"""Requests that this dialect refuses by its own rules and answers in a form of their own."""

from shipyard_api.api.http.errors import Fault


class TooDeep(Fault):
    """The body is nested deeper than this dialect reads; answered without the wrapping of other faults."""


class NotServed(Fault):
    """There is no such resource, method or version (contract, 5: the second form)."""
