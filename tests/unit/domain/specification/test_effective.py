"""What a design gives each node: every value counts for one aspect, wherever it is written, and none is forgotten."""

from __future__ import annotations

import copy
import hashlib
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from shipyard_api.domain import deployment_configuration
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.drift import firmware
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.effective import EffectiveDesign
from shipyard_api.domain.specification.given import Given
from shipyard_api.domain.specification.impact import Impact, NodeImpact, impact_of
from shipyard_api.domain.specification.kinds import KINDS, Aspect, Reach, aspect_of, kind_of
from shipyard_api.domain.strategy import strategy
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS
from shipyard_api.yaml_stream import read_documents
from tests.conftest import ROOT, site_file
from tests.designs import POLICY, SCHEMAS
from tests.factories import document
from tests.unit.tables import every_row

SMALL = ROOT / "docs" / "examples" / "small-site.yaml"
Entries = list[dict[str, Any]]


def fingerprint(text: bytes) -> str:
    return hashlib.sha256(b"key" + text).hexdigest()


def rendered(entries: Entries) -> Rendering:
    documents, faults = parse_documents(entries, SCHEMAS)
    assert faults == ()
    design, findings = render([StoredDocument(each, Collection("site"), Revision(1)) for each in documents], SCHEMAS)
    assert findings == ()
    assert design
    return design


def digests(entries: Entries) -> Mapping[NodeName, Mapping[str, str]]:
    design = EffectiveDesign(rendered(entries), fingerprint)
    return {node: design.digests(node) for node in design.machines.nodes}


def differing(before: Entries, after: Entries) -> dict[str, set[str]]:
    """Return the aspects in which each node of two designs differs; nodes that do not are left out."""
    old, new = digests(before), digests(after)
    found = {node: {aspect for aspect in new[node] if new[node][aspect] != old[node][aspect]} for node in new}
    return {str(node): aspects for node, aspects in found.items() if aspects}


NODE, PROFILE, HARDWARE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1", "drydock/HardwareProfile/v1"


def site() -> Entries:
    """Two nodes: n1 inherits from two profiles, n2 from none."""
    return [
        POLICY,
        document(
            PROFILE,
            "base",
            {
                "oob": {"network": "oob", "type": "ipmi", "credential": "secret"},
                "platform": {"image": "jammy", "kernel_params": {"quiet": True}},
                "interfaces": {"bond0": {"device_link": "link", "networks": ["oam"]}},
                "metadata": {"owner_data": {"role": "spare"}},
            },
        ),
        document(PROFILE, "control", {"host_profile": "base", "hardware_profile": "r720", "storage": {"a": 1}}),
        document(HARDWARE, "r720", {"vendor": "x", "hugepages": {"dpdk": {"count": 1}}}),
        document(
            NODE,
            "n1",
            {
                "host_profile": "control",
                "addressing": [{"network": "oob", "address": "10.0.0.1"}, {"network": "oam", "address": "10.1.0.1"}],
                "metadata": {"rack": "r1", "tags": ["a"], "boot_mac": "00:11"},
            },
        ),
        document(NODE, "n2", {"platform": {"image": "noble"}, "metadata": {"rack": "r2"}}),
        *(document("drydock/Network/v1", name, {"mtu": 1500}) for name in ("oob", "oam", "unused")),
        document("drydock/NetworkLink/v1", "link", {"mtu": 9000}),
        document("drydock/Rack/v1", "r1", {"location": {"grid": "a"}}),
        document("drydock/Region/v1", "here", {"authorized_keys": ["k"], "tag_definitions": []}),
        document("drydock/BootAction/v1", "of-n1", {"assets": [], "node_filter": of_nodes("n1")}),
        document("drydock/BootAction/v1", "of-all", {"assets": [{"location": "promenade+http://p/join-scripts"}]}),
        document("promenade/Kubelet/v1", "kubelet", {"images": {"pause": "1"}}),
        document("promenade/EtcdClusters/v1", "etcd", {"clusters": []}),
        document("drydock/Invented/v1", "new", {"anything": 1}),
        document("example/Catalogue/v1", "catalogue", {"anything": 1}),
    ]


def of_nodes(*names: str) -> dict[str, Any]:
    return {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": list(names)}]}


def changed(schema: str, name: str, change: Callable[[Any], None]) -> Entries:
    entries = copy.deepcopy(site())
    (entry,) = [each for each in entries if (each["schema"], each["metadata"]["name"]) == (schema, name)]
    change(entry["data"])
    return entries


def at(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return change


BOTH = ("n1", "n2")


@every_row(
    {
        "the image of a profile": (PROFILE, "base", at("platform", "image", to="noble"), {"n1": "image"}),
        "a kernel parameter": (PROFILE, "base", at("platform", "kernel_params", "quiet", to=False), {"n1": "image"}),
        "a label of a profile": (PROFILE, "base", at("metadata", "owner_data", "role", to="x"), {"n1": "labels"}),
        "the password of a BMC": (PROFILE, "base", at("oob", "credential", to="new"), {}),
        "the kind of a BMC": (PROFILE, "base", at("oob", "type", to="redfish"), {"n1": "hardware"}),
        "a disk": (PROFILE, "control", at("storage", "a", to=2), {"n1": "storage"}),
        "a field that is new": (PROFILE, "control", at("invented", to=2), {"n1": "other"}),
        "metadata that is new": (NODE, "n2", at("metadata", "invented", to=2), {"n2": "other"}),
        "a board": (HARDWARE, "r720", at("vendor", to="y"), {"n1": "hardware"}),
        "huge pages": (HARDWARE, "r720", at("hugepages", "dpdk", "count", to=2), {"n1": "image"}),
        "the address of a BMC": (NODE, "n1", at("addressing", 0, "address", to="10.0.0.9"), {"n1": "hardware"}),
        "an address": (NODE, "n1", at("addressing", 1, "address", to="10.1.0.9"), {"n1": "network"}),
        "a MAC": (NODE, "n1", at("metadata", "boot_mac", to="00:22"), {"n1": "hardware"}),
        "a tag": (NODE, "n1", at("metadata", "tags", to=["b"]), {"n1": "placement"}),
        "the image of a node": (NODE, "n2", at("platform", "image", to="jammy"), {"n2": "image"}),
        "a network": ("drydock/Network/v1", "oam", at("mtu", to=9000), {"n1": "network"}),
        "the network of the BMC": ("drydock/Network/v1", "oob", at("mtu", to=9000), {}),
        "a network that no node is in": ("drydock/Network/v1", "unused", at("mtu", to=9000), {}),
        "a link": ("drydock/NetworkLink/v1", "link", at("mtu", to=1500), {"n1": "network"}),
        "a rack": ("drydock/Rack/v1", "r1", at("location", "grid", to="b"), {"n1": "placement"}),
        "a key": ("drydock/Region/v1", "here", at("authorized_keys", to=[]), dict.fromkeys(BOTH, "boot")),
        "tags by hardware": (
            "drydock/Region/v1",
            "here",
            at("tag_definitions", to=[{"tag": "t"}]),
            dict.fromkeys(BOTH, "placement"),
        ),
        "a boot action": ("drydock/BootAction/v1", "of-n1", at("assets", to=[{"path": "/x"}]), {"n1": "boot"}),
        "the nodes of one": (
            "drydock/BootAction/v1",
            "of-n1",
            at("node_filter", to=of_nodes("n2")),
            dict.fromkeys(BOTH, "boot"),
        ),
        "one that no filter we know bounds": (
            "drydock/BootAction/v1",
            "of-n1",
            at("node_filter", "filter_set", to="all"),
            {"n2": "boot"},
        ),
        "what joins the cluster": (
            "promenade/Kubelet/v1",
            "kubelet",
            at("images", "pause", to="2"),
            dict.fromkeys(BOTH, "boot"),
        ),
        "etcd's address": ("promenade/EtcdClusters/v1", "etcd", at("clusters", to=[{"name": "x"}]), {}),
        "a kind that is new": ("drydock/Invented/v1", "new", at("anything", to=2), dict.fromkeys(BOTH, "other")),
        "a source of values": ("example/Catalogue/v1", "catalogue", at("anything", to=2), {}),
    }
)
def test_a_change_is_of_one_aspect(
    schema: str, name: str, change: Callable[[Any], None], aspects: Mapping[str, str]
) -> None:
    assert differing(site(), changed(schema, name, change)) == {node: {aspect} for node, aspect in aspects.items()}


def test_documents_that_actions_read_reach_no_node() -> None:
    schemas = (deployment_configuration.SCHEMA, strategy.SCHEMA, firmware.SCHEMA, ETCD_CLUSTERS)
    assert {kind_of(schema).reach for schema in schemas} == {Reach.ACTIONS}


def test_a_rack_has_a_document_of_its_own() -> None:
    assert differing(site(), changed(NODE, "n1", at("metadata", "rack", to="r9"))) == {"n1": {"placement"}}


def test_a_value_that_moves_to_a_parent_changes_nothing() -> None:
    entries = changed(PROFILE, "base", at("storage", to={"a": 1}))
    assert differing(site(), entries) == {}
    (control,) = [each for each in entries if each["metadata"]["name"] == "control"]
    del control["data"]["storage"]
    assert differing(site(), entries) == {}
    # Another name of the same profile is no change; another content is.
    renamed = changed(HARDWARE, "r720", lambda _: None)
    for each in renamed:
        if each["metadata"]["name"] == "r720":
            each["metadata"]["name"] = "r730"
        if each["metadata"]["name"] == "control":
            each["data"]["hardware_profile"] = "r730"
    assert differing(site(), renamed) == {}


def test_a_secret_counts_by_its_keyed_digest() -> None:
    def secret(entries: Entries) -> Entries:
        for each in entries:
            if each["metadata"]["name"] == "base":
                each["metadata"]["storagePolicy"] = "encrypted"
        return entries

    plain, hidden = digests(site()), digests(secret(site()))
    assert {
        aspect for aspect in plain[NodeName("n1")] if plain[NodeName("n1")][aspect] != hidden[NodeName("n1")][aspect]
    } == {
        "hardware",
        "image",
        "network",
    }
    design = EffectiveDesign(rendered(secret(site())), fingerprint)
    values = design.values(NodeName("n1"))
    assert values[Aspect.IMAGE]["platform.image"].secret
    assert values[Aspect.IMAGE]["platform.image"].place.path == "/data/platform/image"
    assert not values[Aspect.STORAGE]["storage.a"].secret


def test_the_edit_of_the_how_to_gives_nine_reinstallations() -> None:
    page = (ROOT / "docs" / "howto" / "review-a-change.md").read_text("utf-8")
    (edit,) = re.findall(r"^(sed .*) >/tmp/changed-site\.yaml$", page, re.MULTILINE)
    edited = subprocess.run(["sh", "-euc", edit], cwd=ROOT, capture_output=True, check=True).stdout
    before, after = (digests(list(read_documents(raw))) for raw in (SMALL.read_bytes(), edited))
    found = {
        impact_of(wanted, Given(ActionId(""), None, before[node]), deployed=True, services=True)
        for node, wanted in after.items()
    }
    assert (len(after), found) == (9, {NodeImpact(Impact.REINSTALL, ("image",))})


@cache
def real(name: str) -> Entries:
    return list(read_documents(site_file(name).read_bytes()))


@every_row({"seaworthy": "seaworthy.yaml", "airsloop": "airsloop.yaml", "airskiff": "airskiff.yaml"})
def test_every_field_of_the_kinds_of_a_real_site_has_an_aspect(name: str) -> None:
    schemas = {
        each["metadata"]["name"]: each["data"] for each in real(name) if each["schema"] == "deckhand/DataSchema/v1"
    }
    ours = {kind: data for kind, data in schemas.items() if kind.startswith("drydock/")}
    assert ours.keys() <= KINDS.keys()
    unknown = []
    for kind, data in ours.items():
        for field, inner in data["properties"].items():
            fields = [(field, each) for each in inner.get("properties", {})] if field == "metadata" else [(field,)]
            unknown += [(kind, path) for path in fields if aspect_of(kind_of(kind), path) is Aspect.OTHER]
    assert unknown == []
