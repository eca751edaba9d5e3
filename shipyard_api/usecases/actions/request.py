"""The request for an action, as use cases receive it, and names as callers write them."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.documents import canonical
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.state.actions import RequestKey
from shipyard_api.usecases.actions.agreed_plan import ALONE, Agreement
from shipyard_api.usecases.callers import Caller


class Idempotency(Struct, frozen=True):
    """The Idempotency-Key of a request, and the whole body that came with it, as JSON values."""

    key: str
    body: JsonObject


class ActionRequest(Struct, frozen=True):
    """A request to create an action. ``allow_intermediate_commits`` is None when the caller did not set it.

    ``further``: members of the request that mean nothing here and are shown with it. ``strict``: refuse unknown
    parameters. ``idempotency``: None for a request without a key, which is never replayed. ``may_override_holds``:
    whether the policy lets the caller do so with the parameter ``force``. ``may_pass_policy``: the same of budgets and
    windows of a rollout policy. ``agreement``: the plan that it is to follow.
    """

    name: ActionName
    parameters: JsonObject
    allow_intermediate_commits: bool | None
    strict: bool = False
    idempotency: Idempotency | None = None
    further: JsonObject = field(default_factory=dict)
    may_override_holds: bool = False
    may_pass_policy: bool = False
    agreement: Agreement = ALONE

    def key(self, caller: Caller) -> RequestKey | None:
        """Return the key under which a repetition of this request by the same caller is recognized.

        The digest covers the whole body, unknown members included, because the answer shows them. How the JSON is
        spelled does not count.
        """
        if self.idempotency is None:
            return None
        content = [_normalized(self.idempotency.body), self.allow_intermediate_commits, self.strict]
        if self.agreement.plan:
            content.append(self.agreement.plan)
        return RequestKey(caller.key, self.idempotency.key, hashlib.sha256(canonical(content)).digest())


def _normalized(value: Any) -> Any:
    """Return a JSON value with one form for each number: 1 and 1.0 are equal."""
    if isinstance(value, Mapping):
        return {name: _normalized(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_normalized(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def listed() -> Sequence[ActionName]:
    """Return the names under which operators create actions, in the order in which people see them."""
    return ACTIONS.listed


def recorded() -> Sequence[ActionName]:
    """Return the names of all actions, also of those that nobody creates by name."""
    return tuple(action.name for action in ACTIONS)


def takes(name: ActionName, parameter: str) -> bool:
    """Return whether the action knows the parameter."""
    return parameter in ACTIONS[name].knows


def rights(name: ActionName, written: JsonObject) -> Sequence[str]:
    """Return the policy rules of callers who create the action with these parameters, as they are written."""
    return ACTIONS.rights(name, written)


def named(written: str) -> ActionName | None:
    """Return the name that is written, None if there is no such action."""
    return next((name for name in ACTIONS.listed if name == written), None)
