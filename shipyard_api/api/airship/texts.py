"""How Shipyard v1.0 words an error: as its row does, unless the contract names a system that the domain has not."""

from collections.abc import Mapping

from shipyard_api.api.airship import errors as ours
from shipyard_api.api.http.errors import InvalidFormat
from shipyard_api.domain import errors as domain
from shipyard_api.domain.error_kinds import NAMED, ErrorKind, Sentence, ShipyardError, Text, joined

WORDS: Mapping[ErrorKind[..., ShipyardError], Sentence] = {
    domain.NothingCommitted: lambda: Text("Unable to locate a committed revision in Deckhand", domain.NOT_COMMITTED),
    domain.NotRendered: lambda findings: Text(joined("; ", NAMED)(findings), title=ours.BrokenDesign.title),
}
"""The sentences of this dialect in place of those of the tables."""

# Contract: shipyard-rest, 5.1 has AppError, and 5.2 to 5.5 have ApiError.
_APP_ERRORS = frozenset[ErrorKind[..., ShipyardError]](
    {
        domain.NothingToCompare,
        ours.InvalidDiffFormat,
        ours.WrongNumberOfVersions,
        ours.VersionsGivenTwice,
        ours.UnknownVersion,
        ours.SameVersion,
    }
)


def text_of(failed: ShipyardError) -> Text:
    """Return how an error is worded."""
    return failed.text(WORDS)


def error_type_of(kind: ErrorKind[..., ShipyardError]) -> str:
    """Return the ``errorType`` of an error."""
    if kind in _APP_ERRORS:
        return "AppError"
    return "InvalidFormatError" if issubclass(kind.family, InvalidFormat) else "ApiError"
