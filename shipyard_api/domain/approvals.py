"""Approvals: a person lets the next wave of an action begin, or stops it (product, section 13: gates)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.stored import Flat

_KEYS = ("group", "wave", "approve", "reason")
_LONGEST_REASON = 1000


class WaveGate(Flat, Struct, frozen=True):
    """An approval that an action waits for, in the form on the wire. ``group`` is empty for a wave of all groups.

    ``place``: the number of the wave. ``index``: the number of the gate among those of the wave. ``deployed``: how
    many nodes of the wave are deployed. ``since``: when the gate was reached.
    """

    FIRST: ClassVar = ("group",)
    FORMS: ClassVar = {"group": (lambda group: group or None, lambda stored: stored or "")}

    wave: str
    place: int
    index: int
    deployed: int
    since: datetime
    group: str = ""


class Approval(Flat, Struct, frozen=True):
    """What a person said of a gate, in the form on the wire: go on (``approve``) or stop."""

    PARTS: ClassVar = {"gate": ""}

    gate: WaveGate
    approve: bool
    by: str
    at: datetime
    reason: str = ""

    def __str__(self) -> str:
        group = f" of group {self.gate.group}" if self.gate.group else ""
        verb = "approved" if self.approve else "refused"
        return f"{self.by} {verb} what follows wave {self.gate.wave}{group}{f': {self.reason}' if self.reason else ''}"


def choose(written: JsonObject, gates: Sequence[WaveGate]) -> tuple[WaveGate | None, tuple[Finding, ...]]:
    """Return the gate that an operator's answer is about, and the faults of the answer.

    ``group`` and ``wave`` may be left out while only one gate is open.
    """
    if faults := tuple(_faults(written)):
        return None, faults
    matching = [gate for gate in gates if _fits(gate, written)]
    if len(matching) == 1:
        return matching[0], ()
    names = ", ".join(f"{gate.wave} of {gate.group or 'all groups'}" for gate in gates)
    known = f"It waits after: {names}." if gates else "It waits for none."
    if matching:
        return None, (error("SeveralApprovals", f"Name the wave and the group. The action waits for several. {known}"),)
    return None, (error("NoSuchApproval", f"The action waits for no such approval. {known}"),)


def _fits(gate: WaveGate, written: JsonObject) -> bool:
    return all(written.get(key) in (None, value) for key, value in (("group", gate.group), ("wave", gate.wave)))


def _faults(written: JsonObject) -> Iterator[Finding]:
    for name in written:
        if name not in _KEYS:
            yield error("UnknownField", f"There is no field {name[:60]!r}. There are: {', '.join(_KEYS)}.")
    if not isinstance(written.get("approve"), bool):
        yield error("NoAnswer", "approve is true, or false to stop what comes after the wave.", path="/approve")
    for name in ("group", "wave", "reason"):
        value: Any = written.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > _LONGEST_REASON):
            yield error("NoText", f"{name} is a text of at most {_LONGEST_REASON} characters.", path=f"/{name}")
