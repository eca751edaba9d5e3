"""Read the rollout policy of a deployment configuration, and check it against the site (product, section 13)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, error, in_short, info, warning
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.provisioner_limits import NO_LIMITS, ProvisionerLimits
from shipyard_api.domain.rollout.history import TeardownHistory
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.gates import AtLimit, Gate, GateKind
from shipyard_api.domain.rollout.policy.lateness import ANY, LEAST, Lateness, OnLate, Usual
from shipyard_api.domain.rollout.policy.policy import Policy, Rule
from shipyard_api.domain.rollout.policy.waves import REST, Scope, Wave, Waves
from shipyard_api.domain.rollout.policy.windows import ServerWindows, Unit, Windows, parse_window, window_holds
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import parse_selector

PATH = "/physical_provisioner/policy"
RACK = "rack"
CERTAINTY = 95
"""The percent of the measured durations that must fit into a window, unless the policy says another."""

_KEYS: Mapping[Rule, tuple[str, ...]] = {
    Rule.WAVES: ("waves", "waves_over", "stop_after_bad_waves"),
    Rule.BUDGETS: ("budgets",),
    Rule.WINDOWS: ("windows",),
    Rule.LATE: ("late",),
}
"""The keys of each rule in a policy as it is written."""

PASSED = (Rule.BUDGETS, Rule.WINDOWS)
"""The rules that ``force`` passes. A gate between waves is approved instead."""

_TEARDOWN, _LEAVE = "teardown", "leave"
"""Beside the words of phases: a teardown of a server, and the part of it in which no other server leaves."""

# How many nodes without a label a finding names.
_NAMED = 5


class PolicyInputs(ByFields, Struct, frozen=True):
    """A policy as an action freezes it: ``data`` as written, and what was found when the action was created.

    ``chosen``, ``topology``: as in ``Policy``. ``seconds``: how long each phase may take, by the phase's word, and
    a teardown, if the action takes servers down before it prepares them.
    ``scale``: the length of a second in gates; anything but 1 is for simulated sites. Windows are not scaled.
    ``usual``, ``models``: when a node is late, as in ``Lateness``, by the phase's word; empty without ``late``.
    ``passed``: the action was forced past its budgets and windows.
    """

    FIRST: ClassVar = ("scale",)
    OPTIONAL: ClassVar = frozenset({"usual", "models", "passed"})

    data: Mapping[str, Any]
    chosen: Mapping[str, Sequence[NodeName]] = field(default_factory=dict)
    topology: Mapping[NodeName, Mapping[str, str]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    usual: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    models: Mapping[NodeName, str] = field(default_factory=dict)
    passed: bool = False

    @property
    def queries(self) -> Sequence[str]:
        """The paths of the gates that ask a query."""
        return [
            f"{PATH}/waves/{place}/gates/{number}"
            for place, wave in enumerate(self.data.get("waves", ()))
            for number, gate in enumerate(wave.get("gates", ()))
            if GateKind.QUERY.value in gate
        ]

    @classmethod
    def of(
        cls,
        data: Mapping[str, Any],
        inventory: Inventory,
        limits: Mapping[Phase, float],
        measured: Mapping[Phase, Sequence[float]] = MappingProxyType({}),
        learn: Callable[[Mapping[NodeName, str]], Usual] = lambda _: {},
    ) -> "PolicyInputs":
        """Resolve the selectors, labels and durations of a policy.

        A phase that the policy gives no length lasts as long as the policy's ``certainty`` of those ``measured``,
        which are seconds in ascending order; without any, as its time limit in seconds. ``learn``: asked how long
        phases usually last with nodes of these hardware profiles, if the policy does not say when a node is late.
        """
        chosen = {
            wave["name"]: sorted(select([parse_selector(selector) for selector in wave["selectors"]], inventory))
            for wave in data.get("waves", ())
            if wave.get("selectors")
        }
        labels = dict.fromkeys(budget["by"] for budget in data.get("budgets", ()) if budget.get("by"))
        values = {node.name: _values(node, labels) for node in inventory.nodes.values()} if labels else {}
        windows = data.get("windows") or {}
        given, percent = windows.get("durations") or {}, int(windows.get("certainty", CERTAINTY))
        usual = {phase: _percentile(measured.get(phase, ()), percent) or limits[phase] for phase in Phase}
        lengths = {phase.value: float(given.get(phase.value) or usual[phase]) for phase in Phase}
        inputs = cls(data, chosen, {node: by_label for node, by_label in values.items() if by_label}, lengths)
        return replace(inputs, **_late(data["late"], inventory, learn)) if "late" in data else inputs

    def binds(self, action: str, *, usually: bool) -> bool:
        """Return whether the policy applies to an action; ``usually``: unless it names its actions."""
        named = self.data.get("actions")
        return usually if named is None else action in named

    def only(self, rules: Collection[Rule]) -> "PolicyInputs":
        """Return the policy without all other rules."""
        return replace(self, data=only(self.data, rules))

    def asks(self, rule: Rule) -> bool:
        """Return whether the policy has such a rule, which was not passed."""
        return bool(self.data.get(rule.value)) and not (self.passed and rule in PASSED)

    @property
    def can_be_passed(self) -> bool:
        """Whether the policy has a rule that ``force`` passes."""
        return any(map(self.asks, PASSED))

    @property
    def paces(self) -> bool:
        """Whether a rule of the policy can keep nodes from beginning."""
        return any(map(self.asks, (Rule.WAVES, Rule.BUDGETS, Rule.WINDOWS)))

    @property
    def of_servers(self) -> ServerWindows | None:
        """The windows of an action in which each server begins by itself; None if it asks none."""
        return ServerWindows(self.data["windows"]["open"], self.length) if self.asks(Rule.WINDOWS) else None

    @property
    def length(self) -> float:
        """The seconds that preparing and deploying a server take."""
        return sum(self.seconds.get(phase.value, 0.0) for phase in Phase)

    def taking_down(self, measured: TeardownHistory, limit: float) -> "PolicyInputs":
        """Return the policy of an action that takes servers down before it prepares them.

        If the policy gives a teardown no length, it lasts as long as the policy's ``certainty`` of those ``measured``;
        without any, ``limit`` seconds.
        """
        windows = self.data.get("windows") or {}
        given, percent = (windows.get("durations") or {}).get(_TEARDOWN), int(windows.get("certainty", CERTAINTY))
        if given:
            lengths = {_TEARDOWN: float(given) * self.scale}
        else:
            whole, alone = (_percentile(seconds, percent) for seconds in (measured.whole, measured.alone))
            lengths = {_TEARDOWN: whole or limit, _LEAVE: alone or 0.0}
        return replace(self, seconds={**self.seconds, **lengths})

    @property
    def lateness(self) -> Lateness | None:
        """When a node is late, None if the policy has no ``late``."""
        if "late" not in self.data:
            return None
        usual = {Phase(name): seconds for name, seconds in self.usual.items()}
        return Lateness(usual, self.models, _on_late(self.data["late"]))

    @property
    def retries(self) -> bool:
        """Whether a phase begins again with its late nodes."""
        return "late" in self.data and _on_late(self.data["late"]) is OnLate.RETRY

    @property
    def policy(self) -> Policy:
        """The policy as a value."""
        return Policy(
            _waves(self.data, self.scale),
            tuple(map(_budget, self.data["budgets"])) if self.asks(Rule.BUDGETS) else (),
            _windows(self.data["windows"]) if self.asks(Rule.WINDOWS) else None,
            {name: frozenset(nodes) for name, nodes in self.chosen.items()},
            self.topology,
            {phase: self.seconds[phase.value] for phase in Phase if phase.value in self.seconds},
            self.seconds.get(_TEARDOWN, 0.0),
            self.seconds.get(_LEAVE, 0.0),
        )

    def scaled(self, factor: float) -> "PolicyInputs":
        """Return the inputs for a simulated site where a second lasts ``factor`` seconds."""
        seconds = {phase: length * factor for phase, length in self.seconds.items()}
        usual = {
            phase: {model: length * factor for model, length in lengths.items()}
            for phase, lengths in self.usual.items()
        }
        return replace(self, seconds=seconds, scale=self.scale * factor, usual=usual)


def on_servers(data: JsonObject, rules: Collection[Rule]) -> JsonObject:
    """Return what these rules of a policy mean for an action on named servers: each must fit into a window."""
    kept = only(data, rules)
    windows = kept.get("windows")
    return {**kept, "windows": {**windows, "fits": Unit.SERVER.value}} if windows else kept


def only(data: JsonObject, rules: Collection[Rule]) -> JsonObject:
    """Return a policy as it is written, without all other rules."""
    others = {key for rule, keys in _KEYS.items() if rule not in rules for key in keys}
    return {key: value for key, value in data.items() if key not in others}


def check_policy(
    inputs: PolicyInputs, inventory: Inventory, limits: ProvisionerLimits = NO_LIMITS
) -> Iterator[Finding]:
    """Return findings that a schema cannot express, and that no date changes. ``inputs`` passed the schema."""
    data = inputs.data
    yield from _check_late(inputs, limits)
    yield from _duplicates("waves", [wave["name"] for wave in data.get("waves", ())])
    yield from _duplicates("budgets", [budget["name"] for budget in data.get("budgets", ())])
    for place, wave in enumerate(data.get("waves", ())):
        if wave.get("selectors") and not inputs.chosen.get(wave["name"]):
            message = f"The selectors of wave '{wave['name']}' match no node, so nothing is tried before the next wave."
            yield warning("PolicyWaveEmpty", message, path=f"{PATH}/waves/{place}/selectors")
    for place, entry in enumerate(data.get("budgets", ())):
        yield from _check_budget(_budget(entry), f"{PATH}/budgets/{place}", inputs, inventory)
    yield from _check_holds(data, inventory)
    yield from _check_windows((data.get("windows") or {}).get("open", ()), f"{PATH}/windows/open")


def check_dates(inputs: PolicyInputs, now: datetime) -> Iterator[Finding]:
    """Return the findings about the dates of a sound policy: a commit has them, a committed design has not."""
    yield from check_windows(inputs, now)
    for place, hold in enumerate(window_holds(inputs.data)):
        if hold.never_comes(now):
            message = f"No window of hold '{hold.name}' begins within a year: no node is held by it any more."
            yield warning("PolicyWindowNeverComes", message, path=f"{PATH}/holds/{place}/windows")


def check_windows(inputs: PolicyInputs, now: datetime) -> Iterator[Finding]:
    """Return why no server would ever begin, if no window that is long enough opens any more."""
    windows, seconds = inputs.policy.windows, inputs.length
    if windows is None or windows.opening(now, seconds) is not None:
        return
    if windows.opening(now, 0.0) is None:
        message = "No maintenance window begins within a year: nothing would ever be deployed."
        yield error("PolicyWindowNeverComes", message, path=f"{PATH}/windows/open")
    else:
        message = f"No maintenance window is as long as the {seconds:g} s that preparing and deploying a server take."
        yield error("PolicyWindowTooShort", message, path=f"{PATH}/windows/open")


def _check_holds(data: Mapping[str, Any], inventory: Inventory) -> Iterator[Finding]:
    entries = data.get("holds", ())
    yield from _duplicates("holds", [entry["name"] for entry in entries])
    for place, entry in enumerate(entries):
        path = f"{PATH}/holds/{place}"
        if faults := _check_windows(entry["windows"], f"{path}/windows"):
            yield from faults
            continue
        (hold,) = window_holds({"holds": [entry]})
        if not hold.nodes(inventory):
            message = f"The selectors of hold '{hold.name}' match no node, so nothing is held."
            yield warning("PolicyHoldEmpty", message, path=f"{path}/selectors")


def _check_late(inputs: PolicyInputs, limits: ProvisionerLimits) -> Iterator[Finding]:
    if "late" not in inputs.data:
        return
    impossible = {
        OnLate.POWER_CYCLE: ("PolicyPowerCycleImpossible", "power-cycle a late node", limits.no_power_cycle),
        OnLate.RETRY: ("PolicyRetryImpossible", "begin the work on a late node again", limits.no_retry),
    }
    name, what, why = impossible.get(_on_late(inputs.data["late"]), ("", "", ""))
    if why:
        message = f"{limits.system} cannot {what}: {why}. Set on_late to hold or nothing."
        yield error(name, message, path=f"{PATH}/late/on_late")
    if unknown := [phase.value for phase in Phase if ANY not in inputs.usual.get(phase.value, {})]:
        message = (
            f"No node is late in {' or '.join(unknown)} yet: fewer than {LEAST} nodes were measured on this site. "
            "Give the seconds in late/durations to have them now."
        )
        yield info("PolicyLateNotMeasured", message, path=f"{PATH}/late")


def _check_budget(budget: Budget, path: str, inputs: PolicyInputs, inventory: Inventory) -> Iterator[Finding]:
    if budget.max_unavailable is not None and budget.max_unavailable.number == 0:
        message = f"Budget '{budget.name}' lets no node be unavailable, so none could be deployed."
        yield error("PolicyBudgetAllowsNothing", message, path=f"{path}/max_unavailable")
    if not budget.by:
        return
    without = sorted(node for node in inventory.nodes if not inputs.topology.get(node, {}).get(budget.by))
    if without:
        names = in_short(without, _NAMED)
        message = f"Budget '{budget.name}' counts by '{budget.by}', which {len(without)} node(s) do not have: {names}."
        yield warning("PolicyLabelMissing", f"{message} The budget does not protect them.", path=f"{path}/by")


def _duplicates(what: str, names: Sequence[str]) -> Iterator[Finding]:
    for place, name in enumerate(names):
        if name in names[:place] or (what == "waves" and name == REST):
            message = f"The name '{name}' is taken: names of {what} are unique, and '{REST}' is the last wave."
            yield error("PolicyDuplicateName", message, path=f"{PATH}/{what}/{place}/name")


def _check_windows(entries: Iterable[Mapping[str, Any]], path: str) -> list[Finding]:
    return [fault for place, entry in enumerate(entries) for fault in _check_window(entry, f"{path}/{place}")]


def _check_window(entry: Mapping[str, Any], path: str) -> Iterator[Finding]:
    zone = entry["zone"]
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"'{zone}' is no time zone of the IANA database, such as Europe/Berlin or UTC."
        yield error("PolicyUnknownTimeZone", message, path=f"{path}/zone")
    for key in ("dates", "not_on"):
        for position, day in enumerate(entry.get(key, ())):
            try:
                date.fromisoformat(day)
            except ValueError:
                message = f"'{day}' is no date: write it as 2026-12-24."
                yield error("PolicyDateInvalid", message, path=f"{path}/{key}/{position}")


def _percentile(values: Sequence[float], percent: int) -> float | None:
    """Return the percentile of ascending values, None without any."""
    return values[-(-percent * len(values) // 100) - 1] if values else None


def _late(
    late: Mapping[str, Any], inventory: Inventory, learn: Callable[[Mapping[NodeName, str]], Usual]
) -> dict[str, Any]:
    """Return the frozen fields about late nodes; a duration that the policy gives is that of every node."""
    models = {node.name: node.hardware for node in inventory.nodes.values() if node.hardware}
    given = {phase.value: {ANY: float(late["durations"][phase.value])} for phase in Phase if _gives(late, phase)}
    learnt = {} if len(given) == len(Phase) else learn(models)
    return {"usual": {phase.value: dict(seconds) for phase, seconds in learnt.items()} | given, "models": models}


def _gives(late: Mapping[str, Any], phase: Phase) -> bool:
    return bool(late.get("durations", {}).get(phase.value))


def _on_late(late: Mapping[str, Any]) -> OnLate:
    return OnLate(late.get("on_late", OnLate.NOTHING.value))


def _values(node: Node, labels: Iterable[str]) -> dict[str, str]:
    of_node = dict(node.labels)
    label_values = {label: node.rack if label == RACK and node.rack else of_node.get(label, "") for label in labels}
    return {label: value for label, value in label_values.items() if value}


def _waves(data: Mapping[str, Any], scale: float = 1.0) -> Waves | None:
    if not data.get("waves"):
        return None
    waves = tuple(_wave(entry, scale) for entry in data["waves"])
    return Waves(waves, Scope(data.get("waves_over", Scope.GROUP.value)), int(data.get("stop_after_bad_waves", 1)))


def _wave(entry: Mapping[str, Any], scale: float) -> Wave:
    size = Amount(int(entry["nodes"])) if "nodes" in entry else None
    if "percent" in entry:
        size = Amount(int(entry["percent"]), percent=True)
    criteria = {name: int(number) for name, number in (entry.get("success_criteria") or {}).items()}
    threshold = SuccessCriteria(**criteria) if "success_criteria" in entry else SuccessCriteria(maximum_failed_nodes=0)
    selectors = tuple(parse_selector(selector) for selector in entry.get("selectors", ()))
    return Wave(entry["name"], size, selectors, threshold, tuple(_gate(gate, scale) for gate in entry.get("gates", ())))


def _gate(entry: Mapping[str, Any], scale: float) -> Gate:
    kind = next(kind for kind in GateKind if kind.value in entry)
    return Gate(
        kind,
        float(entry.get("soak", 0)) * scale,
        float(entry["limit"]) * scale if entry.get("limit") else None,
        AtLimit(entry.get("at_limit", AtLimit.STOP.value)),
        entry.get("query", ""),
        bool(entry.get("strict", True)),
    )


def _budget(entry: Mapping[str, Any]) -> Budget:
    return Budget(
        entry["name"], entry.get("by", ""), _amount(entry.get("max_unavailable")), _amount(entry.get("max_lost"))
    )


def _amount(written: int | float | str | None) -> Amount | None:
    """Return a number of nodes from 5 or "10%"."""
    if written is None:
        return None
    if isinstance(written, str):
        return Amount(int(written.rstrip("% ")), percent=True)
    return Amount(int(written))


def _windows(entry: Mapping[str, Any] | None) -> Windows | None:
    if not entry:
        return None
    certainty = float(entry.get("certainty", CERTAINTY)) / 100
    return Windows(tuple(map(parse_window, entry["open"])), Unit(entry.get("fits", Unit.GROUP.value)), certainty)
