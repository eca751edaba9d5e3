"""Read inspections, whose shape no peer promises: what switches say by LLDP, and the XML of lshw and lldpctl."""

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import msgspec

from shipyard_api.domain.hardware.seen import Disk, Neighbour, Nic, SeenHardware
from shipyard_api.domain.json_types import JsonObject, texts

_CHASSIS, _PORT, _PORT_DESCRIPTION, _SYSTEM = 1, 2, 4, 5
_CHASSIS_MAC, _PORT_MAC = 4, 3


def of_fields(fields: Iterable[object]) -> Neighbour | None:
    """Return the neighbour in raw fields, each a type and a value in hex; None without a chassis and a port."""
    found: dict[int, str] = {}
    for field in fields:
        match field:
            case [int(kind), str(value)] if kind not in found:
                if text := _decoded(kind, value):
                    found[kind] = text
    return _neighbour([found.get(_SYSTEM), found.get(_CHASSIS)], [found.get(_PORT), found.get(_PORT_DESCRIPTION)])


def of_names(names: Mapping[str, object]) -> Neighbour | None:
    """Return the neighbour in the names that an inspection wrote, of this release of Ironic or an older one."""
    switch = [names.get("switch_system_name"), names.get("switch_chassis_id")]
    return _neighbour(switch, [names.get("switch_port_id"), names.get("switch_port_description")])


def _neighbour(switch: Iterable[object], port: Iterable[object]) -> Neighbour | None:
    switches, ports = _known(switch), _known(port)
    return Neighbour(switches, ports) if switches and ports else None


def _known(names: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts(list(names)))))


def _decoded(kind: int, value: str) -> str:
    try:
        content = bytes.fromhex(value)
    except ValueError:
        return ""
    if kind in (_PORT_DESCRIPTION, _SYSTEM):
        return content.decode("utf-8", "replace").strip("\0 ")
    if kind not in (_CHASSIS, _PORT) or not content:
        return ""
    subtype, rest = content[0], content[1:]
    is_mac = subtype == (_CHASSIS_MAC if kind == _CHASSIS else _PORT_MAC)
    return rest.hex(":") if is_mac else rest.decode("utf-8", "replace").strip("\0 ")


def text(value: object) -> str:
    """Return a value as text, nothing as an empty one."""
    return "" if value is None else str(value)


def number(value: object) -> int:
    """Return a number, 0 for anything else; people write some of them as text."""
    if isinstance(value, str):
        return int(value) if value.isdigit() else 0
    return max(int(value), 0) if isinstance(value, int | float) else 0


def mapping(value: object) -> JsonObject:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Iterable[object]:
    """Return the items of a list, none of anything else."""
    return value if isinstance(value, list) else ()


def mappings(value: object) -> list[JsonObject]:
    """Return the mappings in a list."""
    return [found for found in map(mapping, items(value)) if found]


_SPEED = re.compile(r"([0-9]+)([MG])bit/s")
_ROTATES = re.compile(r"[0-9]+rpm")
_ACCELERATORS = {"display", "coprocessor", "generic"}


def hardware(lshw: str, lldp: str) -> SeenHardware | None:
    """Return the server that the texts describe; None if lshw's cannot be read. A text with a DTD is not read."""
    root, cables = _parsed(lshw), _parsed(lldp)
    seen = None if root is None else _hardware(root)
    if seen is None or cables is None:
        return seen
    return msgspec.structs.replace(seen, neighbours=_neighbours(cables))


def _parsed(text: str) -> Element | None:
    if not text.strip() or "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        return ElementTree.fromstring(text)  # noqa: S314  # without a DTD there is nothing to expand
    except ElementTree.ParseError:
        return None


def _hardware(root: Element) -> SeenHardware | None:
    nodes = list(root.iter("node"))
    if not any(node.get("class") in ("processor", "memory") for node in nodes):
        return None
    processors = [node for node in nodes if node.get("class") == "processor" and node.get("disabled") != "true"]
    banks = [node for node in nodes if str(node.get("id")).startswith("bank") and _size(node)]
    memory = next((node for node in nodes if node.get("id") == "memory" and _size(node)), None)
    system = root if root.tag == "node" else next(iter(nodes), root)
    firmware = next((node for node in nodes if node.get("id") == "firmware"), None)
    return SeenHardware(
        cpu_model=_text(processors[0], "product") if processors else "",
        sockets=len(processors),
        cores=sum(_setting(node, "cores") for node in processors),
        threads=sum(_setting(node, "threads") for node in processors),
        memory=_size(memory) if memory is not None else sum(map(_size, banks)),
        modules=len(banks),
        disks=tuple(_disks(root, inside_nvme=False)),
        nics=tuple(map(_nic, _physical(nodes))),
        accelerators=tuple(
            f"{_text(node, 'vendor')} {_text(node, 'product')}".strip()
            for node in nodes
            if node.get("class") in _ACCELERATORS and _text(node, "product")
        ),
        model=f"{_text(system, 'vendor')} {_text(system, 'product')}".strip(),
        firmware=_text(firmware, "version") if firmware is not None else "",
    )


def _disks(node: Element, *, inside_nvme: bool) -> Iterator[Disk]:
    inside_nvme = inside_nvme or str(node.get("id")).startswith("nvme")
    if node.tag == "node" and node.get("class") == "disk" and _size(node):
        name = _text(node, "logicalname").rpartition("/")[2]
        rotates = any(_ROTATES.fullmatch(str(each.get("id"))) for each in node.iter("capability"))
        kind = "nvme" if inside_nvme or name.startswith("nvme") else "hdd" if rotates else ""
        yield Disk(name, _size(node), kind)
        return
    for child in node:
        yield from _disks(child, inside_nvme=inside_nvme)


def _physical(nodes: list[Element]) -> Iterator[Element]:
    for node in nodes:
        if node.get("class") == "network" and _text(node, "businfo") and _text(node, "logicalname"):
            yield node


def _nic(node: Element) -> Nic:
    found = _SPEED.fullmatch(_value(node, "speed"))
    capacity = _number(node, "capacity") // 1_000_000
    speed = int(found[1]) * (1000 if found[2] == "G" else 1) if found else capacity
    return Nic(_text(node, "logicalname"), _text(node, "serial").lower(), speed, _value(node, "driver"))


def _neighbours(root: Element) -> Mapping[str, Neighbour]:
    found = {}
    for interface in root.iter("interface"):
        chassis, port = interface.find("chassis"), interface.find("port")
        name = interface.get("name")
        if name and chassis is not None and port is not None:
            found[name] = Neighbour(_names(chassis, "name", "id"), _names(port, "id", "descr"))
    return found


def _names(node: Element, *tags: str) -> tuple[str, ...]:
    names = (child.text.strip() for tag in tags for child in node.findall(tag) if child.text)
    return tuple(dict.fromkeys(name for name in names if name))


def _text(node: Element, tag: str) -> str:
    child = node.find(tag)
    return (child.text or "").strip() if child is not None else ""


def _value(node: Element, setting: str) -> str:
    settings = {str(each.get("id")): str(each.get("value")) for each in node.findall("configuration/setting")}
    return settings.get(setting, "")


def _setting(node: Element, setting: str) -> int:
    value = _value(node, setting)
    return int(value) if value.isdigit() else 0


def _size(node: Element) -> int:
    return _number(node, "size")


def _number(node: Element, tag: str) -> int:
    value = _text(node, tag)
    return int(value) if value.isdigit() else 0
