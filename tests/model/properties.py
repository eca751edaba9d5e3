"""What must hold in every state of every world."""

from tests.model.states import Scope

PROPERTIES = {
    "once": "no operation begins twice on a node in one action",
    "stop": "nothing leaves later than settle seconds after an accepted stop",
    "hold": "no intent is written on a held node, and none is renewed",
    "window": "no node begins after its window has closed",
    "fence": "no turn writes once a later one of its unit has begun",
    "known": "an action that has ended knows every job that it has begun",
    "deployed": "the nodes of an action that has succeeded are deployed",
    "end": "once faults have ceased, the action ends",
}


def may_violate(name: str, scope: Scope) -> bool:
    """Return whether the world has what a property is about."""
    match name:
        case "stop" | "hold":
            return name in scope.operator
        case "window":
            return bool(scope.window)
        case "deployed":
            return scope.retry
        case _:
            return True
