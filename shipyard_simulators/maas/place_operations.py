"""Operations on tags, pools and zones."""

from collections.abc import Callable
from typing import Any

from shipyard_simulators.maas.calls import Call, Operations, Reply
from shipyard_simulators.maas.collection_operations import visible
from shipyard_simulators.maas.errors import MaasError, invalid
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.machine_views import show_pool, show_zone
from shipyard_simulators.maas.places import Place, Tag, is_place_name, is_tag_name
from shipyard_simulators.maas.wire import API

_TAG_FIELDS = ("comment", "definition", "kernel_opts")


def _show_tag(tag: Tag) -> dict[str, Any]:
    fields = {name: getattr(tag, name) for name in _TAG_FIELDS}
    return {"name": tag.name, **fields, "resource_uri": f"{API}/tags/{tag.name}/"}


def _tag(call: Call) -> Tag:
    tag = call.region.tags.get(call.path["name"])
    if tag is None:
        raise MaasError(404, "No Tag matches the given query.")
    return tag


def read_tags(call: Call) -> list[dict[str, Any]]:
    """Return all tags by name."""
    return [_show_tag(tag) for _, tag in sorted(call.region.tags.items())]


def create_tag(call: Call) -> dict[str, Any]:
    """Add a tag."""
    call.must_administer()
    name = call.form.get("name")
    if not is_tag_name(name):
        raise invalid("name", "Invalid tag name (only letters, digits, underscores and hyphens are allowed).")
    if name in call.region.tags:
        raise invalid("name", "Tag with this Name already exists.")
    call.region.tags[name] = Tag(name, *(call.form.get(field) for field in _TAG_FIELDS))
    call.region.touch()
    return _show_tag(call.region.tags[name])


def read_tag(call: Call) -> dict[str, Any]:
    """Return one tag."""
    return _show_tag(_tag(call))


def update_tag(call: Call) -> dict[str, Any]:
    """Change a tag."""
    tag = _tag(call)
    call.must_administer()
    for name in _TAG_FIELDS:
        if name in call.form:
            setattr(tag, name, call.form.get(name))
    call.region.touch()
    return _show_tag(tag)


def delete_tag(call: Call) -> Reply:
    """Delete a tag, and remove it from its machines."""
    tag = _tag(call)
    call.must_administer()
    for machine in call.region.machines.values():
        machine.tags = [each for each in machine.tags if each != tag.name]
    del call.region.tags[tag.name]
    call.region.touch()
    return Reply(status=204)


def tagged(call: Call) -> list[Machine]:
    """Return the machines of a tag."""
    name = _tag(call).name
    return [machine for machine in visible(call) if name in machine.tags]


def nothing_tagged(call: Call) -> list[Any]:
    """Return the devices or controllers of a tag: none."""
    _tag(call)
    return []


def update_nodes(call: Call) -> dict[str, int]:
    """Add a tag to machines and remove it from others; unknown ids are ignored."""
    tag, region = _tag(call), call.region
    call.must_administer()
    if tag.definition:
        raise MaasError(400, "Cannot update the machines of a tag that has a definition.")
    added, removed = (
        [region.machines[each] for each in dict.fromkeys(call.form.all(field)) if each in region.machines]
        for field in ("add", "remove")
    )
    for machine in added:
        machine.tags = sorted({*machine.tags, tag.name})
    for machine in removed:
        machine.tags = [each for each in machine.tags if each != tag.name]
    region.touch()
    return {"added": len(added), "removed": len(removed)}


Show = Callable[[Place], dict[str, Any]]


def _create(call: Call, places: dict[str, Place], show: Show) -> dict[str, Any]:
    call.must_administer()
    name = call.form.get("name")
    if not is_place_name(name):
        raise invalid("name", "Invalid entity name.")
    if name in places:
        raise invalid("name", "This name already exists.")
    place = call.region.place_named(places, name)
    place.description = call.form.get("description")
    call.region.touch()
    return show(place)


def read_pools(call: Call) -> list[dict[str, Any]]:
    """Return all pools by name."""
    return [show_pool(pool) for _, pool in sorted(call.region.pools.items())]


def create_pool(call: Call) -> dict[str, Any]:
    """Add a pool."""
    return _create(call, call.region.pools, show_pool)


def _pool(call: Call) -> Place:
    for pool in call.region.pools.values():
        if str(pool.number) == call.path["id"]:
            return pool
    raise MaasError(404, "No ResourcePool matches the given query.")


def read_pool(call: Call) -> dict[str, Any]:
    """Return one pool."""
    return show_pool(_pool(call))


def delete_pool(call: Call) -> Reply:
    """Delete an empty pool."""
    pool = _pool(call)
    return _delete(call, call.region.pools, pool, any(each.pool == pool.name for each in call.region.machines.values()))


def read_zones(call: Call) -> list[dict[str, Any]]:
    """Return all zones by name."""
    return [show_zone(zone) for _, zone in sorted(call.region.zones.items())]


def create_zone(call: Call) -> dict[str, Any]:
    """Add a zone."""
    return _create(call, call.region.zones, show_zone)


def _zone(call: Call) -> Place:
    zone = call.region.zones.get(call.path["name"])
    if zone is None:
        raise MaasError(404, "No Zone matches the given query.")
    return zone


def read_zone(call: Call) -> dict[str, Any]:
    """Return one zone."""
    return show_zone(_zone(call))


def delete_zone(call: Call) -> Reply:
    """Delete an empty zone."""
    zone = _zone(call)
    return _delete(call, call.region.zones, zone, any(each.zone == zone.name for each in call.region.machines.values()))


def _delete(call: Call, places: dict[str, Place], place: Place, used: bool) -> Reply:
    call.must_administer()
    if used or place.name == "default":
        raise MaasError(400, f"{place.name} cannot be deleted: it is the default one, or machines are in it.")
    del places[place.name]
    call.region.touch()
    return Reply(status=204)


TAGS: Operations = {("GET", None): read_tags, ("POST", None): create_tag}
TAG: Operations = {
    ("GET", None): read_tag,
    ("PUT", None): update_tag,
    ("DELETE", None): delete_tag,
    ("GET", "machines"): tagged,
    ("GET", "nodes"): tagged,
    ("GET", "devices"): nothing_tagged,
    ("GET", "rack_controllers"): nothing_tagged,
    ("GET", "region_controllers"): nothing_tagged,
    ("POST", "update_nodes"): update_nodes,
}
POOLS: Operations = {("GET", None): read_pools, ("POST", None): create_pool}
POOL: Operations = {("GET", None): read_pool, ("DELETE", None): delete_pool}
ZONES: Operations = {("GET", None): read_zones, ("POST", None): create_zone}
ZONE: Operations = {("GET", None): read_zone, ("DELETE", None): delete_zone}
