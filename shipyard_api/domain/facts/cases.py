"""Facts about cases, the one cause of many failures (product, section 15): what is open, and what has changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from shipyard_api.domain.cases.case import Case, Earlier
from shipyard_api.domain.facts.fact import Fact, JournalFact


class CaseOpened(Fact, frozen=True):
    """What nodes that failed, or are late, have in common is known; see ``Case``."""

    kind: ClassVar[str] = "case_opened"

    case: Case


class CaseChanged(Fact, frozen=True):
    """An open case has other nodes or figures than before."""

    kind: ClassVar[str] = "case_changed"

    case: Case


class CaseClosed(Fact, frozen=True):
    """A case is over: its nodes are no longer late, or another cause explains them better. ``key``: of the case."""

    kind: ClassVar[str] = "case_closed"

    key: str
    sentence: str


class CasesUnknown(Fact, frozen=True):
    """The search for cases has no answer, and ``why``; the open ones stay as they are. Empty: it has one again."""

    kind: ClassVar[str] = "cases_unknown"

    why: str


FACTS: tuple[type[Fact], ...] = (CaseOpened, CaseChanged, CaseClosed, CasesUnknown)
KINDS = (CaseOpened.kind, CaseChanged.kind, CaseClosed.kind, CasesUnknown.kind)


def open_cases(facts: Iterable[JournalFact]) -> Sequence[Case]:
    """Return the open cases, that of the most nodes first. ``facts``: those of the journal, in order."""
    cases: dict[str, Case] = {}
    for fact in facts:
        match fact:
            case CaseOpened(case) | CaseChanged(case):
                cases[case.key] = case
            case CaseClosed(key):
                cases.pop(key, None)
    return sorted(cases.values(), key=lambda case: -len(case.nodes))


def why_unknown(facts: Iterable[JournalFact]) -> str:
    """Return why the last search for cases has no answer; empty if it has one. ``facts``: as of ``open_cases``."""
    why = ""
    for fact in facts:
        match fact:
            case CasesUnknown(reason):
                why = reason
    return why


def changes(before: Sequence[Case], now: Sequence[Case], earlier: Mapping[str, Earlier]) -> Iterator[Fact]:
    """Return the facts that make the open cases those of now. ``earlier``: the same causes in earlier actions."""
    known = {case.key: case for case in before}
    found = {case.key for case in now}
    for key, case in known.items():
        if key not in found:
            yield CaseClosed(key, case.sentence)
    for case in now:
        old = known.get(case.key)
        if old is None:
            yield CaseOpened(replace(case, earlier=earlier.get(case.key)))
        elif replace(case, earlier=old.earlier, command=old.command) != old:
            yield CaseChanged(replace(case, earlier=old.earlier))
