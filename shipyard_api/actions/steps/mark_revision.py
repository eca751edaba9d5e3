"""The last step of a site action: a tag on its revision that says how it ended (seed 004, Shipyard Tag Releases)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionId, StepId, StepState
from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.provisioner import Marker
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Look, PeerFailure, Step


class MarkState(ByFields, Struct, frozen=True):
    """``tag`` is None until it is known how the action ended; ``dag_id`` is the action's name."""

    STORED_VERSION: ClassVar = 1

    action: ActionId
    dag_id: str
    revision: int
    tag: RevisionTag | None = None
    done: str | None = None
    failed: str | None = None


class SetTag(ByFields, Struct, frozen=True):
    """Set the tag on the revision."""

    revision: int
    tag: RevisionTag
    action: ActionId
    dag_id: str


class TagSet(Struct, frozen=True):
    """The tag is set."""


class StepsEnded(Struct, frozen=True):
    """How the steps of the action ended."""

    states: Mapping[StepId, StepState | None]


@dataclass(frozen=True, slots=True)
class MarkRevision(Step[MarkState, ActionId, SetTag, StepsEnded | TagSet]):
    """Runs after failed steps too. Nothing is tagged if the action failed before it could change anything.

    ``before_changes``: the steps that only read. ``give_up_after``: seconds in which the step tries to set the tag.
    """

    id: StepId
    store: Store
    designs: DesignStore
    before_changes: frozenset[StepId]
    give_up_after: float
    always: bool = True

    def begin(self, inputs: ActionInputs) -> MarkState:
        """Start without knowing how the action ended."""
        return MarkState(inputs.action, inputs.name, inputs.revision)

    load_state = staticmethod(MarkState.from_json)
    load_effect = staticmethod(SetTag.from_json)

    def decide(self, state: MarkState, now: datetime) -> Act[SetTag] | Look[ActionId] | Done | Failed:
        """Find out how the action ended, then set the tag."""
        if state.failed is not None:
            return Failed(state.failed)
        if state.done is not None:
            return Done(state.done)
        if state.tag is None:
            return Look(state.action)
        effect = SetTag(state.revision, state.tag, state.action, state.dag_id)
        return Act(effect, give_up_at=now + timedelta(seconds=self.give_up_after))

    def ask(self, question: ActionId) -> StepsEnded:
        """Read how the steps of the action ended."""
        with self.store.begin() as tx:
            return StepsEnded({step.id: step.state for step in tx.actions.steps([question])[question]})

    def perform(self, effect: SetTag, marker: Marker) -> TagSet:
        """Set the tag; setting it again changes nothing, so that ``find`` is not needed."""
        data = {"dag_id": effect.dag_id, "action_id": effect.action}
        self.designs.tag(Revision(effect.revision), effect.tag.value, data)
        return TagSet()

    def awaits(self, state: MarkState, asked: ActionId | SetTag) -> Awaited:
        """Return the store of designs."""
        return Awaited("design store", f"the tag of revision {state.revision}")

    def fold(
        self, state: MarkState, asked: ActionId | SetTag, report: StepsEnded | TagSet | PeerFailure, now: datetime
    ) -> Folded[MarkState]:
        """Choose the tag, or end."""
        match report:
            case PeerFailure(detail):
                return Folded(replace(state, failed=detail))
            case TagSet():
                tag = state.tag.value if state.tag else ""
                return Folded(replace(state, done=f"revision {state.revision} is tagged {tag}"))
            case StepsEnded(states):
                return Folded(self._choose(state, states))

    def _choose(self, state: MarkState, states: Mapping[StepId, StepState | None]) -> MarkState:
        failed = {step for step, ended in states.items() if ended is StepState.FAILED}
        if failed & self.before_changes:
            return replace(state, done="not tagged: the action failed before it could change anything")
        changing = [ended for step, ended in states.items() if step not in self.before_changes | {self.id}]
        if changing and all(ended is StepState.SKIPPED for ended in changing):
            return replace(state, done="not tagged: nothing was changed, the provisioner's steps were skipped")
        return replace(state, tag=RevisionTag.SITE_ACTION_FAILURE if failed else RevisionTag.SITE_ACTION_SUCCESS)
