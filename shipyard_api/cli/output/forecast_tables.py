"""A forecast as tables. Pure."""

import math
from collections.abc import Sequence
from datetime import timedelta

from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import JsonObject, object_at, objects_at, parse_object, required
from shipyard_api.cli.output.wording import clock, printable

_BAR = 10
_SOURCES = {
    "given": "as given, or else as measured",
    "history": "measured on this site",
    "default": "a guess: no earlier deployment was measured",
}
_CRITERIA = {
    "percent_successful_nodes": "needs {} % of its nodes",
    "minimum_successful_nodes": "needs {} of its nodes",
    "maximum_failed_nodes": "lets at most {} fail",
}


def forecast(text: str) -> Printout:
    """Return a forecast."""
    return sections(*parts(parse_object(text)))


def parts(entity: JsonObject) -> Sequence[TextTable | str | Printout]:
    """Return a forecast: its totals, the criterion to relax, and its groups."""
    is_rest = "seconds_left" in entity
    seconds = object_at(entity, "seconds_left" if is_rest else "seconds")
    groups = objects_at(entity, "groups")
    lost = object_at(entity, "nodes_lost")
    success = object_at(entity, "success")
    # The cause stands once: with the chance, or with the time if the chance is known.
    unknown = f"not known: {printable(entity.get('not_known') or 'the server does not say why')}"
    time_unknown = unknown if success else "not known"
    about = [
        ("Success:", _interval(success) if success else unknown),
        ("Nodes Lost:", f"{float(required(lost, 'mean')):.1f} on average" if lost else "not known"),
        ("Time Left:" if is_rest else "Duration:", _spread(seconds) if seconds else time_unknown),
        ("Assumed:", _assumed(entity)),
    ]
    # What cannot be predicted was not simulated.
    if seconds:
        about += [
            ("Relax:", _relax(object_at(entity, "relax"))),
            ("Simulated:", f"{int(required(entity, 'runs')):,} runs, seed {required(entity, 'seed')}"),
        ]
    rows = [_row(group) for group in sorted(groups, key=_start)]
    headers = ("Group", "Critical", "Nodes", "Chance", "Success (95 %)", "Starts", "Lasts", "Prepare", "Deploy")
    return [fields(about), table(rows, headers, gap=2)]


def _start(group: JsonObject) -> float:
    """Return when the group starts, for an order in which those that have started, or never do, are the last."""
    return float(object_at(group, "starts").get("p50", math.inf))


def _row(group: JsonObject) -> tuple[object, ...]:
    success = object_at(group, "success")
    chance = float(required(success, "probability")) if success else 0.0
    phases = {phase.get("phase"): phase for phase in objects_at(group, "phases")}
    return (
        required(group, "name"),
        "yes" if group.get("critical") else "no",
        required(group, "nodes"),
        "■" * _filled(chance) + "·" * (_BAR - _filled(chance)) if success else "-",
        _interval(success) if success else "not known",
        _median(object_at(group, "starts"), "+"),
        _median(object_at(group, "seconds")),
        *(_median(object_at(phases.get(phase, {}), "seconds")) for phase in ("prepare", "deploy")),
    )


def _filled(chance: float) -> int:
    """Return how much of the bar to fill: all of it, or none, only if that is exact."""
    return round(chance * _BAR) if chance in (0.0, 1.0) else min(max(round(chance * _BAR), 1), _BAR - 1)


def _interval(estimate: JsonObject) -> str:
    chance, low, high = (float(required(estimate, name)) for name in ("probability", "low", "high"))
    return _percent(chance) if low == high else f"{_percent(chance)} ({_percent(low)} to {_percent(high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _spread(seconds: JsonObject) -> str:
    low, middle, high = (clock(timedelta(seconds=required(seconds, name))) for name in ("p10", "p50", "p90"))
    return middle if low == high else f"{middle} (8 of 10 times {low} to {high})"


def _median(seconds: JsonObject, sign: str = "") -> str:
    return f"{sign}{clock(timedelta(seconds=required(seconds, 'p50')))}" if seconds else "-"


def _assumed(entity: JsonObject) -> str:
    assumed = object_at(entity, "assumed")
    phases = {phase: object_at(assumed, phase) for phase in ("prepare", "deploy")}
    shares = [
        f"{_percent(float(required(forecast, 'failure_probability')))} of nodes fail {phase}"
        for phase, forecast in phases.items()
    ]
    source = str(required(entity, "source"))
    measured = [str(required(forecast, "measured_nodes")) for forecast in phases.values()]
    by = f" ({' and '.join(measured)} nodes)" if source == "history" else ""
    return f"{', '.join(shares)}; {_SOURCES.get(source, source)}{by}"


def _relax(relax: JsonObject) -> str:
    if not relax:
        return "no single criterion helps"
    criterion, group = str(required(relax, "criterion")), required(relax, "group")
    now, then = required(relax, "from"), required(relax, "to")
    wanted = _CRITERIA.get(criterion, criterion + " {}").format(now)
    after = _percent(float(required(relax, "probability_after")))
    unit = " %" if criterion.startswith("percent") else ""
    return f"{group} {wanted}; with {then}{unit} instead, {after} of the runs succeed"
