"""The machines of a site, from a list of machines or from the documents of a site design."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.places import is_place_name, is_tag_name
from shipyard_simulators.maas.statuses import BY_LABEL, BY_SHORT_NAME, Status

NODE_SCHEMA = "drydock/BaremetalNode/v1"
PROFILE_SCHEMA = "drydock/HostProfile/v1"

HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

_LISTS = ("tags", "mac_addresses")
_WORDS = ("zone", "pool", "owner", "power_state")
_VALUES: Mapping[str, type] = {
    each.name: type(each.default)
    for each in fields(Machine)
    if each.name
    in [
        "domain",
        "agent_name",
        "locked",
        "power_type",
        "ip_address",
        "description",
        "architecture",
        "cpu_count",
        "memory",
        "storage",
        "error_description",
        "osystem",
        "distro_series",
    ]
}


class SiteInvalid(ValueError):
    """A site that cannot be simulated; ``faults`` names everything that is wrong with it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class MachineSeed:
    """The initial values of a machine; missing ones stay as they are, or are the defaults.

    ``values``: fields of the machine by name.
    """

    hostname: str
    status: Status | None = None
    tags: Sequence[str] = ()
    mac_addresses: Sequence[str] = ()
    zone: str = ""
    pool: str = ""
    owner: str = ""
    power_state: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def read_site(path: Path) -> list[MachineSeed]:
    """Return the machines of a file. Raises SiteInvalid."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise SiteInvalid([f"cannot be read: {cause}"]) from cause
    return parse_site(content)


def parse_site(text: str) -> list[MachineSeed]:
    """Return the machines of a text: a list of machines, or a stream of documents. Raises SiteInvalid."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as cause:
        raise SiteInvalid([f"not YAML that can be read: {' '.join(str(cause).split())}"]) from cause
    if len(documents) == 1 and isinstance(documents[0], list) and not any(map(_is_document, documents[0])):
        return read_machines(documents[0])
    flat = [each for item in documents for each in (item if isinstance(item, list) else [item])]
    if not all(isinstance(each, dict) for each in flat):
        raise SiteInvalid(["should be a list of machines, or documents of a site design"])
    return _of_design(flat)


def read_machines(content: Sequence[object]) -> list[MachineSeed]:
    """Return the machines of a list of mappings. Raises SiteInvalid with every fault."""
    faults: list[str] = []
    seeds = [_seed(index, item, faults) for index, item in enumerate(content)]
    names = Counter(seed.hostname for seed in seeds)
    faults += [f"the machine {name!r} is there twice" for name in sorted(names) if names[name] > 1]
    if faults:
        raise SiteInvalid(faults)
    return seeds


def _seed(index: int, item: object, faults: list[str]) -> MachineSeed:
    place = f"machines[{index}]"
    if not isinstance(item, dict):
        faults.append(f"{place} should be a mapping")
        return MachineSeed("")
    hostname = item.get("hostname")
    if not isinstance(hostname, str) or not HOSTNAME.fullmatch(hostname):
        faults.append(f"{place}.hostname should be a host name in lower case, not {hostname!r}")
        hostname = f"unnamed {index}"
    known = {"hostname", "status", "power_address", "power_parameters", *_LISTS, *_WORDS, *_VALUES}
    faults += [f"{place}.{key} is not known; known are {', '.join(sorted(known))}" for key in item if key not in known]
    word = item.get("status")
    status = BY_LABEL.get(str(word), BY_SHORT_NAME.get(str(word)))
    if word is not None and status is None:
        faults.append(f"{place}.status should be the label or the short name of a status, not {word!r}")
    lists = {name: item.get(name, []) for name in _LISTS}
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            faults.append(f"{place}.{name} should be a list of texts")
            lists[name] = []
    faults += [f"{place}.tags: {tag!r} is no name of a tag" for tag in lists["tags"] if not is_tag_name(tag)]
    words = {name: str(item.get(name, "")) for name in _WORDS}
    values = {}
    for name, kind in _VALUES.items():
        if name in item:
            value = item[name]
            if not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
                faults.append(f"{place}.{name} should be of the type {kind.__name__}, not {value!r}")
            values[name] = value
    parameters = item.get("power_parameters", {})
    if not isinstance(parameters, dict):
        faults.append(f"{place}.power_parameters should be a mapping")
    elif parameters or "power_address" in item:
        address = {"power_address": str(item["power_address"])} if "power_address" in item else {}
        values["power_parameters"] = {**parameters, **address}
    return MachineSeed(hostname, status, values=values, **lists, **words)


def _is_document(item: object) -> bool:
    return isinstance(item, dict) and "schema" in item


def _of_design(documents: Sequence[Mapping[str, Any]]) -> list[MachineSeed]:
    named: dict[str, dict[str, Mapping[str, Any]]] = {NODE_SCHEMA: {}, PROFILE_SCHEMA: {}}
    for document in documents:
        if document.get("schema") in named:
            name = str(_mapping(document.get("metadata")).get("name"))
            named[document["schema"]][name] = _mapping(document.get("data"))
    return [_of_node(name, data, named[PROFILE_SCHEMA]) for name, data in named[NODE_SCHEMA].items()]


def _of_node(name: str, data: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]]) -> MachineSeed:
    chain, profile = [data], data.get("host_profile")
    while isinstance(profile, str) and profile in profiles and profiles[profile] not in chain:
        chain.append(profiles[profile])
        profile = profiles[profile].get("host_profile")
    tags: set[str] = set()
    rack, oob, labels = "", dict[str, Any](), dict[str, str]()
    for level in reversed(chain):  # the most general profile first, so that more specific ones override it
        metadata = _mapping(level.get("metadata"))
        own = metadata.get("tags")
        for tag in own if isinstance(own, list) else ():
            (tags.discard if str(tag).startswith("!") else tags.add)(str(tag).removeprefix("!"))
        rack = str(metadata.get("rack") or rack)
        oob = {**oob, **_mapping(level.get("oob"))}
        labels |= {str(key): str(value) for key, value in _mapping(metadata.get("owner_data")).items()}
    # A rack becomes the zone and a tag of its machines, a label a tag: an adapter may be set to use either.
    words = [*tags, rack, *(f"{key}__{value}" for key, value in labels.items())]
    addresses = data.get("addressing")
    network = oob.get("network")
    out_of_band = [
        str(each["address"])
        for each in (addresses if isinstance(addresses, list) else ())
        if isinstance(each, dict) and each.get("network") == network and each.get("address")
    ]
    boot = _mapping(data.get("metadata")).get("boot_mac")
    return MachineSeed(
        name,
        tags=sorted(word for word in set(words) if is_tag_name(word)),
        mac_addresses=[boot.lower()] if isinstance(boot, str) else (),
        zone=rack if is_place_name(rack) else "",
        values={"power_parameters": {"power_address": out_of_band[0], "power_user": "maas", "power_pass": "secret"}}
        if out_of_band
        else {},
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
