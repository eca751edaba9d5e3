"""Accept an action: check everything that can be checked first, freeze what it works from, queue it.

Contract: shipyard-rest 6.4, shipyard-actions chapter 4. The action, its steps and its first wake-up are one
transaction: either the worker finds all of them, or nothing happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.configdocs import Revision, RevisionTag
from shipyard_api.domain.errors import Conflict, Invalid, Precondition
from shipyard_api.domain.site_design import SiteInputs, read_design
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.store import ActionRecord, NewAction, Revisions, SiteBusy, Store
from shipyard_api.usecases.context import Caller
from shipyard_api.workflow.definition import Definition


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What the caller asks for. ``allow_intermediate_commits`` is None when it was not said."""

    name: str
    parameters: Mapping[str, Any]
    allow_intermediate_commits: bool | None


@dataclass(frozen=True, slots=True)
class CreateAction:
    """The use case. ``time_scale``: how long a second of the site's limits lasts here (1, except in simulations)."""

    store: Store
    schemas: Schemas
    definitions: Mapping[ActionName, Definition]
    new_id: Callable[[], str]
    time_scale: float

    def __call__(self, request: ActionRequest, caller: Caller) -> ActionRecord:
        """Return the action, queued. Raises Invalid, Precondition or Conflict, and then nothing is stored."""
        name = self._name(request.name)
        wrong = self.schemas.check(f"actions/{name.value}", dict(request.parameters))
        if wrong:
            raise Invalid("Invalid parameters", "; ".join(finding.message for finding in wrong), wrong)
        with self.store.begin() as tx:
            revision = tx.revisions.newest_tagged({RevisionTag.COMMITTED})
            if revision is None:
                raise Precondition("No committed configdocs", "Unable to locate a committed revision in Deckhand")
            if not request.allow_intermediate_commits:
                _refuse_intermediate_commits(tx.revisions, revision)
            inputs, findings = read_design(revision, tx.revisions.documents(revision), self.schemas.check)
            if inputs is None:
                raise Invalid("Document validation failed", "InvalidConfigurationDocuments", findings)
            action = self._new(name, request, caller, inputs)
            try:
                return tx.actions.create(action)
            except SiteBusy as busy:
                raise Conflict(
                    "Another site action is running",
                    f"{busy.name.value} {busy.running} is running; only one site action can run at a time. Wait until "
                    "it has ended, then ask again.",
                ) from busy

    def _name(self, written: str) -> ActionName:
        for name in self.definitions:
            if name.value == written:
                return name
        raise Invalid("Unable to start action", f"Unsupported Action: {written}")

    def _new(self, name: ActionName, request: ActionRequest, caller: Caller, inputs: SiteInputs) -> NewAction:
        action = ActionId(self.new_id())
        return NewAction(
            id=action,
            name=name,
            parameters=request.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=Revision(inputs.revision),
            allow_intermediate_commits=request.allow_intermediate_commits,
            inputs={**inputs.scaled(self.time_scale).to_json(), "action": action, "name": name.value},
            steps=[step.id for step in self.definitions[name].steps],
        )


def _refuse_intermediate_commits(revisions: Revisions, committed: Revision) -> None:
    """Refuse if a revision was committed since the last site action that none was run on (seed 004)."""
    acted_on = revisions.newest_tagged({RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE})
    between = [
        revision for revision in revisions.tagged(RevisionTag.COMMITTED) if (acted_on or 0) < revision < committed
    ]
    if between:
        raise Conflict(
            "Intermediate commit detected",
            "The current committed revision of documents has other prior commits that have not been used as part of a "
            "site action, e.g. update_site. If you are aware and these other commits are intended, please rerun this "
            "action with the option `allow-intermediate-commits=True`",
        )
