"""Accept an action: check everything that can be checked first, freeze what it works from, queue it.

Contract: shipyard-rest 6.4, shipyard-actions chapter 4. The action, its steps and its first wake-up are one
transaction: either the worker finds all of them, or nothing happened.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shipyard_api.domain.actions import CHECKS, EXCLUSIVE, ActionId, ActionName, DocumentChecks
from shipyard_api.domain.documents import Revision, canonical
from shipyard_api.domain.errors import Conflict, Invalid, KeyReused, Precondition, ShipyardError
from shipyard_api.domain.facts import Noted
from shipyard_api.domain.findings import Finding, Level, error, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import (
    ALLOW_INTERMEDIATE_COMMITS,
    TARGET_REVISION,
    Parameters,
    TargetRevision,
    parse_parameters,
)
from shipyard_api.domain.selectors import select
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.ports.documents import DesignStore, Heads, RenderingFailed
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.state.actions import ActionRecord, NewAction, RequestKey
from shipyard_api.ports.state.errors import RequestKeyTaken, SiteBusy
from shipyard_api.ports.state.store import Store, Transaction
from shipyard_api.usecases.actions.preconditions import refuse_stragglers, site_is_busy
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import COMMITS, SITE_ACTIONS, committed_revision
from shipyard_api.workflow.definition import Definition

LOG = logging.getLogger(__name__)

# Whether there are any is what counts; more than this need not be named.
_MOST_COMMITS = 100
# As many nodes are named in a sentence.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Named:
    """What the caller named a request, and the whole body that came with it, as JSON values."""

    key: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What the caller asks for. ``allow_intermediate_commits`` is None when it was not said.

    ``strict``: refuse parameters that mean nothing. ``named``: None if the request is not to be known again.
    """

    name: ActionName
    parameters: Mapping[str, Any]
    allow_intermediate_commits: bool | None
    strict: bool = False
    named: Named | None = None

    def key(self, caller: Caller) -> RequestKey | None:
        """Return by what the request is known again when this caller sends it once more.

        All of the body counts, also what means nothing to us, since it stands in the answer; its spelling does not.
        """
        if self.named is None:
            return None
        asked = [_plain(self.named.body), self.allow_intermediate_commits, self.strict]
        return RequestKey(caller.key, self.named.key, hashlib.sha256(canonical(asked)).digest())


@dataclass(frozen=True, slots=True)
class Design:
    """What an action looks at in the documents: what it works from, None if there is nothing, and every finding."""

    inputs: SiteInputs | None = None
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A request, what was read to check it, and what refuses it; None if it may become an action now.

    What comes after the refusal was not looked at: ``revision`` is None then, as where no documents are committed, and
    so are ``parameters``, if they have no meaning, and ``design``, as where the action needs none. ``told``: what is
    odd about the parameters, or wrong. ``intermediate``: commits that no site action was run on.
    """

    request: ActionRequest
    parameters: Parameters | None = None
    told: Sequence[Finding] = ()
    revision: Revision | None = None
    allowed: bool | None = None
    intermediate: Sequence[Revision] = ()
    design: Design | None = None
    refused: ShipyardError | None = None

    @property
    def inputs(self) -> SiteInputs | None:
        """What the action works from."""
        return self.design.inputs if self.design else None

    @property
    def wrong(self) -> Sequence[Finding]:
        """What is wrong with the design; it was let through as asked, unless it is what refuses the request."""
        return errors(self.design.findings) if self.design else ()

    def but(self, refused: ShipyardError) -> "Checked":
        """Return the same, refused."""
        return replace(self, refused=refused)

    @property
    def let_through(self) -> Mapping[str, object]:
        """What was asked to be let through, for the log; empty if there is nothing."""
        told = {"intermediate": self.intermediate, "errors": [finding.message for finding in self.wrong]}
        return {name: list(found) for name, found in told.items() if found}


@dataclass(frozen=True, slots=True)
class Created:
    """An action that was created, now or (``again``) by an earlier request with the same key."""

    action: ActionRecord
    warnings: Sequence[Finding]
    again: bool = False


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

    def __call__(self, request: ActionRequest, caller: Caller) -> Created:
        """Return the action, queued. Raises Invalid, Precondition or Conflict, and then nothing is stored."""
        if earlier := self._earlier(request, caller):
            return earlier
        checked = self.check(request)
        if checked.refused:
            raise checked.refused
        new = self._new(checked, caller)
        try:
            with self.store.begin() as tx:
                self._look_out(tx, checked)
                with site_is_busy():
                    action = tx.actions.create(new)
        except (Conflict, RequestKeyTaken):
            # What is in the way may be this very request, sent twice at once.
            if earlier := self._earlier(request, caller):
                return earlier
            raise
        if told := checked.let_through:
            LOG.warning("let through as asked", extra={"action": action.id, "revision": action.revision, **told})
        return Created(action, checked.told)

    def foresee(self, request: ActionRequest, heads: Heads, revision: Revision | None) -> Checked:
        """Return what the action would work from, and what would refuse it now. Changes nothing.

        ``revision``: as if that were committed; None for what is.
        """
        checked = self.check(request, heads, revision)
        if checked.refused:
            return checked
        try:
            with self.store.begin() as tx, site_is_busy():
                self._look_out(tx, checked)
                if request.name in EXCLUSIVE and (running := tx.actions.running_site_action()):
                    raise SiteBusy(*running)
        except Conflict as refused:
            return checked.but(refused)
        return checked

    def check(self, request: ActionRequest, heads: Heads | None = None, planned: Revision | None = None) -> Checked:
        """Return what the action would work from, or why it is refused. Changes nothing.

        That another action runs is not looked at here: it may have ended before this one is stored. ``heads`` are
        read if they are not given; ``planned`` stands for the committed revision.
        """
        checked = self._understood(request)
        parameters = checked.parameters
        if parameters is None or checked.refused:
            return checked
        checks = CHECKS[request.name]
        heads = heads or self.designs.heads()
        revision = planned or committed_revision(heads)
        checked = replace(checked, revision=revision)
        if checks.documents is DocumentChecks.NONE:
            return checked
        if revision is None:
            return checked.but(
                Precondition("No committed configdocs", "Unable to locate a committed revision in Deckhand")
            )
        allowed = _allows_intermediate_commits(request, parameters)
        between = self._intermediate_commits(heads, revision) if checks.commits else ()
        checked = replace(checked, allowed=allowed, intermediate=between)
        if between and not allowed:
            return checked.but(
                Conflict(
                    "Intermediate commit detected",
                    "The current committed revision of documents has other prior commits that have not been used as "
                    "part of a site action, e.g. update_site. If you are aware and these other commits are intended, "
                    "please rerun this action with the option `allow-intermediate-commits=True`",
                )
            )
        design = self.read(request.name, revision)
        checked = replace(checked, design=design)
        if design.inputs is None or (checked.wrong and not parameters.continues_on_fail):
            return checked.but(Invalid("Document validation failed", "InvalidConfigurationDocuments", design.findings))
        if request.name not in self.definitions:
            return checked.but(self._not_yet(request.name, parameters, heads))
        return checked

    def read(self, name: ActionName, revision: Revision) -> Design:
        """Return what such an action looks at in the documents of a revision. Raises UnknownRevision."""
        documents = CHECKS[name].documents
        if documents is DocumentChecks.NONE:
            return Design()
        read = self.rules.read if documents is DocumentChecks.EVERYTHING else self.rules.read_configuration
        try:
            return Design(*read(revision, self.rendered.of(revision)))
        except RenderingFailed as failed:
            return Design(findings=failed.findings)

    def _not_yet(self, name: ActionName, parameters: Parameters, heads: Heads) -> ShipyardError:
        """Return why an action on single servers does not run: what is wrong with it, or that none does so far."""
        target = parameters.target_revision if name is ActionName.REDEPLOY_SERVER else TargetRevision.COMMITTED
        revision = _revision_of(target, heads)
        if revision is None:
            return Precondition(
                "Target revision not found",
                f"There is no {target.value} revision to deploy from. Choose another one with the parameter "
                f"{TARGET_REVISION}.",
            )
        try:
            known = self.rendered.inventory(revision).nodes
        except RenderingFailed as failed:
            return Invalid("Document validation failed", "InvalidConfigurationDocuments", failed.findings)
        unknown = [
            error("UnknownNode", f"Revision {revision} has no node {node}.")
            for node in parameters.targets
            if node not in known
        ]
        if unknown:
            return Invalid("Unknown nodes", " ".join(finding.message for finding in unknown[:_NAMED]), unknown)
        nodes = ", ".join(parameters.targets[:_NAMED]) + (", …" if len(parameters.targets) > _NAMED else "")
        return Conflict(
            "Action not available",
            f"{name.value} of {nodes} was checked and is in order, but this release cannot take a server out of the "
            "cluster before it is worked on, and does not touch one that may be in use. Nothing was changed.",
        )

    def _look_out(self, tx: Transaction, checked: Checked) -> None:
        """Refuse an action on nodes that earlier work still holds."""
        everything = CHECKS[checked.request.name].documents is DocumentChecks.EVERYTHING
        if everything and checked.inputs and checked.parameters and not checked.parameters.force:
            left = tx.stragglers.open()
            if left:
                refuse_stragglers(left, self._nodes(checked.inputs))

    def _earlier(self, request: ActionRequest, caller: Caller) -> Created | None:
        """Return what came of this request when it was sent before; raises KeyReused if that was another."""
        key = request.key(caller)
        if key is None:
            return None
        with self.store.begin() as tx:
            found = tx.actions.with_key(key.caller, key.key)
        if found is None:
            return None
        action, digest = found
        if digest != key.digest:
            raise KeyReused(
                "Idempotency-Key used before",
                f"This key was sent with another request, which created action {action.id}. Choose a new key for every "
                "new request.",
            )
        return Created(action, parse_parameters(action.name, action.parameters)[1], again=True)

    def _understood(self, request: ActionRequest) -> Checked:
        """Return the request with what its parameters mean."""
        wrong = self.schemas.check(f"actions/{request.name.value}", dict(request.parameters))
        if wrong:
            refused = Invalid("Invalid parameters", "; ".join(finding.message for finding in wrong), wrong)
            return Checked(request=request, told=wrong, refused=refused)
        try:
            parameters, warnings = parse_parameters(request.name, request.parameters)
        except Invalid as invalid:
            return Checked(request=request, told=invalid.findings, refused=invalid)
        strict = None
        if warnings and request.strict:
            warnings = tuple(replace(finding, level=Level.ERROR) for finding in warnings)
            strict = Invalid("Invalid parameters", " ".join(finding.message for finding in warnings), warnings)
        allowed = request.allow_intermediate_commits
        return Checked(request=request, parameters=parameters, told=warnings, allowed=allowed, refused=strict)

    def _intermediate_commits(self, heads: Heads, committed: Revision) -> Sequence[Revision]:
        """Return what was committed since the last site action and that none was run on (seed 004).

        Without a site action so far it is as if there had been one on revision 0.
        """
        acted_on = heads.with_any(*SITE_ACTIONS) or Revision(0)
        tags = [tag.value for tag in COMMITS]
        since = self.designs.revisions(tags=tags, after=acted_on, limit=_MOST_COMMITS)
        return [record.revision for record in since if record.revision < committed]

    def _nodes(self, inputs: SiteInputs) -> frozenset[NodeName]:
        """Return the nodes that an action on this design will work on."""
        machines = self.rendered.inventory(Revision(inputs.revision))
        return frozenset().union(*(select(group.selectors, machines) for group in inputs.strategy.groups))

    def _new(self, checked: Checked, caller: Caller) -> NewAction:
        request = checked.request
        action, definition = ActionId(self.new_id()), self.definitions[request.name]
        inputs: dict[str, Any] = {"v": 1, "revision": checked.revision or 0}
        if checked.inputs:
            inputs = checked.inputs.scaled(self.time_scale).to_json()
        if checked.parameters and checked.parameters.continues_on_fail:
            inputs["continue_on_fail"] = True
        return NewAction(
            id=action,
            name=request.name,
            parameters=request.parameters,
            user=caller.user,
            context_marker=caller.context_marker,
            revision=checked.revision,
            allow_intermediate_commits=checked.allowed,
            inputs={**inputs, "action": action, "name": request.name.value},
            steps=[step.id for step in definition.steps],
            key=request.key(caller),
            facts=(*noted(definition, checked.told), *checked.wrong),
        )


def _plain(value: Any) -> Any:
    """Return a JSON value with one form for each number: 1 and 1.0 are the same one."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def noted(definition: Definition, warnings: Sequence[Finding]) -> tuple[Noted, ...]:
    """Return what people who look at a new action should know from the beginning."""
    missing = (Noted("Not in this release", definition.missing),) if definition.missing else ()
    return (*missing, *(Noted("Parameter", warning.message) for warning in warnings))


def _allows_intermediate_commits(request: ActionRequest, parameters: Parameters) -> bool | None:
    """Return whether the query or the parameter of that name allows it (seed 004); None if neither says anything.

    Either is enough: the command line always sends the query, with False unless its flag is given.
    """
    if ALLOW_INTERMEDIATE_COMMITS not in request.parameters:
        return request.allow_intermediate_commits
    return bool(parameters.allows_intermediate_commits or request.allow_intermediate_commits)


def _revision_of(target: TargetRevision, heads: Heads) -> Revision | None:
    match target:
        case TargetRevision.COMMITTED:
            return committed_revision(heads)
        case TargetRevision.LAST_SITE_ACTION:
            return heads.with_any(*SITE_ACTIONS)
        case TargetRevision.SUCCESSFUL_SITE_ACTION:
            return heads.with_any(SITE_ACTIONS[0])
