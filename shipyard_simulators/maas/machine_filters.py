"""The filters of the machine list. Values of one filter are alternatives (not for tags); all filters must match."""

import re
from collections.abc import Callable

from shipyard_simulators.maas.errors import invalid
from shipyard_simulators.maas.forms import Fields
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.statuses import BY_SHORT_NAME, SIMPLE_NAMES

Test = Callable[[Machine, str], bool]

_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}", re.IGNORECASE)

_TESTS: dict[str, Test] = {
    "id": lambda machine, value: machine.system_id == value,
    "hostname": lambda machine, value: value in (machine.hostname, machine.fqdn),
    "mac_address": lambda machine, value: _plain_mac(value) in machine.mac_addresses,
    "domain": lambda machine, value: machine.domain == value,
    "zone": lambda machine, value: machine.zone == value,
    "pool": lambda machine, value: machine.pool == value,
    "tags": lambda machine, value: value in machine.tags,
    "owner": lambda machine, value: machine.owner == value,
    "status": lambda machine, value: machine.status.short == value,
    "simple_status": lambda machine, value: machine.status.simple == value,
    "power_state": lambda machine, value: machine.power_state == value,
    "arch": lambda machine, value: value in (machine.architecture, machine.architecture.partition("/")[0]),
    "agent_name": lambda machine, value: machine.agent_name == value,
    "cpu_count": lambda machine, value: machine.cpu_count >= float(value),
    "mem": lambda machine, value: machine.memory >= float(value),
}
_NOT = {f"not_{name}": name for name in _TESTS if name not in ("cpu_count", "mem")} | {
    "not_in_zone": "zone",
    "not_in_pool": "pool",
}
_WORDS = {"status": set(BY_SHORT_NAME), "simple_status": SIMPLE_NAMES, "power_state": {"on", "off", "unknown", "error"}}
_YOUNG = ("status", "simple_status", "power_state", "not_status", "not_power_state", "not_simple_status")


def select(region: Region, machines: list[Machine], fields: Fields) -> list[Machine]:
    """Return the machines that match all filters; unknown filters are ignored."""
    for name in fields.names():
        # Releases that do not know a filter ignore it and return everything.
        if name in _YOUNG and region.scenario.region.filters_of_old_releases:
            continue
        if name in _TESTS:
            machines = [each for each in machines if _holds(each, name, _values(region, name, name, fields))]
        elif name in _NOT:
            machines = _without(machines, _NOT[name], _values(region, name, _NOT[name], fields))
    return machines


def _without(machines: list[Machine], name: str, values: list[str]) -> list[Machine]:
    return [each for each in machines if not any(_TESTS[name](each, value) for value in values)]


def _holds(machine: Machine, name: str, values: list[str]) -> bool:
    judge = all if name == "tags" else any
    return judge(_TESTS[name](machine, value) for value in values)


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
