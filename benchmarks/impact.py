"""What a change of a design asks of 10,000 servers, as a ratio to rendering it: ``python benchmarks/impact.py``.

The site is fixed: 10,000 nodes below 40 host profiles in chains of three, with hardware profiles, networks, racks
and boot actions. The records are those of a design; the other one differs in a parent of them all, and has just been
rendered. Without a change, the design is the one that is kept in memory since the records were made. Everything is in
memory, in a new process. Exits 1 if the classes take more CPU than one rendering of the design, those of no change more
than a tenth of it, or beyond 250 MB over what the two designs take.
"""

import copy
import hashlib
import resource
import sys
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time
from typing import Any

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.effective import EffectiveDesign
from shipyard_api.domain.specification.given import Given
from shipyard_api.domain.specification.impact import Impact, NodeImpact, counted, impact_of

NODES = 10_000
PROFILES = 40
RACKS = 250
MOST, MOST_UNCHANGED = 1.0, 0.1
MEGABYTES = 250
ROUNDS = 9
Entry = dict[str, Any]


def large_site() -> list[Entry]:
    """Return the entries of the design."""
    entries = [
        {
            "schema": "deckhand/LayeringPolicy/v1",
            "metadata": {"schema": "metadata/Control/v1", "name": "policy"},
            "data": {"layerOrder": ["global", "site"]},
        },
        _document("drydock/HostProfile/v1", "base", _profile()),
        *(
            _document("drydock/HostProfile/v1", f"rack-{number}", {"host_profile": "base", "primary_network": "oam"})
            for number in range(4)
        ),
        *(
            _document(
                "drydock/HostProfile/v1",
                f"profile-{number}",
                {"host_profile": f"rack-{number % 4}", "hardware_profile": f"board-{number % 5}"},
            )
            for number in range(PROFILES)
        ),
        *(
            _document("drydock/HardwareProfile/v1", f"board-{number}", {"vendor": "x", "generation": str(number)})
            for number in range(5)
        ),
        *(
            _document("drydock/Network/v1", name, {"cidr": "10.0.0.0/8", "mtu": 9000, "vlan": "7"})
            for name in ("oob", "oam", "storage")
        ),
        _document("drydock/NetworkLink/v1", "bond0", {"mtu": 9000, "bonding": {"mode": "802.3ad"}}),
        *(
            _document("drydock/BootAction/v1", f"action-{number}", {"assets": [{"type": "file", "data": "x" * 2000}]})
            for number in range(5)
        ),
        _document("drydock/Region/v1", "region", {"authorized_keys": ["k"], "tag_definitions": []}),
        *(_document("drydock/Rack/v1", f"r{number}", {"location": {"grid": "a"}}) for number in range(RACKS)),
    ]
    return [*entries, *(_node(number) for number in range(NODES))]


def _profile() -> Entry:
    return {
        "oob": {"type": "ipmi", "network": "oob", "account": "root"},
        "platform": {"image": "jammy", "kernel": "ga", "kernel_params": {"console": "ttyS1", "quiet": True}},
        "storage": {"physical_devices": {f"disk{number}": {"labels": {"a": "b"}} for number in range(12)}},
        "interfaces": {
            "bond0": {"device_link": "bond0", "slaves": ["nic1", "nic2"], "networks": ["oam", "storage"]},
            "pxe": {"device_link": "pxe", "slaves": ["nic3"], "networks": ["oob"]},
        },
        "metadata": {"owner_data": {f"label-{number}": "enabled" for number in range(20)}},
    }


def _node(number: int) -> Entry:
    address = f"{number // 250}.{number % 250}"
    data = {
        "host_profile": f"profile-{number % PROFILES}",
        "addressing": [
            {"network": name, "address": f"10.{index}.{address}"} for index, name in enumerate(("oob", "oam"))
        ],
        "metadata": {"rack": f"r{number % RACKS}", "tags": ["compute"], "boot_mac": f"{number:012x}"},
    }
    return _document("drydock/BaremetalNode/v1", f"n{number:05}", data)


def _document(schema: str, name: str, data: Entry) -> Entry:
    metadata = {
        "schema": "metadata/Document/v1",
        "name": name,
        "storagePolicy": "cleartext",
        "layeringDefinition": {"abstract": False, "layer": "site"},
    }
    return {"schema": schema, "metadata": metadata, "data": data}


def rendered(entries: list[Entry], revision: int) -> Rendering:
    """Return a design."""
    schemas = DataSchemas()
    documents, findings = parse_documents(entries, schemas)
    assert not findings, findings[:3]
    design, findings = render(
        [StoredDocument(one, Collection("site"), Revision(revision)) for one in documents], schemas
    )
    assert design is not None, findings[:3]
    return design


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work."""
    begun = process_time()
    work()
    return process_time() - begun


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def records_of(design: Rendering) -> Mapping[NodeName, Given]:
    """Return the records of servers that were given a design."""
    effective = EffectiveDesign.of(design, _digest)
    return {node: Given(ActionId(""), Revision(1), effective.digests(node)) for node in design.machines.nodes}


def classes(design: Rendering, records: Mapping[NodeName, Given]) -> Mapping[NodeName, NodeImpact]:
    """Return the class of each node."""
    effective = EffectiveDesign.of(design, _digest)
    return {
        node: impact_of(effective.digests(node), records.get(node), deployed=True, services=True)
        for node in design.machines.nodes
    }


def _main() -> int:
    entries = large_site()
    changed = copy.deepcopy(entries)
    changed[1]["data"]["platform"]["image"] = "noble"
    design, other = rendered(entries, 1), rendered(changed, 2)
    for each in (design, other):
        assert len(each.machines.nodes) == NODES
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    records = records_of(design)
    assert counted(classes(other, records)) == {Impact.REINSTALL: NODES}
    assert counted(classes(design, records)) == {Impact.UNCHANGED: NODES}
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    seconds, parent, none = [], [], []
    for _ in range(ROUNDS):  # beside each other: a machine is not as fast in each second
        seconds.append(cpu(lambda: rendered(entries, 1)))
        other.kept.clear()  # nothing has been read from it yet
        parent.append(cpu(lambda: classes(other, records)) / seconds[-1])
        none.append(cpu(lambda: classes(design, records)) / seconds[-1])
    of_parent, unchanged = median(parent), median(none)
    print(f"{NODES:,} nodes: one rendering takes {median(seconds):.2f} s of CPU")
    print(f"a change in a parent of them all: {of_parent:.2f} of it (at most {MOST:g})")
    print(f"no change: {unchanged:.2f} of it (at most {MOST_UNCHANGED:g})")
    print(f"{after - before} MB beside the designs (at most {MEGABYTES})")
    return int(of_parent > MOST or unchanged > MOST_UNCHANGED or after - before > MEGABYTES)


if __name__ == "__main__":
    sys.exit(_main())
