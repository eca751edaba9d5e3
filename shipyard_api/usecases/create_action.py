"""Accept an action: check everything that can be checked first, freeze what it works from, queue it.

Contract: shipyard-rest 6.4, shipyard-actions chapter 4. The action, its steps and its first wake-up are one
transaction: either the worker finds all of them, or nothing happened.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, continues_on_fail
from shipyard_api.domain.configdocs import Revision
from shipyard_api.domain.errors import Conflict, Invalid, Precondition
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.selectors import select
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.ports.documents import DesignStore, RenderingFailed
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.store import ActionRecord, NewAction, Store
from shipyard_api.usecases.context import Caller
from shipyard_api.usecases.preconditions import refuse_stragglers, site_is_busy
from shipyard_api.usecases.rendered_designs import RenderedDesigns
from shipyard_api.usecases.versions import COMMITS, SITE_ACTIONS, committed_revision
from shipyard_api.workflow.definition import Definition

LOG = logging.getLogger(__name__)

# Whether there are any is what counts; more than this need not be named.
_MOST_COMMITS = 100


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
    designs: DesignStore
    rendered: RenderedDesigns
    schemas: Schemas
    rules: DesignRules
    definitions: Mapping[ActionName, Definition]
    new_id: Callable[[], str]
    time_scale: float

    def __call__(self, request: ActionRequest, caller: Caller) -> ActionRecord:
        """Return the action, queued. Raises Invalid, Precondition or Conflict, and then nothing is stored."""
        name = self._name(request.name)
        wrong = self.schemas.check(f"actions/{name.value}", dict(request.parameters))
        if wrong:
            raise Invalid("Invalid parameters", "; ".join(finding.message for finding in wrong), wrong)
        revision, between = self._committed()
        allowed = _allows_intermediate_commits(request)
        if between and not allowed:
            raise Conflict(
                "Intermediate commit detected",
                "The current committed revision of documents has other prior commits that have not been used as part "
                "of a site action, e.g. update_site. If you are aware and these other commits are intended, please "
                "rerun this action with the option `allow-intermediate-commits=True`",
            )
        if between:
            fields = {"action": name.value, "revision": revision, "intermediate": between, "user": caller.user}
            LOG.info("intermediate commits are let through as asked", extra=fields)
        try:
            inputs, findings = self.rules.read(revision, self.rendered.of(revision))
        except RenderingFailed as failed:
            inputs, findings = None, failed.findings
        continues = continues_on_fail(request.parameters)
        if inputs is None or (errors(findings) and not continues):
            raise Invalid("Document validation failed", "InvalidConfigurationDocuments", findings)
        if wrong := errors(findings):
            fields = {"action": name.value, "revision": revision, "errors": [str(one.message) for one in wrong]}
            LOG.warning("unsound documents are let through as asked", extra=fields)
        action = self._new(name, request, caller, inputs, allowed)
        with self.store.begin() as tx:
            if not _is_true(request.parameters.get("force")) and (left := tx.stragglers.open()):
                refuse_stragglers(left, self._nodes(inputs))
            with site_is_busy():
                return tx.actions.create(action)

    def _nodes(self, inputs: SiteInputs) -> frozenset[NodeName]:
        """Return the nodes that an action on this design will work on."""
        machines = self.rendered.inventory(Revision(inputs.revision))
        return frozenset().union(*(select(group.selectors, machines) for group in inputs.strategy.groups))

    def _committed(self) -> tuple[Revision, Sequence[Revision]]:
        """Return the revision in force, and those committed since the last site action that none was run on (seed 004).

        Without a site action so far it is as if there had been one on revision 0.
        """
        landmarks = self.designs.landmarks()
        committed = committed_revision(landmarks)
        if committed is None:
            raise Precondition("No committed configdocs", "Unable to locate a committed revision in Deckhand")
        acted_on = landmarks.with_any(*SITE_ACTIONS) or Revision(0)
        tags = [tag.value for tag in COMMITS]
        since = self.designs.revisions(tags=tags, after=acted_on, limit=_MOST_COMMITS)
        return committed, [record.revision for record in since if record.revision < committed]

    def _name(self, written: str) -> ActionName:
        for name in self.definitions:
            if name.value == written:
                return name
        raise Invalid("Unable to start action", f"Unsupported Action: {written}")

    def _new(
        self, name: ActionName, request: ActionRequest, caller: Caller, inputs: SiteInputs, allowed: bool | None
    ) -> NewAction:
        action = ActionId(self.new_id())
        return NewAction(
            id=action,
            name=name,
            parameters=request.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=Revision(inputs.revision),
            allow_intermediate_commits=allowed,
            inputs={**inputs.scaled(self.time_scale).to_json(), "action": action, "name": name.value}
            | ({"continue_on_fail": True} if continues_on_fail(request.parameters) else {}),
            steps=[step.id for step in self.definitions[name].steps],
        )


def _allows_intermediate_commits(request: ActionRequest) -> bool | None:
    """Return whether the query or the parameter of that name allows it (seed 004); None if neither says anything.

    Either is enough: the command line always sends the query, with False unless its flag is given.
    """
    written = request.parameters.get("allow-intermediate-commits")
    if written is not None and _is_true(written):
        return True
    return request.allow_intermediate_commits if written is None else bool(request.allow_intermediate_commits)


def _is_true(written: object) -> bool:
    return str(written).lower() == "true"
