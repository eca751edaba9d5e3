"""Stored plans and their signatures. What a plan contains is described by hand: it is stored as it was answered."""

from collections.abc import Mapping
from typing import Annotated, Any

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import ActionName, Ulid, Zulu, component, described


class PlanSignature(Entity):
    """An approval of a plan."""

    by: str
    at: Zulu
    reason: str


class ListedPlan(Entity, kw_only=True, rename={"digest": "hash"}):
    """A stored plan without its content.

    ``hash``: SHA-256 of what the action would do, in hexadecimal. ``request``: The body of the request that stored the
    plan. ``signatures``: The approvals, the oldest first. ``action``: The action that was started from the plan; null
    before that.
    """

    id: Ulid
    digest: Annotated[str, described(pattern="^[0-9a-f]{64}$")]
    name: ActionName
    request: Mapping[str, Any]
    stored_by: str
    stored_at: Zulu
    signatures: list[PlanSignature]
    action: Ulid | None


class PlanList(Entity):
    """The newest stored plans, the newest first."""

    plans: list[ListedPlan]


class LastPlan(Entity):
    """An earlier plan. ``differences``: What this plan changes, a sentence each; empty if their hashes are equal."""

    id: Ulid
    differences: list[str]


class StoredPlan(ListedPlan, kw_only=True, rename={"shown": "plan"}):
    """A stored plan. ``last``: The last plan of the same action before this one; null without one."""

    last: LastPlan | None
    shown: Annotated[Mapping[str, Any], component("Plan")]
