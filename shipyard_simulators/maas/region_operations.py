"""Operations on the region: version, users, settings, the rack controller and images."""

import json
from typing import Any

from shipyard_simulators.maas.calls import Call, Operations
from shipyard_simulators.maas.errors import MaasError
from shipyard_simulators.maas.images import IMAGES
from shipyard_simulators.maas.lifecycle import erases_always
from shipyard_simulators.maas.wire import API

VERSION = {
    "version": "3.5.4",
    "subversion": "",
    "capabilities": [
        "networks-management",
        "static-ipaddresses",
        "ipv6-deployment-ubuntu",
        "devices-management",
        "storage-deployment-ubuntu",
        "network-deployment-ubuntu",
        "bridging-interface-ubuntu",
        "bridging-automatic-ubuntu",
        "authenticate-api",
    ],
}

_RACK_ID = "rackaa"
# Drydock's verify_site fails unless each service that it requires is running or off; older ones require tgt.
_RACK_SERVICES = {"dhcpd": "running", "http": "running", "rackd": "running", "tftp": "running", "tgt": "off"}


def whoami(call: Call) -> dict[str, Any]:
    """Return the user of the key."""
    name = call.account.name
    return {
        "username": name,
        "email": f"{name}@example.com",
        "is_superuser": call.account.administrator,
        "is_local": True,
        "resource_uri": f"{API}/users/{name}/",
    }


def read_users(call: Call) -> list[dict[str, Any]]:
    """Return the caller: the only user that it needs to know."""
    return [whoami(call)]


def list_authorisation_tokens(call: Call) -> list[dict[str, Any]]:
    """Return the caller's keys."""
    return [{"name": "MAAS consumer", "token": call.account.key}]


def get_config(call: Call) -> Any:
    """Return a setting of the site."""
    call.must_administer()
    name = call.query.get("name")
    known = {
        "enable_disk_erasing_on_release": erases_always(call),
        "maas_name": "simulated",
        "default_distro_series": "jammy",
        "commissioning_distro_series": "jammy",
        "node_timeout": call.region.scenario.durations["node_timeout"] // 60,
        **call.region.settings,
    }
    if name not in known:
        raise MaasError(400, {name or "name": [f"{name} is not a valid config setting."]})
    return known[name]


def set_config(call: Call) -> str:
    """Change a setting of the site."""
    call.must_administer()
    value = call.form.get("value")
    try:
        call.region.settings[call.form.get("name")] = json.loads(value.lower())
    except ValueError:
        call.region.settings[call.form.get("name")] = value
    call.region.touch()
    return "OK"


def _rack() -> dict[str, Any]:
    return {
        "system_id": _RACK_ID,
        "hostname": "rack",
        "fqdn": "rack.maas",
        "node_type": 4,
        "node_type_name": "Region and rack controller",
        "status": 6,
        "status_name": "Deployed",
        "power_type": "",
        "version": VERSION["version"],
        "tag_names": [],
        "interface_set": [],
        "service_set": [{"name": name, "status": status, "status_info": ""} for name, status in _RACK_SERVICES.items()],
        "resource_uri": f"{API}/rackcontrollers/{_RACK_ID}/",
    }


def read_racks(_call: Call) -> list[dict[str, Any]]:
    """Return the only rack controller."""
    return [_rack()]


def read_rack(call: Call) -> dict[str, Any]:
    """Return the rack controller."""
    if call.path["system_id"] != _RACK_ID:
        raise MaasError(404, "No RackController matches the given query.")
    return _rack()


def racks_power_parameters(call: Call) -> dict[str, Any]:
    """Return the power parameters of the controllers: none."""
    call.must_administer()
    return {_RACK_ID: {}}


def rack_power_parameters(call: Call) -> dict[str, Any]:
    """Return the power parameters of the controller: none."""
    read_rack(call)
    call.must_administer()
    return {}


def read_images(_call: Call) -> list[dict[str, Any]]:
    """Return all images."""
    return [
        {
            "id": image.number,
            "type": "Uploaded" if image.system == "custom" else "Synced",
            "name": image.name,
            "architecture": f"amd64/{image.kernel or 'generic'}",
            "resource_uri": f"{API}/boot-resources/{image.number}/",
            "subarches": ",".join(filter(None, ("generic", image.kernel))),
        }
        for image in IMAGES
    ]


def is_importing(_call: Call) -> bool:
    """Return false: no image is being imported."""
    return False


def nothing(_call: Call) -> list[Any]:
    """Return an empty list."""
    return []


def nothing_of_node(call: Call) -> list[Any]:
    """Return an empty list for the machine or the rack controller."""
    if call.path["system_id"] != _RACK_ID:
        call.machine()
    return []


USERS: Operations = {("GET", None): read_users, ("GET", "whoami"): whoami}
ACCOUNT: Operations = {("GET", "list_authorisation_tokens"): list_authorisation_tokens}
SETTINGS: Operations = {("GET", "get_config"): get_config, ("POST", "set_config"): set_config}
RACKS: Operations = {("GET", None): read_racks, ("GET", "power_parameters"): racks_power_parameters}
RACK: Operations = {("GET", None): read_rack, ("GET", "power_parameters"): rack_power_parameters}
IMAGES_OPERATIONS: Operations = {("GET", None): read_images, ("GET", "is_importing"): is_importing}
NOTHING: Operations = {("GET", None): nothing}
NOTHING_OF_NODE: Operations = {("GET", None): nothing_of_node}
