"""The options of the product as one table, of which the covering array makes runs.

A new option is a line in ``OPTIONS``, its meaning in ``site.py``, and a line in ``NEEDS`` if it is for some rows only.
Not in the table: ``service_server``, templates, the software stage, Promenade, Deckhand, limits changed during a
run, drains and joins that fail, operations on nodes, and a ``remove_server`` that fails or is paused or stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Row = Mapping[str, str]

# The first value of each option is the plain one.
OPTIONS: dict[str, Sequence[str]] = {
    "action": ("redeploy_server", "deploy_site", "update_site", "relabel_nodes", "remove_server"),
    "provisioner": ("drydock", "maas", "ironic"),
    "targets": ("2", "1", "3"),
    "batch": ("1", "2"),
    "groups": ("one", "several", "shared", "lenient"),
    "pipeline": ("serial", "parallel", "as_prepared", "in_flight"),
    "cluster": ("kubernetes", "none"),
    "etcd": ("none", "members"),
    "held": ("no", "yes"),
    "wipe": ("replace", "preserve", "rebuild"),
    "revision": ("same", "newer"),
    "fails": ("none", "first", "last", "all"),
    "phase": ("deploy", "prepare", "teardown"),
    "control": ("none", "pause", "stop"),
    "cured": ("yes", "no"),
    "force": ("no", "yes"),
}

TARGETED = ("redeploy_server", "relabel_nodes", "remove_server")
TEARING_DOWN = ("redeploy_server", "remove_server")
_SITE = ("deploy_site", "update_site")
_DEPLOYS = ("redeploy_server", *_SITE)
_FAIL = ("first", "last", "all")


@dataclass(frozen=True)
class Rule:
    """Rows with one of these values of ``option`` must also have one of these values of the ``others``."""

    option: str
    values: Sequence[str]
    others: Mapping[str, Sequence[str]]

    def broken(self, row: Row) -> bool:
        """Return whether the row breaks the rule; options that have no value yet may still fulfil it."""
        return row.get(self.option) in self.values and any(
            row[name] not in good for name, good in self.others.items() if name in row
        )


# Where a value means nothing, the row has the plain one instead.
NEEDS = (
    Rule("targets", ("1", "3"), {"action": TARGETED}),
    # The pods of the last server of the cluster have nowhere to go.
    Rule("targets", ("3",), {"action": ("redeploy_server", "relabel_nodes")}),
    Rule("batch", ("2",), {"action": TEARING_DOWN, "targets": ("2", "3")}),
    Rule("pipeline", ("parallel", "as_prepared", "in_flight"), {"action": _SITE}),
    Rule("etcd", ("members",), {"cluster": ("kubernetes",)}),
    Rule("wipe", ("preserve", "rebuild"), {"action": ("redeploy_server",)}),
    Rule("revision", ("newer",), {"action": TARGETED}),
    Rule("fails", _FAIL, {"action": _DEPLOYS}),
    Rule("phase", ("prepare", "teardown"), {"fails": _FAIL}),
    Rule("phase", ("teardown",), {"action": ("redeploy_server",), "wipe": ("replace",)}),
    # A machine that was just taken down is prepared by Drydock only.
    Rule("phase", ("prepare",), {"action": _SITE}),
    Rule("control", ("pause", "stop"), {"action": _DEPLOYS}),
    Rule("cured", ("no",), {"fails": _FAIL}),
)


@dataclass(frozen=True)
class Refusal:
    """Rows that are refused before anything is touched. ``status``: of the answer to POST /actions."""

    name: str
    status: int
    values: Mapping[str, Sequence[str]]

    def applies(self, row: Row) -> bool:
        """Return whether the row has all of these values."""
        return all(row.get(name) in values for name, values in self.values.items())


REFUSALS = (
    Refusal("Drydock preserves no storage", 400, {"provisioner": ("drydock",), "wipe": ("preserve",)}),
    Refusal("only Ironic rebuilds", 400, {"provisioner": ("drydock", "maas"), "wipe": ("rebuild",)}),
    Refusal("a held node is left alone", 409, {"held": ("yes",), "force": ("no",)}),
    Refusal("nothing drains", 409, {"action": TEARING_DOWN, "cluster": ("none",), "force": ("no",)}),
    Refusal(
        "nothing sets labels",
        409,
        {"action": ("relabel_nodes",), "provisioner": ("maas", "ironic"), "cluster": ("none",)},
    ),
)


@dataclass(frozen=True)
class Fault:
    """Rows that show a fault of the product that is known and not mended yet; a mend takes its line out."""

    name: str
    values: Mapping[str, Sequence[str]]

    def applies(self, row: Row) -> bool:
        """Return whether the row has all of these values."""
        return all(row[name] in values for name, values in self.values.items())


FAULTS: Sequence[Fault] = ()


def makes_sense(row: Row) -> bool:
    """Return whether each value of the row, or part of a row, means something."""
    return not any(rule.broken(row) for rule in NEEDS)


def is_accepted(row: Row) -> bool:
    """Return whether a row makes sense and nothing refuses it."""
    return makes_sense(row) and refusal(row) is None


def refusal(row: Row) -> Refusal | None:
    """Return why a row is refused."""
    return next((one for one in REFUSALS if one.applies(row)), None)
