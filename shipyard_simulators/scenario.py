"""A scenario: durations, outcomes of nodes, and faults of the service.

One file serves all simulators of a stack; each reads its own part. A scenario is accepted as a whole, or rejected with
all of its faults. ``seconds`` are nominal: a simulator multiplies them by its time scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from shipyard_simulators.outcomes import (
    NAMED_OUTCOMES,
    PHASES,
    Expectation,
    ExpectedEnd,
    FaultAction,
    NodeOutcome,
    NodeOutcomeKind,
    NodeRule,
    RegionTraits,
    ServiceFault,
    TaskOutcome,
    TaskOutcomeKind,
)
from shipyard_simulators.parts import Parts, read_parts
from shipyard_simulators.scenario_reader import Reader, UniqueKeyLoader

SCENARIOS = Path(__file__).parent / "scenarios"

MACHINE_DURATIONS: Mapping[str, float] = MappingProxyType(
    {
        # Phases of a machine that only MAAS has.
        "power": 2,
        "test_machines": 15,
        "quick_erase": 25,
        "full_erase": 1000,
        "release_machines": 5,
        # MAAS's own time limits.
        "node_timeout": 1800,
        "deploy_timeout": 3600,
        "release_timeout": 300,
        # In Kubernetes: from the start until the node exists, and from then until it is ready.
        "join_nodes": 30,
        "ready_nodes": 10,
        # In Kubernetes: until a pod runs or has ended, a daemon's pod leaves, a kubelet stops, and its node is lost.
        "start_pods": 5,
        "stop_pods": 5,
        "move_daemons": 3,
        "stop_kubelet": 10,
        "lose_nodes": 40,
        # Of hosts: a slow connection, a slow task (ten times this), and a restart.
        "connect_hosts": 1,
        "run_tasks": 30,
        "boot_hosts": 60,
    }
)

DURATIONS: Mapping[str, float] = MappingProxyType(
    {
        "validate_design": 1,
        "verify_site": 5,
        "prepare_site": 10,
        "verify_nodes": 5,
        "prepare_nodes": 60,
        "deploy_nodes": 90,
        "destroy_nodes": 30,
        "relabel_nodes": 5,
        # A real Drydock polls its queue every 10 s; 2 s keep a demonstration brisk.
        "poll_interval": 2,
        **MACHINE_DURATIONS,
    }
)

QUIRKS: Mapping[str, bool] = MappingProxyType(
    {
        # Quirks of every real Drydock: on unless the scenario turns them off.
        "success_of_nothing": True,
        "stuck_in_running": True,
        "empty_answer_for_unreadable_design": True,
        # Quirks in how it reports a failed node: off, so that a failed node is reported as failed.
        "both_lists": False,
        "neither_list": False,
        "failed_commissioning_is_success": False,
        "failed_erase_is_success": False,
    }
)


MACHINE_STATUSES = (
    "New",
    "Commissioning",
    "Failed commissioning",
    "Testing",
    "Failed testing",
    "Ready",
    "Allocated",
    "Deploying",
    "Deployed",
    "Failed deployment",
    "Releasing",
    "Releasing failed",
    "Failed disk erasing",
    "Broken",
)
"""The MAAS statuses that a machine may start in."""


class ScenarioInvalid(ValueError):
    """An invalid scenario; ``faults`` lists everything that is wrong with it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


# The other two are played only through the control routes.
_FAULT_ACTIONS: Mapping[str, FaultAction] = MappingProxyType(
    {action.value: action for action in FaultAction if action not in (FaultAction.TRUNCATE, FaultAction.PAUSE)}
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that goes wrong, and when. The default is a site where nothing does."""

    name: str = "calm"
    description: str = ""
    durations: Mapping[str, float] = field(default_factory=lambda: DURATIONS)
    nodes: tuple[NodeRule, ...] = ()
    machines: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, TaskOutcome] = field(default_factory=dict)
    quirks: Mapping[str, bool] = field(default_factory=lambda: QUIRKS)
    service: tuple[ServiceFault, ...] = ()
    hardware: Mapping[str, Parts] = field(default_factory=dict)
    region: RegionTraits = field(default_factory=RegionTraits)
    seed: int = 0
    expect: Expectation | None = None
    # For the demo, not for simulators: rollout policy and burn-in of its design, the holds that it places before the
    # action, and its answers to approvals.
    policy: Mapping[str, Any] = field(default_factory=dict)
    burn_in: Mapping[str, Any] = field(default_factory=dict)
    holds: tuple[Mapping[str, str], ...] = ()
    approvals: tuple[Mapping[str, Any], ...] = ()

    def node_outcome(self, node: str, phase: str) -> NodeOutcome:
        """Return the outcome of a phase of the node: from the first rule that names the phase, else from the node's
        name.
        """
        for rule in self.nodes:
            if phase in rule.outcomes and fnmatchcase(node, rule.pattern):
                return rule.outcomes[phase]
        for mark, named_phase, kind in NAMED_OUTCOMES:
            if named_phase == phase and mark in node:
                return NodeOutcome(kind)
        return NodeOutcome(NodeOutcomeKind.OK)

    def parts(self, node: str) -> Parts | None:
        """Return the hardware that the scenario gives a node; None: that of the simulator."""
        if node in self.hardware:
            return self.hardware[node]
        return next((parts for pattern, parts in self.hardware.items() if fnmatchcase(node, pattern)), None)

    def task_outcome(self, action: str) -> TaskOutcome:
        """Return the outcome of the tasks of the action."""
        return self.tasks.get(action, TaskOutcome(TaskOutcomeKind.OK))


def load_scenario(name_or_file: str) -> Scenario:
    """Return a packaged scenario by its name, or any other by its file name. Raises ScenarioInvalid."""
    path = SCENARIOS / f"{name_or_file}.yaml"
    if "/" in name_or_file or name_or_file.endswith((".yaml", ".yml")):
        path = Path(name_or_file)
    elif name_or_file not in scenario_names():
        known = ", ".join(scenario_names())
        raise ScenarioInvalid([f"there is no scenario named {name_or_file!r}; known are {known}, or give a file"])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise ScenarioInvalid([f"{path} cannot be read: {cause}"]) from cause
    return parse_scenario(text, default_name=path.stem)


def scenario_names() -> list[str]:
    """Return the sorted names of the packaged scenarios."""
    return sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def parse_scenario(text: str, *, default_name: str = "unnamed") -> Scenario:
    """Return the scenario of a YAML text. Raises ScenarioInvalid with every fault."""
    try:
        content: Any = yaml.load(text, Loader=UniqueKeyLoader)  # noqa: S506  (it is a SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as cause:
        raise ScenarioInvalid([f"not YAML that can be read: {' '.join(str(cause).split())}"]) from cause
    reader = Reader(content if content is not None else {})
    scenario = _read(reader, default_name)
    if reader.faults:
        raise ScenarioInvalid(reader.faults)
    return scenario


def _read(root: Reader, default_name: str) -> Scenario:
    root.only(*(part.name for part in fields(Scenario)))
    durations = root.child("durations")
    durations.only(*DURATIONS)
    quirks = root.child("quirks")
    quirks.only(*QUIRKS)
    machines, statuses = root.child("machines"), {status: status for status in MACHINE_STATUSES}
    tasks = root.child("tasks")
    actions = [each for each in DURATIONS if each != "poll_interval" and each not in MACHINE_DURATIONS]
    tasks.only(*actions)
    return Scenario(
        name=root.text("name") or default_name,
        description=root.text("description"),
        durations={**DURATIONS} | {key: durations.number(key, least=0) or 0.0 for key in durations},
        nodes=tuple(_read_rule(pattern, rule) for pattern, rule in root.child("nodes").children()),
        machines={node: machines.choice(node, statuses) or "" for node in machines},
        tasks={action: _read_task(tasks, action) for action in tasks if action in actions},
        quirks={**QUIRKS} | {key: quirks.flag(key) for key in quirks},
        service=tuple(_read_fault(fault) for fault in root.items("service")),
        hardware={pattern: read_parts(part) for pattern, part in root.child("hardware").children()},
        region=_read_region(root.child("region")),
        seed=root.whole("seed", least=None) or 0,
        expect=_read_expectation(root.child("expect")) if "expect" in root else None,
        policy=root.mapping("policy"),
        burn_in=root.mapping("burn_in"),
        holds=tuple(_read_hold(hold) for hold in root.items("holds")),
        approvals=tuple(_read_approval(answer) for answer in root.items("approvals")),
    )


def _read_rule(pattern: str, rule: Reader) -> NodeRule:
    rule.only(*PHASES, "reason", "seconds", "times")
    reason, seconds = rule.text("reason"), rule.number("seconds", least=0)
    times = rule.whole("times", least=1)
    outcomes = {}
    for phase, allowed in PHASES.items():
        kind = rule.choice(phase, {kind.value: kind for kind in allowed})
        if kind is not None:
            outcomes[phase] = NodeOutcome(kind, reason, seconds, times)
    if not set(PHASES) & set(rule):
        rule.fault(f"says nothing of any phase ({', '.join(PHASES)})")
    return NodeRule(pattern, outcomes)


def _read_task(tasks: Reader, action: str) -> TaskOutcome:
    kinds = {kind.value: kind for kind in TaskOutcomeKind}
    if action != "prepare_site":
        del kinds["partial"]  # only prepare_site has steps that fail independently
    if not tasks.is_mapping(action):
        return TaskOutcome(tasks.choice(action, kinds) or TaskOutcomeKind.OK)
    task = tasks.child(action)
    task.only("outcome", "reason", "seconds")
    return TaskOutcome(
        task.choice("outcome", kinds) or TaskOutcomeKind.OK,
        task.text("reason"),
        task.number("seconds", least=0),
    )


def _read_region(region: Reader) -> RegionTraits:
    region.only(*(trait.name for trait in fields(RegionTraits)))
    return RegionTraits(
        requests_at_once=region.whole("requests_at_once", least=1) or RegionTraits().requests_at_once,
        deployments_at_once=region.whole("deployments_at_once", least=1),
        erase_on_release="erase_on_release" in region and region.flag("erase_on_release"),
        filters_of_old_releases="filters_of_old_releases" in region and region.flag("filters_of_old_releases"),
        seconds_a_machine=region.number("seconds_a_machine", least=0) or 0.0,
    )


def _read_fault(fault: Reader) -> ServiceFault:
    action = read_fault_action(fault, _FAULT_ACTIONS)
    if "status" in fault and "error" not in action.value:
        fault.fault(f"has a status, but {action.value} sends no answer of its own")
    return read_service_fault(fault, action)


def read_fault_action(fault: Reader, actions: Mapping[str, FaultAction]) -> FaultAction:
    """Return the action of a service fault, chosen from ``actions``. Unknown keys are reported as faults."""
    fault.only("method", "path", "status", "action", "probability", "seconds", "first")
    return fault.choice("action", actions) or FaultAction.ERROR


def read_service_fault(fault: Reader, action: FaultAction) -> ServiceFault:
    """Return the service fault with the given action."""
    seconds = fault.number("seconds", least=0)
    probability = fault.number("probability", least=0, most=1)
    return ServiceFault(
        method=(fault.text("method") or "*").upper(),
        path=fault.text("path") or "*",
        action=action,
        status=fault.whole("status", least=400, most=599) or 500,
        seconds=600 if seconds is None else seconds,
        probability=1 if probability is None else probability,
        first=fault.whole("first", least=1),
    )


def _read_expectation(expect: Reader) -> Expectation:
    words = {"success": "success", "failed": "failed"}
    expect.only("verdict", "groups", "nodes")
    groups = {}
    for name, group in expect.child("groups").children():
        group.only("status", "reason")
        groups[name] = ExpectedEnd(group.choice("status", words, required=True) or "", group.text("reason") or None)
    nodes = {}
    statuses = {word: word for word in ("not_started", "prepared", "success", "failure")}
    for name, node in expect.child("nodes").children():
        node.only("status", "reason")
        nodes[name] = ExpectedEnd(node.choice("status", statuses, required=True) or "", node.text("reason") or None)
    return Expectation(expect.choice("verdict", words, required=True) or "", groups, nodes)


def _read_hold(hold: Reader) -> Mapping[str, str]:
    hold.only("node", "class", "reason")
    return {key: hold.text(key) for key in ("node", "class", "reason") if key in hold}


def _read_approval(answer: Reader) -> Mapping[str, Any]:
    answer.only("wave", "group", "approve", "reason")
    texts = {key: answer.text(key) for key in ("wave", "group", "reason") if key in answer}
    return {**texts, "approve": "approve" not in answer or answer.flag("approve")}
