"""The page of errors: the rows of the tables, with the data of each as ``{name}``."""

import inspect
from collections.abc import Iterator
from typing import Any

from shipyard_api.api.airship import errors as ours
from shipyard_api.api.airship.errors import error_type_of, text_of
from shipyard_api.api.http import errors as http
from shipyard_api.domain import error_kinds
from shipyard_api.domain import errors as domain
from shipyard_api.domain.actions import Control
from shipyard_api.domain.documents import BufferMode, Version
from shipyard_api.domain.error_kinds import ErrorKind, ShipyardError
from shipyard_api.domain.findings import error
from shipyard_api.domain.plans import errors as plans

Line = tuple[str, str, str, bool, str, str]
"""The code of an error, its status, ``errorType``, ``retry``, ``message`` and ``reason``."""


class _Name(str):
    """The name of data in braces, whatever a sentence takes of it: an item, an attribute, a form."""

    def __getattr__(self, name: str) -> "_Name":
        return self

    def __getitem__(self, key: Any) -> "_Name":
        return self

    def __call__(self, *_: Any) -> "_Name":
        return self

    def __iter__(self) -> Iterator[str]:
        yield self

    def __len__(self) -> int:
        return 1

    def __format__(self, form: str) -> str:
        return str(self)


_SAMPLES = {
    "findings": [error("", "{findings}", diagnostic="{diagnostic}")],
    "pause": 9.0,
    "control": Control.STOP,
    "mode": BufferMode.REJECT_ON_CONTENTS,
    "version": Version.COMMITTED,
}


def lines() -> Iterator[Line]:
    """Return a line for each error of Shipyard v1.0."""
    rows = {id(row): row for table in (error_kinds, http, domain, plans, ours) for row in vars(table).values()}
    return (_line(row) for row in rows.values() if isinstance(row, ErrorKind))


def _line(kind: ErrorKind[..., ShipyardError]) -> Line:
    names = inspect.signature(kind.sentence).parameters
    data = {name: _SAMPLES.get(name, _Name(f"{{{name}}}")) for name in names}
    text = text_of(ShipyardError(kind, data))
    return kind.code, http.status_of(kind.family), error_type_of(kind), kind.retry, text.title, text.reason
