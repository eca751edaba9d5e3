"""The kinds of errors that callers receive. Each area of the domain declares its errors in a table of kinds.

A row defines an error: family, code, title, and a function that names its data and returns
its sentence. ``HoldNotFound = ErrorKind(NotFound, "HoldNotFound", "Hold not found", lambda hold: …)`` is raised by
``raise HoldNotFound(hold)``. A dialect of the API knows the status of each family, and words a kind differently only
where its contract does.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, errors, in_short

NAMED = 5
"""As many nodes or findings are named in a sentence."""


class Text(Struct, frozen=True):
    """What a caller reads. ``cause``: the cause and what to do, where the reason is the contract's and lacks it."""

    reason: str
    cause: str = ""
    title: str = ""
    findings: Sequence[Finding] = ()


Data = ParamSpec("Data")
Family = TypeVar("Family", bound="ShipyardError", covariant=True)
Sentence = Callable[..., str | Text]


class ShipyardError(Exception):
    """Base of every error that a caller can receive.

    ``kind``: its row. ``data``: by the names of the row; ``findings`` are among it for some kinds.
    """

    def __init__(self, kind: "ErrorKind[..., ShipyardError]", data: Mapping[str, Any]) -> None:
        super().__init__(kind, data)
        self.kind = kind
        self.data = data
        self.findings: Sequence[Finding] = data.get("findings", ())

    def text(self, words: "Mapping[ErrorKind[..., ShipyardError], Sentence] | None" = None) -> Text:
        """Return what a caller reads; ``words``: the sentences of a dialect that replace those of the tables."""
        said = (words or {}).get(self.kind, self.kind.sentence)(**self.data)
        text = Text(said) if isinstance(said, str) else said
        return replace(text, title=text.title or self.kind.title, findings=text.findings or self.findings)

    def __str__(self) -> str:
        text = self.text()
        return f"{text.title}: {text.reason}"


class ErrorKind(Generic[Data, Family]):
    """A row of a table of errors; calling it with its data makes the error.

    ``sentence``: its parameters are the names of the data; it returns the reason, or a text with what else depends on
    the data. ``retry``: the same request may succeed later.
    """

    def __init__(
        self,
        family: type[Family],
        code: str,
        title: str,
        sentence: Callable[Data, str | Text],
        *,
        retry: bool = False,
    ) -> None:
        self.family = family
        self.code = code
        self.title = title
        self.sentence: Sentence = sentence
        self.retry = retry

    def __call__(self, *args: Data.args, **kwargs: Data.kwargs) -> Family:
        """Return the error, to be raised."""
        data = inspect.signature(self.sentence).bind(*args, **kwargs)
        data.apply_defaults()
        return self.family(self, data.arguments)

    def __repr__(self) -> str:
        return self.code


# The families. A caller's program treats errors of one family alike.


class Invalid(ShipyardError):
    """The input breaks a rule."""


class NotFound(ShipyardError):
    """There is no such thing."""


class Conflict(ShipyardError):
    """The input is valid, but the current state forbids it; the same request may succeed later."""


class NotOverridden(Conflict):
    """A conflict that ``force`` overrides, which this caller may not use."""


class Reused(Conflict):
    """A key was used before, for something else."""


class Precondition(ShipyardError):
    """Something that must come first has not been done."""


class Outdated(Precondition):
    """The request is for an older version."""


class AskLater(ShipyardError):
    """Refused for now; the data has a ``pause``: after how many seconds to ask again."""

    @property
    def seconds(self) -> int:
        """The pause as a whole number of at least 1."""
        return whole_seconds(self.data["pause"])


class Unauthenticated(ShipyardError):
    """The request carries no valid credentials; ``was_sent``: whether it carries any."""

    def __init__(self, was_sent: bool = True) -> None:
        super().__init__(UNAUTHENTICATED, {"was_sent": was_sent})


class Forbidden(ShipyardError):
    """The caller is known and lacks the permission; ``detail`` says more where there is more to say."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(FORBIDDEN, {"detail": detail})


_ANONYMOUS = "No token was sent. Send one in the header X-Auth-Token"
_UNKNOWN = "The token that was sent is not valid: it is unknown, expired or revoked"

UNAUTHENTICATED = ErrorKind(
    Unauthenticated,
    "Unauthenticated",
    "Unauthenticated",
    lambda was_sent: Text("Credentials are not established", _UNKNOWN if was_sent else _ANONYMOUS),
)
FORBIDDEN = ErrorKind(Forbidden, "Forbidden", "Forbidden", lambda detail: detail or "Credentials do not permit access")


# Parts of sentences.


def in_a_row(findings: Sequence[Finding]) -> str:
    """Return the messages of all findings."""
    return " ".join(finding.message for finding in findings)


def joined(separator: str, most: int | None = None) -> Callable[[Sequence[Finding]], str]:
    """Return a sentence of the messages of the errors among the findings; ``most``: only of the first ones."""

    def sentence(findings: Sequence[Finding]) -> str:
        return separator.join(finding.message for finding in errors(findings)[:most])

    return sentence


def named(nodes: Sequence[str]) -> str:
    """Return the first of these nodes, and how many more there are."""
    return f"node {in_short(nodes, NAMED)}"


def some(names: Sequence[str]) -> str:
    """Return the first of these names, and whether there are more."""
    return in_short(names, NAMED, more=", …")


def whole_seconds(pause: float) -> int:
    """Return a pause in whole seconds, at least 1."""
    return max(1, math.ceil(pause))
