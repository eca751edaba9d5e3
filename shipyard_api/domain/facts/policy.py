"""Facts about the rollout policy: waves that ended, and nodes that it stopped (product, section 13)."""

from typing import ClassVar

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.strategy.strategy import GroupName


class WaveEnded(Fact, frozen=True):
    """A wave has ended: of its nodes, ``begun`` were sent and ``lost`` failed.

    ``group`` is None for a wave of the whole action. ``missed``: the threshold that it missed, empty if it was good.
    """

    kind: ClassVar[str] = "wave_ended"

    group: GroupName | None
    wave: str
    nodes: int
    begun: int
    lost: int
    missed: str = ""


class PolicyStopped(Fact, frozen=True):
    """A rule of the policy lets ``nodes`` nodes never begin; ``why`` in one sentence. Their rows name the rule."""

    kind: ClassVar[str] = "policy_stopped"

    rule: str
    why: str
    nodes: int


FACTS: tuple[type[Fact], ...] = (WaveEnded, PolicyStopped)
