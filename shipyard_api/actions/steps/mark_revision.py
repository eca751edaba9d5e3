"""The last step of a site action: a tag on its revision that says how it went (seed 004, Shipyard Tag Releases)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.domain.actions import ActionId, StepId, StepState
from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.step import Act, Decision, Done, Failed, Folded, Json, Look, Trouble


@dataclass(frozen=True, slots=True)
class MarkRevision:
    """Runs whatever happened before it. Nothing is tagged if the action failed before it could change anything.

    ``before_changes``: the steps that only look. ``patience``: seconds in which the tag is tried to be set.
    """

    id: StepId
    store: Store
    designs: DesignStore
    before_changes: frozenset[StepId]
    patience: float
    always: bool = True

    @property
    def _others(self) -> frozenset[StepId]:
        """The steps that change nothing of the site."""
        return self.before_changes | {self.id}

    def begin(self, inputs: Json) -> Json:
        """Start without knowing how the action went."""
        return {
            "v": 1,
            "action": inputs["action"],
            "dag_id": inputs["name"],
            "revision": inputs["revision"],
            "tag": None,
            "done": None,
            "failed": None,
        }

    def decide(self, state: Json, now: datetime) -> Decision:
        """Find out how the action went, then set the tag."""
        if state["failed"] is not None:
            return Failed(state["failed"])
        if state["done"] is not None:
            return Done(state["done"])
        if state["tag"] is None:
            return Look(ActionId(state["action"]))
        effect = {key: state[key] for key in ("revision", "tag", "action", "dag_id")}
        return Act(effect, give_up_at=now + timedelta(seconds=self.patience))

    def look(self, effect: object) -> object:
        """Read how the steps of the action ended."""
        action = ActionId(str(effect))
        with self.store.begin() as tx:
            return {step.id: step.state for step in tx.actions.steps([action])[action]}

    def perform(self, effect: Json, marker: Marker) -> object:
        """Set the tag; setting it again changes nothing."""
        told = {"dag_id": effect["dag_id"], "action_id": effect["action"]}
        self.designs.tag(Revision(effect["revision"]), RevisionTag(effect["tag"]).value, told)
        return effect["tag"]

    def find(self, effect: Json, marker: Marker, intended_at: datetime) -> object | None:
        """Not looked for: setting the tag again is safe."""
        return None

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Choose the tag, or be done."""
        if isinstance(report, Trouble):
            return Folded({**state, "failed": report.detail})
        if state["tag"] is not None:
            return Folded({**state, "done": f"revision {state['revision']} is tagged {state['tag']}"})
        if not isinstance(report, dict):
            raise TypeError(f"steps were reported as {type(report).__name__}")
        failed = {step for step, ended in report.items() if ended is StepState.FAILED}
        if failed & self.before_changes:
            return Folded({**state, "done": "not tagged: the action failed before it could change anything"})
        changing = [ended for step, ended in report.items() if step not in self._others]
        if changing and all(ended is StepState.SKIPPED for ended in changing):
            return Folded({**state, "done": "not tagged: nothing was changed, the provisioner's steps were skipped"})
        tag = RevisionTag.SITE_ACTION_FAILURE if failed else RevisionTag.SITE_ACTION_SUCCESS
        return Folded({**state, "tag": tag.value})
