"""Facts about the rollout policy: waves that ended, and nodes that it stopped (product, section 13)."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.strategy.strategy import GroupName


@dataclass(frozen=True, slots=True)
class WaveEnded:
    """A wave has ended: of its nodes, ``begun`` were sent and ``lost`` failed.

    ``group`` is None for a wave of the whole action. ``missed``: the threshold that it missed, empty if it was good.
    """

    kind: ClassVar[str] = "wave_ended"
    version: ClassVar[int] = 1

    group: GroupName | None
    wave: str
    nodes: int
    begun: int
    lost: int
    missed: str = ""

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "group": self.group,
            "wave": self.wave,
            "nodes": self.nodes,
            "begun": self.begun,
            "lost": self.lost,
            "missed": self.missed,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            None if stored.get("group") is None else GroupName(reading.text(stored, "group")),
            reading.text(stored, "wave"),
            reading.number(stored, "nodes"),
            reading.number(stored, "begun"),
            reading.number(stored, "lost"),
            reading.text(stored, "missed", ""),
        )


@dataclass(frozen=True, slots=True)
class PolicyStopped:
    """A rule of the policy lets ``nodes`` nodes never begin; ``why`` in one sentence. Their rows name the rule."""

    kind: ClassVar[str] = "policy_stopped"
    version: ClassVar[int] = 1

    rule: str
    why: str
    nodes: int

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"rule": self.rule, "why": self.why, "nodes": self.nodes}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.text(stored, "rule"), reading.text(stored, "why"), reading.number(stored, "nodes"))


FACTS: tuple[type[Fact], ...] = (WaveEnded, PolicyStopped)
