"""The fields of a node: their first version, who may set them, their defaults and their format."""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from shipyard_simulators.ironic.errors import IronicError, above_version, invalid

_MASK = "******"
_SECRET = re.compile(r"password|secret|token|private_key|passphrase|sys_pswd|admin_?pass", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9\-._~]{1,255}")
_TRUE, _FALSE = {"1", "t", "true", "on", "y", "yes"}, {"0", "f", "false", "off", "n", "no"}

Check = Callable[[str, Any], Any]
"""Validates a value from a request: takes the field's name and the value, returns the value to store, or raises."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``check``: reads a caller's value (None: read-only). ``patch``: may also be changed later."""

    version: int = 1
    first: Any = None
    check: Check | None = None
    patch: bool = True


def read_flag(name: str, value: object) -> bool:
    """Return the boolean of a word, as Ironic reads it."""
    word = str(value).lower()
    if word not in _TRUE | _FALSE:
        allowed = ", ".join(f"'{each}'" for each in sorted(_TRUE | _FALSE))
        raise invalid(f"Invalid {name}: Unrecognized value '{value}', acceptable values are: {allowed}")
    return word in _TRUE


def read_uuid(name: str, value: object) -> str:
    """Return a UUID in canonical form."""
    if not is_uuid(value):
        raise invalid(f"Expected UUID for {name}: {value}")
    return str(UUID(str(value)))


def is_uuid(value: object) -> bool:
    """Return whether the value is a UUID in any form."""
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True


def is_name(value: object) -> bool:
    """Return whether the text is a valid node name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None and not is_uuid(value)


def _flag(name: str, value: Any) -> Any:
    if value is None:
        return False
    return read_flag(name, value)


def _flag_or_none(name: str, value: Any) -> Any:
    return None if value is None else read_flag(name, value)


def _uuid(name: str, value: Any) -> Any:
    return None if value is None else read_uuid(name, value)


def _text(_name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise _wrong_type(value, "string")
    return value


def _object(_name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        raise _wrong_type(value, "object")
    return {} if value is None else value


def _wrong_type(value: object, wanted: str) -> IronicError:
    return invalid(f"Schema error for node: {value!r} is not of type '{wanted}', 'null'")


INTERFACES = ("boot", "console", "deploy", "inspect", "management", "power", "raid", "vendor")
FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "uuid": Field(check=_uuid, patch=False),
        "created_at": Field(),
        "updated_at": Field(),
        "name": Field(5, check=_text),
        "driver": Field(check=_text),
        "driver_info": Field(first={}, check=_object),
        "driver_internal_info": Field(3, first={}),
        "properties": Field(first={}, check=_object),
        "extra": Field(first={}, check=_object),
        "provision_state": Field(first="enroll"),
        "target_provision_state": Field(),
        "provision_updated_at": Field(),
        "power_state": Field(),
        "target_power_state": Field(),
        "last_error": Field(),
        "reservation": Field(),
        "maintenance": Field(first=False, check=_flag),
        "maintenance_reason": Field(),
        "fault": Field(42),
        "instance_uuid": Field(check=_uuid),
        "instance_info": Field(first={}, check=_object),
        "instance_name": Field(104, check=_text),
        "traits": Field(37, first=[]),
        "resource_class": Field(21, check=_text),
        "conductor_group": Field(46, first="", check=_text),
        "automated_clean": Field(47, check=_flag_or_none),
        "protected": Field(48, first=False, check=_flag),
        "protected_reason": Field(48, check=_text),
        "conductor": Field(49),
        "owner": Field(50, check=_text),
        "description": Field(51, check=_text),
        "allocation_uuid": Field(52),
        "retired": Field(61, first=False, check=_flag),
        "retired_reason": Field(61, check=_text),
        "lessee": Field(65, check=_text),
        "network_data": Field(66, first={}, check=_object),
        "shard": Field(82, check=_text),
        "parent_node": Field(83, check=_text),
        "disable_power_off": Field(95, first=False, check=_flag),
        "clean_step": Field(7, first={}),
        "deploy_step": Field(44, first={}),
        "service_step": Field(87, first={}),
        "inspection_started_at": Field(6),
        "inspection_finished_at": Field(6),
        "console_enabled": Field(first=False, patch=False),
        "boot_mode": Field(75),
        "secure_boot": Field(75),
        "raid_config": Field(12, first={}),
        "target_raid_config": Field(12, first={}),
        "chassis_uuid": Field(check=_uuid),
        "health": Field(109),
        "network_interface": Field(20, first="noop", check=_text),
        "storage_interface": Field(33, first="noop", check=_text),
        "rescue_interface": Field(38, first="no-rescue", check=_text),
        "bios_interface": Field(40, first="no-bios", check=_text),
        "firmware_interface": Field(86, first="no-firmware", check=_text),
    }
    | {f"{interface}_interface": Field(31, check=_text) for interface in INTERFACES}
)

SHORT = ("instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name")
"""The default fields of a list."""
PATCHABLE = tuple(name for name, field in FIELDS.items() if field.check and field.patch)


def first_values() -> dict[str, Any]:
    """Return the default fields of a new node."""
    return {name: deepcopy(field.first) for name, field in FIELDS.items()}


def read_fields(body: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the validated fields that a caller sets. Read-only fields are rejected."""
    for name in body:
        field = FIELDS.get(name)
        if field is None or field.check is None:
            raise invalid(f"Schema error for node: Additional properties are not allowed ('{name}' was unexpected)")
        need_field(name, version)
    return {name: check(name, value) for name, value in body.items() if (check := FIELDS[name].check)}


def need_field(name: str, version: int) -> None:
    """Reject a field that the version does not have."""
    if FIELDS[name].version > version:
        raise above_version()


def shown(values: Mapping[str, Any], names: tuple[str, ...] | None, version: int, base: str) -> dict[str, Any]:
    """Return the representation of a node: the given fields (None: all) that the version has, and links."""
    wanted = FIELDS if names is None else names
    view = {name: _masked(name, values[name]) for name in wanted if FIELDS[name].version <= version}
    path = f"nodes/{values['uuid']}"
    if names is None:
        view |= {each: links(base, f"{path}/{each}") for each in ("ports", "portgroups", "states", "volume")}
    return view | {"links": links(base, path)}


def links(base: str, path: str) -> list[dict[str, str]]:
    """Return the two links of a resource."""
    return [{"href": f"{base}/v1/{path}", "rel": "self"}, {"href": f"{base}/{path}", "rel": "bookmark"}]


def _masked(name: str, value: Any) -> Any:
    if name == "driver_info":
        return mask_secrets(value)
    if name == "instance_info" and "configdrive" in value:
        return {**deepcopy(value), "configdrive": _MASK}
    # A copy: it is serialised after the conductor's lock is released.
    return deepcopy(value) if isinstance(value, dict | list) else value


def mask_secrets(value: Any) -> Any:
    """Return a copy with the values of all secret keys masked, at any depth."""
    if isinstance(value, dict):
        return {
            key: _MASK if _SECRET.search(str(key)) and not isinstance(each, dict | list) else mask_secrets(each)
            for key, each in value.items()
        }
    return [mask_secrets(each) for each in value] if isinstance(value, list) else value
