"""What became of a commit of a git repository that a site pulls its design from, as a value."""

from enum import Enum
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.domain.stored import ByFields


class Goal(Enum):
    """How far a pulled design goes by itself: into the buffer, into force, to a stored plan, to servers."""

    LOAD = "load"
    COMMIT = "commit"
    PLAN = "plan"
    DEPLOY = "deploy"

    @property
    def commits(self) -> bool:
        """Whether a sound design is put into force."""
        return self is not Goal.LOAD

    @property
    def plans(self) -> bool:
        """Whether a plan is stored for what was committed."""
        return self in (Goal.PLAN, Goal.DEPLOY)


class Stage(Enum):
    """How far a commit came. ``BROKEN``: it has changed nothing, and is not tried again."""

    NONE = "none"
    BROKEN = "broken"
    LOADED = "loaded"
    COMMITTED = "committed"
    PLANNED = "planned"
    STARTED = "started"


class Trouble(Enum):
    """Why a commit comes no further for now."""

    UNREACHABLE = "unreachable"
    WAITING = "waiting"


class Pull(ByFields, Struct, frozen=True):
    """The state of a pulled commit. ``text``: one sentence for operators.

    ``revision``: that holds the commit. ``plan``, ``action``: the stored plan, and the action that was started from it.
    """

    OPTIONAL: ClassVar = frozenset({"commit", "revision", "plan", "action", "trouble"})

    stage: Stage = Stage.NONE
    text: str = ""
    commit: str = ""
    revision: Revision | None = None
    plan: PlanId | None = None
    action: ActionId | None = None
    trouble: Trouble | None = None

    @property
    def is_fine(self) -> bool:
        """Whether nobody has to do anything about it."""
        return self.trouble is None and self.stage is not Stage.BROKEN

    def says_the_same(self, before: "Pull") -> bool:
        """Return whether operators have read this before: an outage is the same in whatever words."""
        outage = self.trouble is Trouble.UNREACHABLE
        text = before.text if outage else self.text
        return replace(self, text=text) == before


NO_PULL = Pull()
"""Before the first commit."""
