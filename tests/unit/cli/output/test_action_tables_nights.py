"""Seven nights, as the report shows them: the cause at first glance, and none where there is none.

The reasons of the nights at Ironic and at MAAS have the wording of these systems; those of failed steps are as a real
Ironic 39.0 wrote them. A changed text is written anew by
``WRITE=1 pytest`` on this file, and read before it is committed.
"""

import json
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from msgspec import to_builtins
from msgspec.structs import replace

from shipyard_api.api.entities.actions import Case
from shipyard_api.cli.output.node_tables import report
from shipyard_api.domain.cases.case import CaseKind, Earlier
from shipyard_api.domain.cases.features import Features
from shipyard_api.domain.cases.find import NodeFact, Seen, find_cases
from shipyard_api.domain.nodes import NodeName
from tests.unit.cli import samples
from tests.unit.tables import every_row

TEXTS = Path(__file__).with_name("nights")
BEGAN = datetime(2026, 11, 21, 2, 14, tzinfo=UTC)
Place = Mapping[str, str]


def place(at: int) -> Place:
    """Return the features of a node: racks of 12 nodes, two to a power domain; models by rack."""
    rack = at // 12
    return {
        "rack": f"r{rack:02}",
        "switch": f"sw{(at + 4) // 13}",
        "power_domain": f"pd{rack // 2}",
        "bmc_subnet": f"10.{rack // 4}.0.0/24",
        "model": (model := ("R640", "R740", "DL360")[rack % 3]),
        "firmware": f"{model} {('2.10', '2.12')[at % 5 == 0]}",
        "image": ("jammy", "noble")[at % 7 == 0],
    }


@dataclass(frozen=True)
class Night:
    """What a site had in the morning. ``fails``: the reason of a node, "" if it is well; ``ahead``: has not begun."""

    nodes: int
    fails: Callable[[int, Place], str]
    kind: CaseKind = CaseKind.FAILED
    ahead: Callable[[int], bool] = lambda _: False
    command: str = ""
    earlier: Earlier | None = field(default=None)


def uuid(at: int) -> UUID:
    return UUID(int=random.Random(at).getrandbits(128))


def _ironic(at: int, where: Place) -> str:
    if where["bmc_subnet"] == "10.2.0.0/24" and at % 12 != 5:
        return f"Failed to get power state for node {uuid(at)}. Error: IPMI call failed: power status."
    return f"Timeout reached while waiting for callback for node {uuid(at)}" if at in (7, 100, 131) else ""


def _step_fails(at: int, where: Place) -> str:
    failed = {20: "deploy.write_image"} | ({at: "deploy.deploy"} if where["rack"] == "r03" and at % 12 else {})
    text = "Deploy step {0} failed: Failed to deploy instance: step {0} was told to fail."
    return text.format(failed[at]) if at in failed else ""


def _maas(at: int, where: Place) -> str:
    if where["image"] == "noble":
        return f"Failed to deploy: installation of n{at:03} failed, no such file: noble/20261119/squashfs"
    return {11: "Marking node failed: Node operation 'Deploying' timed out after 40 minutes."}.get(at, "")


NIGHTS = {
    "a-switch-dies": Night(
        192,
        lambda at, where: (
            {150: "disk sda is broken"}.get(at, "")
            or (f"IPMI session to 10.0.1.{at} timed out" if where["switch"] == "sw3" and at % 13 < 11 else "")
        ),
        command="shipyard hold node 'n[045-046]' --reason 'switch sw3'",
        ahead=lambda at: at in (45, 46),
        earlier=Earlier(2, BEGAN - timedelta(days=5), "01M7XV7VKPMDHXJVA7WMC7P6XP"),
    ),
    "ironic-loses-a-bmc-network": Night(144, _ironic, command="shipyard retry 01M8"),
    "ironic-fails-a-step": Night(96, _step_fails, command="shipyard retry 01M8"),
    "maas-lacks-an-image": Night(120, _maas, command="shipyard retry 01M8"),
    "the-provisioner-is-down": Night(
        40, lambda at, _: f"deploy was refused: 503 from 10.0.0.5 for n{at:03}", command="shipyard stop action/01M8"
    ),
    "two-causes": Night(
        240,
        lambda at, where: (
            "RAID controller firmware 7.1 rejects the volume"
            if where["firmware"] == "DL360 2.12"
            else (f"no DHCP answer on port {at}" if where["rack"] == "r01" else "")
        ),
        command="shipyard retry 01M8",
    ),
    "an-ordinary-night": Night(
        240,
        lambda at, _: {20: "disk sda is broken", 77: "DIMM A3 failed", 78: "no DHCP answer", 199: "PSU 2 lost"}.get(
            at, ""
        ),
    ),
}


def text_of(night: Night) -> str:
    names = [NodeName(f"n{at:03}") for at in range(night.nodes)]
    places = [place(at) for at in range(night.nodes)]
    features = Features(names, {name: [where[name] for where in places] for name in places[0]})
    facts, failed = {}, []
    for at, name in enumerate(names):
        reason = night.fails(at, places[at])
        if night.ahead(at):
            facts[name] = NodeFact(Seen.AHEAD)
        elif reason:
            facts[name] = NodeFact(Seen.AFFECTED, reason, BEGAN + timedelta(seconds=at))
            failed.append(samples.node(name, "failure", "all", reason="prepare", detail=reason))
        else:
            facts[name] = NodeFact(Seen.SPARED)
    cases = [
        Case.of(replace(case, command=night.command, earlier=night.earlier))
        for case in find_cases(night.kind, facts, features)
    ]
    body = samples.report(seconds=900, cases=to_builtins(cases), nodes=failed)
    body["action"]["id"] = "01M8"
    return "".join(f"{line.rstrip()}\n" for line in str(report(json.dumps(body))).rstrip().splitlines())


@every_row(NIGHTS)
def test_the_report_names_the_cause_of_the_night(night: Night) -> None:
    name = next(name for name, known in NIGHTS.items() if known is night)
    path, text = TEXTS / f"{name}.txt", text_of(night)
    if os.environ.get("WRITE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
