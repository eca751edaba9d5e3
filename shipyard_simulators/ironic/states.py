"""The states of a node: the verbs that each accepts, the busy ones, and what a crash turns each into."""

from collections.abc import Mapping
from types import MappingProxyType

VERBS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "enroll": ("manage",),
        "verifying": (),
        "manageable": ("inspect", "provide", "clean", "adopt"),
        "inspecting": (),
        "inspect wait": ("abort",),
        "inspect failed": ("manage", "inspect"),
        "cleaning": (),
        "clean wait": ("abort",),
        "clean failed": ("manage",),
        "clean hold": ("abort", "unhold"),
        "available": ("active", "manage"),
        "deploying": (),
        "wait call-back": ("deleted", "abort"),
        "deploy hold": ("abort", "unhold"),
        "deploy failed": ("active", "rebuild", "deleted"),
        "active": ("deleted", "rebuild", "rescue", "service"),
        "deleting": (),
        "error": ("deleted", "rebuild"),
        "adopting": (),
        "adopt failed": ("adopt", "manage"),
        "rescuing": (),
        "rescue wait": ("deleted", "abort"),
        "rescue": ("deleted", "rescue", "unrescue"),
        "rescue failed": ("deleted", "rescue", "unrescue"),
        "unrescuing": (),
        "unrescue failed": ("deleted", "rescue", "unrescue"),
        "servicing": (),
        "service wait": ("deleted", "abort"),
        "service failed": ("deleted", "abort", "rescue", "service"),
        "service hold": ("abort", "unhold"),
    }
)
"""All states, each with the verbs that it accepts."""

OTHER_WORDS: Mapping[str, str] = MappingProxyType({"deploy": "active", "undeploy": "deleted"})

STABLE = frozenset({"enroll", "manageable", "available", "active", "rescue"})
AIMLESS = STABLE | {"error"}
"""States without a target."""

LOCKED = frozenset(
    {
        "verifying",
        "inspecting",
        "cleaning",
        "deploying",
        "deleting",
        "adopting",
        "rescuing",
        "unrescuing",
        "servicing",
    }
)
"""States in which a conductor works on the node and holds its lock."""
WAITING = frozenset({"inspect wait", "clean wait", "wait call-back", "rescue wait", "service wait"})
"""States that wait for the agent on the node; it is not locked."""

FAILED_STATE: Mapping[str, str] = MappingProxyType(
    {
        "verifying": "enroll",
        "inspecting": "inspect failed",
        "inspect wait": "inspect failed",
        "cleaning": "clean failed",
        "clean wait": "clean failed",
        "clean hold": "clean failed",
        "deploying": "deploy failed",
        "wait call-back": "deploy failed",
        "deploy hold": "deploy failed",
        "deleting": "error",
        "adopting": "adopt failed",
        "rescuing": "rescue failed",
        "rescue wait": "rescue failed",
        "unrescuing": "unrescue failed",
        "servicing": "service failed",
        "service wait": "service failed",
        "service hold": "service failed",
        "service failed": "active",
    }
)
"""The state of a node after its operation was interrupted."""

PATCH_IN_TRANSITION = frozenset(
    {
        "deploy failed",
        "inspecting",
        "inspect failed",
        "inspect wait",
        "clean failed",
        "error",
        "verifying",
        "adopt failed",
        "rescue failed",
        "unrescue failed",
        "service failed",
        "service hold",
    }
)
"""Transitional states in which a node may still be changed."""

DELETABLE = ("manageable", "enroll", "adopt failed", "available")

POWER_STATES: Mapping[str, str] = MappingProxyType(
    {
        "power on": "power on",
        "power off": "power off",
        "rebooting": "power on",
        "soft power off": "power off",
        "soft rebooting": "power on",
    }
)
"""Power verbs, each with the state that it leads to."""

FAULTS = ("power failure", "clean failure", "rescue abort failure", "service failure")
