"""Read what a switch says by LLDP, as raw fields (TLVs, in hex) or as a mapping of names that an inspection wrote."""

from collections.abc import Iterable, Mapping

from shipyard_api.domain.hardware.seen import Neighbour

_CHASSIS, _PORT, _PORT_DESCRIPTION, _SYSTEM = 1, 2, 4, 5
_CHASSIS_MAC, _PORT_MAC = 4, 3


def of_fields(fields: Iterable[object]) -> Neighbour | None:
    """Return the neighbour in raw fields, each a type and a value in hex; None without a chassis and a port."""
    found: dict[int, str] = {}
    for field in fields:
        match field:
            case [int(kind), str(value)] if kind not in found:
                if text := _text(kind, value):
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
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _text(kind: int, value: str) -> str:
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
