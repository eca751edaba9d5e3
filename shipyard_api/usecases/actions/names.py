"""The names of actions, as callers may write them."""

from collections.abc import Sequence

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.json_types import JsonObject


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
