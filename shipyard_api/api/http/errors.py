"""Errors of reading a request."""

from shipyard_api.domain.errors import Invalid


class InvalidFormat(Invalid):
    """The body cannot be read as what it should be."""
