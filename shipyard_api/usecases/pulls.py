"""Pull the design of a site from a repository: load, check, commit, plan, and deploy when approved."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.pull_design import PullInputs
from shipyard_api.actions.update_site import UPDATE_SITE
from shipyard_api.domain.actions import PULL_DESIGN, ActionId
from shipyard_api.domain.documents import BufferMode, Change, Collection, Document, Revision, Version
from shipyard_api.domain.error_kinds import Conflict, Invalid, ShipyardError
from shipyard_api.domain.errors import BufferOccupied, NothingLoaded
from shipyard_api.domain.findings import Finding, errors, messages_in_short
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.plans.errors import PlanDiffers
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.domain.pulls import NO_PULL, Goal, Pull, Stage, Trouble
from shipyard_api.ports.documents import BrokenTree, DesignSource, DesignStore
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.actions import ActionFilters, NewAction
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.agreed_plan import Agreement
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.plan import Plan, PlanAction
from shipyard_api.usecases.actions.request import ActionRequest, Idempotency
from shipyard_api.usecases.actions.stored_plans import StoredPlans
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.versions import Versions, read_versions
from shipyard_api.workflow.definition import Definition


class DeployPulled(Struct, frozen=True):
    """The use cases. ``shown``: returns what the approvers of a plan read.

    A site is deployed until a site action has succeeded, and updated from then on.
    """

    designs: DesignStore
    plan_action: PlanAction
    plans: StoredPlans
    create: CreateAction
    caller: Caller
    shown: Callable[[Plan], JsonObject]

    def plan(self, pull: Pull) -> Pull:
        """Return the pull with a stored plan; the same one if its revision was deployed before."""
        versions = read_versions(self.designs)
        if versions.committed != pull.revision or versions.successful_site_action == versions.committed:
            return pull
        action = UPDATE_SITE if versions.successful_site_action else DEPLOY_SITE
        body: dict[str, Any] = {"name": action.name, "parameters": {}}
        plan = self.plan_action(ActionRequest(action.name, {}, None), Version.COMMITTED, complete=True)
        stored = self.plans.store_plan(plan, body, self.shown(plan), self.caller).plan
        text = f"commit {pull.commit[:12]} is committed as revision {pull.revision}: approve plan {stored.id}"
        return replace(pull, stage=Stage.PLANNED, plan=stored.id, text=text, trouble=None)

    def start(self, pull: Pull) -> Pull:
        """Return the pull with the action that was started from its plan; the same one before its approval."""
        stored = self.plans.one(pull.plan or PlanId("")).plan
        action = stored.action
        if action is None:
            if not stored.signed_for(self.caller.user, self.caller.key):
                return pull
            agreement = Agreement(stored.id, needs_approval=True)
            once = Idempotency(stored.id, stored.request)
            request = ActionRequest(
                stored.name, stored.request["parameters"], None, idempotency=once, agreement=agreement
            )
            try:
                action = self.create(request, self.caller).action.id
            except Conflict as refusal:
                if refusal.kind is not PlanDiffers:
                    raise
                return self.plan(pull)
        text = f"commit {pull.commit[:12]} is deployed by {stored.name} {action}"
        return replace(pull, stage=Stage.STARTED, action=action, text=text, trouble=None)


LOG = logging.getLogger(__name__)

_STATES = 8  # of one commit in one poll, at most: loaded, committed, planned, started
_PULLS = ActionFilters(names=(PULL_DESIGN,))


@dataclass(slots=True, kw_only=True)
class PullDesign:
    """The use case. ``read``: returns the documents of a file; raises ValueError. ``pause``: seconds between polls."""

    source: DesignSource
    read: Callable[[bytes], Sequence[object]]
    store: Store
    load: LoadConfigdocs
    commit: CommitConfigdocs
    deployments: DeployPulled
    definition: Definition
    caller: Caller
    new_id: Callable[[], str]
    now: Callable[[], datetime]
    collection: str
    goal: Goal
    pause: float
    _next: datetime | None = field(default=None, init=False)

    def __call__(self) -> None:
        """Poll once, if it is time, and record each new state of the commit."""
        now = self.now()
        if self._next is not None and now < self._next:
            return
        self._next = now + timedelta(seconds=self.pause)
        latest = self.store.read(_latest)
        for _ in range(_STATES):
            pull = self._after(latest)
            if pull.says_the_same(latest) or not self._record(latest, pull):
                return
            latest = pull

    def _after(self, latest: Pull) -> Pull:
        """Return the next state of the newest commit; the latest one if it is not to be brought further now."""
        pull = latest
        if latest.trouble is Trouble.UNREACHABLE:
            pull = replace(latest, trouble=None, text="every peer answers again")
        try:
            commit = self.source.head()
            if commit != pull.commit or pull.stage is Stage.NONE:
                return self._loaded(pull, commit)
            if self.goal.plans and pull.stage is Stage.COMMITTED:
                return self.deployments.plan(pull)
            if self.goal is Goal.DEPLOY and pull.stage is Stage.PLANNED:
                return self.deployments.start(pull)
            if self.goal.commits and pull.stage is Stage.LOADED:  # the settings asked for less before
                return self._loaded(pull, commit)
        except PeerError as error:
            LOG.warning("design not pulled", extra={"trouble": str(error)})
            return replace(latest, trouble=Trouble.UNREACHABLE, text=str(error))
        except ShipyardError as refusal:
            if refusal.kind.retry:
                LOG.info("design not pulled yet", extra={"trouble": str(refusal)})
                return latest
            return replace(latest, trouble=Trouble.WAITING, text=str(refusal))
        return pull

    def _loaded(self, latest: Pull, commit: str) -> Pull:
        """Return what became of a new commit; one that is broken leaves nothing in the buffer."""
        revision = None
        try:
            entries = _entries(self.source.tree(commit), self.read)
            revision, is_new = self._load(latest, entries)
            if is_new:
                mode = CommitMode.NORMAL if self.goal.commits else CommitMode.DRYRUN
                _refuse(self.commit(mode, own=revision).findings)
        except BrokenTree as broken:
            ours = revision or latest.revision
            if ours is not None:
                self.load.discard(ours)
            text = f"commit {commit[:12]} is broken, and changes nothing: {broken}"
            return Pull(Stage.BROKEN, text, commit)
        except Conflict as occupied:
            if occupied.kind is not BufferOccupied:
                raise
            text = f"commit {commit[:12]} waits: the buffer holds documents of others, which are committed first"
            return replace(latest, trouble=Trouble.WAITING, text=text)
        stage, did = (Stage.COMMITTED, "committed") if self.goal.commits or not is_new else (Stage.LOADED, "loaded")
        return Pull(stage, f"commit {commit[:12]} is {did} as revision {revision}", commit, revision)

    def _load(self, latest: Pull, entries: Sequence[object]) -> tuple[Revision, bool]:
        """Return the revision with these documents, and whether it is in the buffer, not committed."""
        try:
            documents = self.load.documents(entries)
        except Invalid as faults:
            raise BrokenTree(messages_in_short(errors(faults.findings))) from faults
        versions = read_versions(self.load.designs)
        if versions.buffer is not None and self._holds(versions, documents):
            return versions.buffer, True
        own = latest.revision if versions.buffer == latest.revision else None
        try:
            return self.load(self.collection, BufferMode.REJECT_ON_CONTENTS, entries, own=own).revision, True
        except Invalid as nothing:
            if nothing.kind is not NothingLoaded:
                raise BrokenTree(messages_in_short(errors(nothing.findings)) or str(nothing)) from nothing
            if own is not None:
                self.load.discard(own)
            return versions.committed or Revision(0), False

    def _holds(self, versions: Versions, documents: Sequence[Document]) -> bool:
        """Return whether the buffer is exactly what a load makes it: such as that of a poll that was killed."""
        designs, buffer, name = self.load.designs, versions.buffer or Revision(0), Collection(self.collection)
        changes = designs.differences(versions.committed or Revision(0), buffer)
        changed = {other for other, change in changes.items() if change is not Change.UNMODIFIED}
        return changed == {name} and [kept.document for kept in designs.documents(buffer, name)] == list(documents)

    def _record(self, latest: Pull, pull: Pull) -> bool:
        """Record a state; False if another worker has recorded one since."""
        action = ActionId(self.new_id())
        inputs = PullInputs(action=action, name=PULL_DESIGN, revision=pull.revision or 0, pull=pull)
        new = NewAction(
            id=action,
            name=PULL_DESIGN,
            parameters=pull.to_json(),
            user=self.caller.user,
            context_marker=str(uuid4()),
            revision=pull.revision,
            allow_intermediate_commits=None,
            inputs=inputs.to_json(),
            steps=self.definition.step_ids(inputs),
            exclusive=False,
        )
        with self.store.begin() as tx:
            tx.actions.lock_creation()
            if _latest(tx) != latest:
                return False
            tx.actions.create(new)
        fields = {"action": action, "commit": pull.commit, "stage": pull.stage.value, "text": pull.text}
        LOG.log(logging.INFO if pull.is_fine else logging.WARNING, "design pulled", extra=fields)
        return True


def _latest(tx: Transaction) -> Pull:
    newest = tx.actions.matching(_PULLS, descending=True, limit=1)
    return Pull.from_json(newest[0].parameters) if newest else NO_PULL


def _entries(files: Mapping[str, bytes], read: Callable[[bytes], Sequence[object]]) -> Sequence[object]:
    """Return the documents of all files. Raises BrokenTree, also for a tree without any: it would empty the site."""
    entries: list[Any] = []
    for path, content in files.items():
        try:
            entries += read(content)
        except ValueError as fault:
            raise BrokenTree(f"{path}: {fault}") from fault
    if not entries:
        raise BrokenTree("there is no document in its YAML files")
    return entries


def _refuse(findings: Sequence[Finding]) -> None:
    """Raise BrokenTree if there are errors."""
    if wrong := errors(findings):
        raise BrokenTree(messages_in_short(wrong))
