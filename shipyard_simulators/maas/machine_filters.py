"""The filters of the machine list. Values of one filter are alternatives (not for tags); all filters must match."""

import re
from collections.abc import Callable, Iterable

from shipyard_simulators.maas.errors import invalid
from shipyard_simulators.maas.forms import Fields
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.statuses import BY_SHORT_NAME, SIMPLE_NAMES

_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}", re.IGNORECASE)

_WORDS_OF: dict[str, Callable[[Machine], Iterable[str]]] = {
    "id": lambda machine: [machine.system_id],
    "hostname": lambda machine: [machine.hostname, machine.fqdn],
    "mac_address": lambda machine: machine.mac_addresses,
    "domain": lambda machine: [machine.domain],
    "zone": lambda machine: [machine.zone],
    "pool": lambda machine: [machine.pool],
    "tags": lambda machine: machine.tags,
    "owner": lambda machine: [machine.owner] if machine.owner else [],
    "status": lambda machine: [machine.status.short],
    "simple_status": lambda machine: [machine.status.simple],
    "power_state": lambda machine: [machine.power_state],
    "arch": lambda machine: [machine.architecture, machine.architecture.partition("/")[0]],
    "agent_name": lambda machine: [machine.agent_name],
}
"""The words of a machine that the values of a filter are compared with."""

_LEAST: dict[str, Callable[[Machine], float]] = {
    "cpu_count": lambda machine: machine.cpu_count,
    "mem": lambda machine: machine.memory,
}
_NOT = {f"not_{name}": name for name in _WORDS_OF} | {"not_in_zone": "zone", "not_in_pool": "pool"}
_WORDS = {"status": set(BY_SHORT_NAME), "simple_status": SIMPLE_NAMES, "power_state": {"on", "off", "unknown", "error"}}
_YOUNG = ("status", "simple_status", "power_state", "not_status", "not_power_state", "not_simple_status")


def select(region: Region, machines: list[Machine], fields: Fields) -> list[Machine]:
    """Return the machines that match all filters; unknown filters are ignored."""
    for name in fields.names():
        # Releases that do not know a filter ignore it and return everything.
        if name in _YOUNG and region.scenario.region.filters_of_old_releases:
            continue
        if name in _WORDS_OF:
            wanted = set(_values(region, name, name, fields))
            judge = wanted.issubset if name == "tags" else _meet(wanted)
            machines = [each for each in machines if judge(_WORDS_OF[name](each))]
        elif name in _LEAST:
            least = min(map(float, _values(region, name, name, fields)))
            machines = [each for each in machines if _LEAST[name](each) >= least]
        elif name in _NOT:
            judge = _meet(set(_values(region, name, _NOT[name], fields)))
            machines = [each for each in machines if not judge(_WORDS_OF[_NOT[name]](each))]
    return machines


def _meet(wanted: set[str]) -> Callable[[Iterable[str]], bool]:
    """Return a function that returns whether any of some words is wanted."""
    return lambda words: not wanted.isdisjoint(words)


def _values(region: Region, field: str, name: str, fields: Fields) -> list[str]:
    """Return the values of the filter. Raises MaasError for an invalid one."""
    values = fields.all(field)
    if name == "tags":
        values = [tag for value in values for tag in re.split(r"[,\s]+", value) if tag]
        _known(field, values, set(region.tags), "tag(s)")
    elif name == "zone":
        _known(field, values, set(region.zones), "zone")
    elif name == "pool":
        _known(field, values, set(region.pools), "pool")
    elif name == "domain":
        _known(field, values, {"maas"} | {each.domain for each in region.machines.values()}, "domain")
    elif name == "mac_address":
        for value in values:
            if not _MAC.fullmatch(value):
                raise invalid(field, f"'{value}' is not a valid MAC address.")
        values = list(map(_plain_mac, values))
    elif name in ("cpu_count", "mem"):
        for value in values:
            if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
                raise invalid(field, f"Invalid value for {field}: '{value}' is not a number.")
    elif name in _WORDS:
        for value in values:
            if value not in _WORDS[name]:
                raise invalid(
                    field,
                    f"'{value}' is not a valid {name}.  It should be one of: {', '.join(sorted(_WORDS[name]))}.",
                )
    return values


def is_mac(value: str) -> bool:
    """Return whether the text is a MAC address."""
    return _MAC.fullmatch(value) is not None


def _plain_mac(value: str) -> str:
    return value.lower().replace("-", ":")


def _known(field: str, values: list[str], known: set[str], kind: str) -> None:
    unknown = [value for value in values if value not in known]
    if unknown:
        raise invalid(field, f"No such {kind}: {', '.join(repr(value) for value in unknown)}.")
