"""The options of the product as one table, of which the covering array makes runs.

A new option is a line in ``OPTIONS``, its meaning in ``site.py``, and a line in ``NEEDS`` if it is for some rows only.
Operations on one node have a table of their own, in ``test_node_operations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulated_peers import PEERS

Row = Mapping[str, str]

# The first value of each option is the plain one.
OPTIONS: dict[str, Sequence[str]] = {
    "action": (
        "redeploy_server",
        "deploy_site",
        "update_site",
        "relabel_nodes",
        "remove_server",
        "service_server",
        "update_software",
    ),
    "provisioner": tuple(PEERS),
    "targets": ("2", "1", "3"),
    "batch": ("1", "2"),
    "groups": ("one", "several", "shared", "lenient"),
    "pipeline": ("serial", "parallel", "as_prepared", "in_flight"),
    # The rollout policy of the site: one node of each group before the others; one node at a time; or windows, of 20
    # minutes each hour.
    "policy": ("none", "canary", "one", "window"),
    "cluster": ("kubernetes", "none", "promenade"),
    "etcd": ("none", "members"),
    "held": ("no", "yes"),
    "wipe": ("replace", "preserve", "rebuild"),
    "revision": ("same", "newer"),
    # Whether the nodes are burned in before their first deployment.
    "burn_in": ("no", "yes"),
    # Whether the nodes request a deploy template.
    "templates": ("none", "requested"),
    # Where the documents are.
    "store": ("embedded", "deckhand"),
    # Whether the site has a task graph, and on which node a task of it fails.
    "software": ("none", "runs", "first", "last"),
    "fails": ("none", "first", "last", "all"),
    # A deployment of service_server is its service. A budget keeps a pod: the drain waits for it in vain, or is refused
    # (budget), since it never gives way.
    "phase": ("deploy", "prepare", "teardown", "drain", "budget", "join"),
    # A retry of an action that runs is refused.
    "control": ("none", "pause", "stop", "limits", "retry"),
    "cured": ("yes", "no"),
    "force": ("no", "yes"),
    # Whether the action starts from a stored plan that a second person has approved.
    "plan": ("none", "approved"),
    # Whether the design expects the hardware that the nodes have, and a node with any other would fail.
    "hardware": ("none", "right"),
    # What update_site does to servers whose design changed, and to one that has left it. Before it, the image of the
    # first node changes (leave, reinstall), or the template (least), and the last node leaves (remove).
    "on_change": ("leave", "least", "reinstall"),
    "on_removed": ("leave", "remove"),
}

TARGETED = ("redeploy_server", "relabel_nodes", "remove_server", "service_server")
TEARING_DOWN = ("redeploy_server", "remove_server")
SITE_ACTIONS = ("deploy_site", "update_site")
_DEPLOYS = ("redeploy_server", *SITE_ACTIONS)
_MAY_FAIL = (*_DEPLOYS, "remove_server", "service_server")
_FAIL = ("first", "last", "all")


@dataclass(frozen=True)
class Rule:
    """Rows with one of these values of ``option`` must also have one of these values of the ``others``.

    ``among``: the rule is for rows with these values only.
    """

    option: str
    values: Sequence[str]
    others: Mapping[str, Sequence[str]]
    among: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def broken(self, row: Row) -> bool:
        """Return whether a row with a value of the rule breaks it; options without a value may still fulfil it."""
        for name, good in self.others.items():
            if name in row and row[name] not in good:
                return _has(row, self.among)
        return False


_CHANGING = {"action": ("update_site",), "fails": ("none",), "cluster": ("kubernetes",)}

# Where a value means nothing, the row has the plain one instead.
NEEDS = (
    Rule("targets", ("1", "3"), {"action": TARGETED}),
    # The pods of the last server of the cluster have nowhere to go, and service_server drains a whole group.
    Rule("targets", ("3",), {"action": ("redeploy_server", "relabel_nodes")}),
    Rule("batch", ("2",), {"action": TEARING_DOWN, "targets": ("2", "3")}),
    Rule("pipeline", ("parallel", "as_prepared", "in_flight"), {"action": SITE_ACTIONS}),
    Rule("etcd", ("members",), {"cluster": ("kubernetes",)}),
    Rule("wipe", ("preserve", "rebuild"), {"action": ("redeploy_server",)}),
    # A run of the task graph goes on without the nodes that are held: their tasks fail.
    Rule("held", ("yes",), {"action": (*TARGETED, *SITE_ACTIONS)}),
    Rule("revision", ("newer",), {"action": TARGETED}),
    # A commit with steps or a burn-in that the provisioner lacks is refused.
    Rule("burn_in", ("yes",), {"provisioner": ("ironic",)}),
    Rule("templates", ("requested",), {"provisioner": ("ironic",)}),
    Rule("hardware", ("right",), {"action": _DEPLOYS}),
    Rule("fails", _FAIL, {"action": _MAY_FAIL}),
    Rule("fails", _FAIL, {"phase": ("teardown", "drain", "budget")}, among={"action": ("remove_server",)}),
    Rule("phase", ("prepare", "teardown", "drain", "budget", "join"), {"fails": _FAIL}),
    Rule("phase", ("teardown",), {"action": TEARING_DOWN, "wipe": ("replace",)}),
    Rule("phase", ("drain", "budget"), {"action": (*TEARING_DOWN, "service_server")}),
    Rule("phase", ("drain",), {"cluster": ("kubernetes", "promenade")}),
    Rule("phase", ("budget",), {"cluster": ("kubernetes",)}),
    # Promenade takes servers out, and services none.
    Rule("phase", ("drain",), {"cluster": ("kubernetes",)}, among={"action": ("service_server",)}),
    Rule("software", ("runs", "first", "last"), {"action": (*SITE_ACTIONS, "update_software")}),
    Rule("phase", ("join",), {"action": _DEPLOYS, "cluster": ("kubernetes",)}),
    # A machine that was just taken down is prepared by Drydock only.
    Rule("phase", ("prepare",), {"action": SITE_ACTIONS}),
    Rule("control", ("pause", "stop"), {"action": (*_MAY_FAIL, "update_software")}),
    Rule("control", ("limits",), {"action": TEARING_DOWN}),
    Rule("cured", ("no",), {"fails": _FAIL}),
    Rule("templates", ("requested",), {"action": ("redeploy_server", *SITE_ACTIONS, "service_server")}),
    # Failures of a rolling reinstallation, and sites without Kubernetes, are in tests of their own.
    Rule("on_change", ("least", "reinstall"), _CHANGING),
    Rule("on_removed", ("remove",), _CHANGING),
    # Only a changed template is a matter of a service.
    Rule("on_change", ("least",), {"templates": ("requested",)}),
)


# A row is held only to the rules of its values, and in plain loops: the search for rows asks 60,000 times.
_RULES_OF = {
    (option, value): [one for one in NEEDS if one.option == option and value in one.values]
    for option, values in OPTIONS.items()
    for value in values
}


@dataclass(frozen=True)
class Refusal:
    """Rows that are refused before anything is touched. ``status``: of the answer to POST /actions."""

    name: str
    status: int
    values: Mapping[str, Sequence[str]]

    def applies(self, row: Row) -> bool:
        """Return whether the row has all of these values."""
        return _has(row, self.values)


REFUSALS = (
    Refusal("Drydock preserves no storage", 400, {"provisioner": ("drydock",), "wipe": ("preserve",)}),
    Refusal("only Ironic rebuilds", 400, {"provisioner": ("drydock", "maas"), "wipe": ("rebuild",)}),
    Refusal("only Ironic runs deploy steps", 400, {"action": ("service_server",), "provisioner": ("drydock", "maas")}),
    Refusal("a held node is left alone", 409, {"held": ("yes",), "force": ("no",)}),
    Refusal("nothing drains", 409, {"action": TEARING_DOWN, "cluster": ("none",), "force": ("no",)}),
    Refusal(
        "nothing sets labels",
        409,
        {"action": ("relabel_nodes",), "provisioner": ("maas", "ironic"), "cluster": ("none", "promenade")},
    ),
)


@dataclass(frozen=True)
class Fault:
    """Rows that show a fault of the product that is known and not mended yet; a mend takes its line out."""

    name: str
    values: Mapping[str, Sequence[str]]

    def applies(self, row: Row) -> bool:
        """Return whether the row has all of these values."""
        return _has(row, self.values)


FAULTS: Sequence[Fault] = ()


def _has(row: Row, values: Mapping[str, Sequence[str]]) -> bool:
    for name, good in values.items():  # noqa: SIM110  # asked 500,000 times in each process of a run
        if row.get(name) not in good:
            return False
    return True


def makes_sense(row: Row) -> bool:
    """Return whether each value of the row, or part of a row, means something."""
    for value in row.items():
        for rule in _RULES_OF[value]:
            if rule.broken(row):
                return False
    return True


def is_accepted(row: Row) -> bool:
    """Return whether a row makes sense and nothing refuses it."""
    return makes_sense(row) and refusal(row) is None


def refusal(row: Row) -> Refusal | None:
    """Return why a row is refused."""
    return next((one for one in REFUSALS if one.applies(row)), None)
