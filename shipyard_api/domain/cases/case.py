"""A case, as it is stored, shown and said aloud."""

from datetime import UTC, datetime, timedelta
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.cases.features import WORDINGS, Wording
from shipyard_api.domain.cases.reasons import GAP
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.nodes import NodeName

WORDS = "words"
"""The feature of a case in which only the reasons are alike."""

_MOST_TIES = 3
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


class CaseKind(Enum):
    """What happened to the nodes; the values are the words on the wire."""

    FAILED = "failed"
    LATE = "late"
    DRIFT = "drift"


_HAPPENED = {CaseKind.FAILED: "that failed", CaseKind.LATE: "that are late", CaseKind.DRIFT: "that differ"}


class Tie(Struct, frozen=True):
    """Another feature that holds the same nodes, as far as both are known."""

    feature: str
    value: str


class Earlier(Struct, frozen=True):
    """The same cause in earlier actions: how many, since when, and the newest of them."""

    times: int
    first_at: datetime
    action: str


class Case(Struct, frozen=True, omit_defaults=True):
    """What ``nodes`` share and the others do not: one value of one feature.

    ``affected``: how many nodes failed, or are late, or differ, of which the feature is known; ``unknown``: of how many
    it is not. ``others``: the nodes to which that did not happen; ``others_with`` of them have the value too.
    ``since``: when it happened first. ``words``: the beginning of the reason that most of them give,
    with the names and numbers that they share. ``also``: other
    features that hold the same nodes. ``rest``: how many nodes with the value have not begun. ``command``: what an
    operator could do now; a case never does it. ``explained``: how many nodes earlier cases explain, which count for
    nothing here.
    """

    kind: CaseKind
    feature: str
    value: str
    nodes: tuple[NodeName, ...]
    affected: int
    others_with: int
    others: int
    unknown: int = 0
    since: datetime | None = None
    words: str = ""
    also: tuple[Tie, ...] = ()
    rest: int = 0
    command: str = ""
    earlier: Earlier | None = None
    explained: int = 0

    @property
    def key(self) -> str:
        """The cause: the same one in another action has the same key."""
        return f"{self.kind.value} {self.feature} {self.value}"

    @property
    def sentence(self) -> str:
        """What the case says aloud."""
        return " ".join(
            filter(None, (f"{self._figures()}.", self._ties(), self._since(), self._first(), self._history()))
        )

    def _figures(self) -> str:
        wording = wording_of(self.feature)
        happened = _HAPPENED[self.kind]
        total = (
            f"all {self.affected}"
            if len(self.nodes) == self.affected > 1
            else f"{len(self.nodes)} of the {self.affected}"
        )
        remaining = " remaining nodes" if self.explained else ""
        first = f"{total}{remaining} {happened} {wording.has.format(self.value)}"
        first = first[0].upper() + first[1:]
        unknown = f" (of {self.unknown} more it is not known)" if self.unknown else ""
        if self.feature == WORDS:
            return (
                f"{first}{unknown}, and nothing else sets them apart from {self.others} others"
                if self.others
                else first
            )
        if not self.others:
            return f"{first}{unknown}"
        return f"{first}{unknown}; {self.others_with or 'none'} of {self.others} others {wording.short}"

    def _ties(self) -> str:
        named = (wording_of(tie.feature).noun.format(tie.value) for tie in self.also)
        return f"These are the same nodes: {in_short(named, _MOST_TIES)}." if self.also else ""

    def _since(self) -> str:
        return f"Since {clock(self.since)}." if self.since else ""

    def _first(self) -> str:
        return f"First words: {self.words}{'' if self.words.endswith(GAP) else '.'}" if self.words else ""

    def _history(self) -> str:
        if self.earlier is None:
            return ""
        number = self.earlier.times + 1
        ordinal = _ORDINALS[number] if number < len(_ORDINALS) else f"{number}th"
        first = day(self.earlier.first_at, self.since)
        return f"{ordinal.capitalize()} time since {first}; the last time in action {self.earlier.action}."


def wording_of(feature: str) -> Wording:
    """Return how a sentence names the values of a feature; one that is not known here is named as it is written."""
    return WORDINGS.get(feature) or Wording(f"have {feature} {{}}", "do", f"{feature} {{}}")


def clock(moment: datetime) -> str:
    """Return the time of a moment of the night."""
    return moment.astimezone(UTC).strftime("%H:%M UTC")


def day(moment: datetime, now: datetime | None) -> str:
    """Return the weekday of a moment within a week, else its date."""
    recent = now is not None and now - moment < timedelta(days=7)
    return moment.astimezone(UTC).strftime("%A" if recent else "%Y-%m-%d")
