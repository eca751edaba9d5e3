"""Translation to MAAS and back, and the tags that stand for jobs."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shipyard_api.adapters.maas import job_tags, translate
from shipyard_api.adapters.maas.decisions import Verb
from shipyard_api.adapters.maas.translate import Erase, MachineOptions
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, Marker, Operation, Wipe, Work
from tests.unit.tables import every_row

NOW = datetime(2026, 3, 2, 9, 11, 8, tzinfo=UTC)
FOUND: dict[str, Any] = {
    "system_id": "d8n3re",
    "hostname": "Node01",
    "status": 11,
    "status_name": "Failed deployment",
    "status_message": "Deploying - no image",
    "owner": "shipyard",
    "locked": False,
    "power_state": "error",
    "tag_names": ["control"],
    "error_description": "",
}


def work(operation: Operation = Operation.PREPARE_NODES, *names: str, **values: Any) -> Work:
    return Work(operation, values.pop("design", "revision:3"), tuple(map(NodeName, names)) or None, **values)


# Requests

REQUESTS = [
    (Verb.COMMISSION, MachineOptions(), "commission", {}),
    (Verb.OVERRIDE_TESTS, MachineOptions(), "override_failed_testing", {}),
    (Verb.RELEASE, MachineOptions(erase=Erase.FULL), "release", {}),
    (Verb.ERASE, MachineOptions(), "release", {"erase": "true"}),
    (
        Verb.ERASE,
        MachineOptions(erase=Erase.SECURE),
        "release",
        dict.fromkeys(("erase", "secure_erase", "quick_erase"), "true"),
    ),
    (Verb.ERASE, MachineOptions(erase=Erase.FULL), "release", {"erase": "true"}),
    (Verb.RUN_SCRIPTS, MachineOptions(), "commission", {"skip_networking": "1", "skip_storage": "1"}),
    (Verb.COMMISSION, MachineOptions(), "commission", {}),
    (Verb.ABORT, MachineOptions(), "abort", {}),
    (Verb.POWER_OFF, MachineOptions(), "power_off", {}),
    (Verb.DEPLOY, MachineOptions(), "deploy", {}),
    (
        Verb.DEPLOY,
        MachineOptions(distro_series="jammy", hwe_kernel="ga"),
        "deploy",
        {"distro_series": "jammy", "hwe_kernel": "ga"},
    ),
]


@every_row(REQUESTS)
def test_each_operation_has_its_form(
    verb: Verb, options: MachineOptions, operation: str, fields: dict[str, str]
) -> None:
    assert translate.request(verb, "m1", options) == (operation, [("comment", "Shipyard job m1"), *fields.items()])


def test_cloud_init_is_sent_as_maas_wants_it_and_never_shown() -> None:
    options = MachineOptions(user_data="#cloud-config\npassword: ü\n", comment="by night")
    fields = dict(translate.request(Verb.DEPLOY, "m1", options)[1])
    assert base64.b64decode(fields["user_data"]).decode() == options.user_data
    assert fields["comment"] == "by night"
    assert "password" not in repr(options)


@every_row([Operation.RELABEL_NODES, Operation.REBUILD_NODES, Operation.SERVICE_NODES])
def test_work_that_maas_cannot_do_is_refused(operation: Operation) -> None:
    with pytest.raises(Refused, match=r"MAAS (knows no labels|cannot rebuild|runs no steps on deployed)"):
        translate.check_work(work(operation, "n1"), Marker("m1"))


def test_steps_are_taken_with_a_deployment_if_maas_has_them() -> None:
    scripts = {NodeName("n1"): [DeployStep(Interface.MANAGEMENT, "run_commissioning_scripts", {}, 200)]}
    raid = {NodeName("n1"): [DeployStep(Interface.RAID, "apply_configuration", {}, 110)]}
    translate.check_work(work(Operation.DEPLOY_NODES, "n1", steps=scripts), Marker("m1"))
    with pytest.raises(Refused, match=r"n1: MAAS does not run raid\.apply_configuration"):
        translate.check_work(work(Operation.DEPLOY_NODES, "n1", steps=raid), Marker("m1"))
    with pytest.raises(Refused, match="before it deploys them"):
        translate.check_work(work(Operation.PREPARE_NODES, "n1", steps=scripts), Marker("m1"))


@every_row([one for one in Operation if one.value not in ("relabel_nodes", "rebuild_nodes", "service_nodes")])
def test_work_names_nodes_where_they_belong_and_nowhere_else(operation: Operation) -> None:
    of_site = operation in (Operation.VERIFY_SITE, Operation.PREPARE_SITE)
    translate.check_work(work(operation, *(() if of_site else ("n1",))), Marker("m1"))
    wrong = (NodeName("n1"),) if of_site else None
    with pytest.raises(Refused):
        translate.check_work(Work(operation, "revision:1", wrong), Marker("m1"))
    with pytest.raises(Refused):
        translate.check_work(Work(operation, "revision:1", ()), Marker("m1"))


@every_row(["", "17", "revision:", "revision:-1", "revision:1.5", "revision:²", "http://d/1"])
def test_the_address_of_no_revision_is_refused(design: str) -> None:
    assert translate.revision(translate.design_reference(17)) == 17
    with pytest.raises(Refused):
        translate.revision(design)


# Marks


JOBS = ("7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3", "a b", "deploy:a", "", "x" * 500, "j", "j-stopped", "ü", "a:b", "a")
TAGS = (job_tags.job_tag, job_tags.stop_tag, job_tags.scripts_tag, job_tags.begun_tag, job_tags.on_tag)


def test_each_job_has_tags_of_its_own_that_maas_accepts() -> None:
    tags = [tag(job) for job in (*JOBS, "j-scripts", "j-begun", "j-on") for tag in TAGS]
    assert len(set(tags)) == len(tags)
    for tag in tags:
        assert tag.startswith("shipyard-")
        assert len(tag) <= 256
        assert all(char.isascii() and (char.isalnum() or char in "_-") for char in tag)


def test_a_record_is_read_as_it_was_written() -> None:
    mine = work(Operation.DESTROY_NODES, "n1", "n2")
    record = job_tags.read_record(job_tags.record_text(mine, NOW, ["n1", "n2"]))
    assert record == job_tags.Record(job_tags.fingerprint(mine), NOW, "n1, n2", operation="destroy_nodes")
    after = job_tags.read_record(job_tags.record_text(mine, NOW, ["n1"], newest=7))
    assert (after.newest, after.unerased) == (7, "n1")
    plain = job_tags.read_record(job_tags.record_text(mine, NOW + timedelta(microseconds=5)))
    assert plain == job_tags.Record(job_tags.fingerprint(mine), NOW, operation="destroy_nodes")
    many = job_tags.read_record(job_tags.record_text(work(), NOW, [f"n{number}" for number in range(2000)]))
    assert many.unerased.endswith("n49 and 1950 more")


@every_row(["", "of somebody else", "Shipyard x at yesterdayZ, work 0123456789abcdef"])
def test_a_comment_of_somebody_else_is_no_record(comment: str) -> None:
    assert job_tags.read_record(comment) is None


def test_different_work_has_different_fingerprints() -> None:
    different = [
        work(),
        work(Operation.PREPARE_NODES, "n1"),
        work(Operation.PREPARE_NODES, "n1", "n2"),
        work(Operation.DEPLOY_NODES, "n1"),
        work(Operation.PREPARE_NODES, "n1", design="revision:4"),
        work(Operation.DESTROY_NODES, "n1"),
        work(Operation.DESTROY_NODES, "n1", wipe=Wipe.OS_DISK_ONLY),
    ]
    assert len(set(map(job_tags.fingerprint, different))) == len(different)
    assert job_tags.fingerprint(work(Operation.PREPARE_NODES, "n2", "n1", "n2")) == job_tags.fingerprint(different[2])


def test_only_old_tags_of_other_jobs_are_stale() -> None:
    old, older = (job_tags.record_text(work(), NOW - timedelta(days=days)) for days in (8, 9))
    tags = {
        "shipyard-old": old,
        "shipyard-older-stopped": older,
        "shipyard-new": job_tags.record_text(work(), NOW),
        "shipyard-of-that-moment": job_tags.record_text(work(), NOW - timedelta(days=7)),
        "shipyard-mine": old,
        "shipyard-mine-stopped": old,
        "shipyard-by-hand": "keep me",
        "control": old,
    }
    stale = job_tags.stale_tags(tags, before=NOW - timedelta(days=7), spared=JobId("mine"))
    assert stale == ["shipyard-older-stopped", "shipyard-old"]


# Machines


def test_a_machine_is_read_whatever_it_lacks_but_its_id_and_status() -> None:
    machine = translate.read_machine(FOUND)
    assert (machine.system_id, machine.hostname, machine.status) == ("d8n3re", "node01", 11)
    assert (machine.label, machine.owner, machine.locked) == ("Failed deployment", "shipyard", False)
    assert (machine.power, machine.tags) == ("error", frozenset({"control"}))
    assert machine.notes == ("Deploying - no image",)
    for missing in (None, {}, []):
        machine = translate.read_machine(dict.fromkeys(FOUND, missing) | {"system_id": "x", "status": 4})
        assert (machine.owner, machine.power, machine.tags, machine.notes) == ("", "unknown", frozenset(), ())
        assert machine.label == "in status 4"
    for key in ("system_id", "status"):
        with pytest.raises(Unavailable):
            translate.read_machine(FOUND | {key: None})


def test_machines_of_one_name_are_kept_apart_and_one_that_is_listed_twice_is_one() -> None:
    entries = [FOUND | {"system_id": name, "hostname": host} for name, host in (("a", "N"), ("b", "n"), ("a", "n"))]
    found = translate.by_hostname([*entries, FOUND])
    assert {name: [one.system_id for one in alike] for name, alike in found.items()} == {
        "n": ["a", "b"],
        "node01": ["d8n3re"],
    }


@every_row([("on", "on"), ("off", "off"), ("unknown", "unknown"), ("error", "unknown"), (None, "unknown")])
def test_a_condition_is_what_maas_says(state: str | None, power: str) -> None:
    machine = translate.read_machine(FOUND | {"power_state": state})
    found = ObservedMachine("node01", "Failed deployment", power, MachineState.INSTALLING, machine.system_id)
    assert translate.condition(machine) == found
    again = translate.read_machine(FOUND | {"current_installation_result_id": 22})
    assert translate.condition(again).installed == "installation 22"


def test_a_reason_is_one_line_without_secrets() -> None:
    found = FOUND | {
        "status_message": "ipmi://root:hunter2@10.1.0.5\n failed",
        "error_description": "power_pass=hunter2",
    }
    event = {
        "level": "ERROR",
        "created": "Mon, 02 Mar. 2026 09:11:08",
        "description": 'ipmipower -P hunter2: "password": "hunter2"',
    }
    told = translate.reason(translate.read_machine(found), "it is Failed deployment", event)
    assert told.startswith("node01: it is Failed deployment; ipmi://…@10.1.0.5 failed; power_pass=…; ERROR of Mon, 02")
    assert "hunter2" not in told
    assert "\n" not in told


def test_an_event_that_says_the_same_is_not_repeated() -> None:
    machine = translate.read_machine(FOUND)
    event = {"level": "ERROR", "created": "today", "description": "Deploying - no image"}
    assert translate.reason(machine, "why", event) == "node01: why; Deploying - no image"
    assert translate.reason(machine, "why", {"type": "Failed", "level": "ERROR", "created": "t"}).endswith("Failed")


# Designs and sites


def inventory(*names: str) -> Inventory:
    return Inventory.of(Node(NodeName(name)) for name in names)


def test_machines_that_may_be_enlisted_later_are_only_a_warning() -> None:
    assert translate.findings(inventory("n1", "N2"), {"n1", "n2", "n3"}) == ()
    names = [f"n{number:02}" for number in range(12)]
    [finding] = translate.findings(inventory("known", *names), {"known"})
    assert (finding.name, finding.level, finding.source) == ("NodeNotInProvisioner", Level.WARNING, "MAAS")
    assert finding.message == f"12 of 13 nodes are not enlisted in MAAS: {', '.join(names[:10])} and 2 more"
    assert [document.name for document in finding.documents] == names[:10]
    [finding] = translate.findings(inventory(*names[:10]), ())
    assert finding.message.endswith(f"enlisted in MAAS: {', '.join(names[:10])}")


@every_row(["n_1", "-n1", "n1-", "n1.site", "n" * 64, "ñ", "n 1"])
def test_a_name_that_no_machine_can_have_breaks_a_limit(name: str) -> None:
    assert not translate.LIMITS.accepts(name)
    assert translate.findings(inventory(name), set()) == ()
    assert all(map(translate.LIMITS.accepts, ("n1", "N-1", "n" * 63)))
    assert translate.LIMITS.ignores_case


ADMIN = {"username": "shipyard", "is_superuser": True}
IMAGES = [{"name": "ubuntu/jammy"}, {"name": "custom/golden"}]
RACK = {"service_set": [{"name": "http", "status": "off"}, {"name": "rackd", "status": "running"}]}
DEAD = {"service_set": [{"name": "rackd", "status": "dead"}]}
SITES: list[tuple[str, dict[str, Any], str]] = [
    ("a site that works", {}, ""),
    ("an image by its short name", {"distro_series": "jammy"}, ""),
    ("an image by its long name", {"distro_series": "ubuntu/jammy"}, ""),
    ("an image of one's own", {"distro_series": "golden"}, ""),
    ("images are not told", {"images": None, "distro_series": "jammy"}, ""),
    ("a rack that says nothing", {"racks": [{}]}, ""),
    ("a rack that works a little", {"racks": [{"service_set": [{"name": "rackd", "status": "degraded"}]}]}, ""),
    ("a rack of unknown status", {"racks": [{"service_set": [{"name": "rackd", "status": "unknown"}]}]}, ""),
    ("one rack of two", {"racks": [DEAD, RACK]}, ""),
    ("no administrator", {"user": {"username": "bob"}}, "bob is no administrator"),
    ("no images", {"images": []}, "no boot images"),
    ("another image", {"distro_series": "noble"}, "no boot image of 'noble', only of custom/golden, ubuntu/jammy"),
    ("no racks", {"racks": []}, "none of MAAS's 0 rack controllers"),
    ("dead racks", {"racks": [DEAD]}, "none of MAAS's 1 rack controllers is connected"),
]


@every_row([site[1:] for site in SITES])
def test_what_keeps_a_site_from_deploying_is_named(values: dict[str, Any], told: str) -> None:
    faults = translate.site_faults(**{"user": ADMIN, "images": IMAGES, "racks": [RACK], "distro_series": "", **values})
    assert bool(faults) == bool(told)
    assert told in "; ".join(faults)
