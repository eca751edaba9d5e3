"""One class a node, by what differs and by what the provisioner shows."""

from collections.abc import Collection

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import ALL_STEPS, DESIGN, Given, once
from shipyard_api.domain.specification.impact import Impact, NodeImpact, class_of, counted, impact_of
from shipyard_api.domain.specification.kinds import Aspect
from tests.unit.tables import every_row

RECORD = Given(ActionId("a"), Revision(1), {"image": "1", "labels": "1", DESIGN: ""}, {"labels": 3})


@every_row(
    {
        "not in the design": (None, RECORD, True, Impact.LEAVES, ()),
        "no record and no server": ({"image": "1"}, None, False, Impact.NEW, ()),
        "the machine is gone": ({"image": "1"}, RECORD, False, Impact.NEW, ()),
        "a server without a record": ({"image": "1"}, None, True, Impact.UNKNOWN, ()),
        "nothing differs": ({"image": "1", "labels": "1", DESIGN: "x"}, RECORD, True, Impact.UNCHANGED, ()),
        "labels": ({"image": "1", "labels": "2"}, RECORD, True, Impact.RELABEL, ("labels",)),
        "tasks, of a server without any": ({"software": "1"}, RECORD, True, Impact.SOFTWARE, ("software",)),
        "no tasks, as before": ({"software": ""}, RECORD, True, Impact.UNCHANGED, ()),
        "an aspect that the record lacks": ({"other": "2"}, RECORD, True, Impact.REINSTALL, ("other",)),
    }
)
def test_the_class_follows_from_design_record_and_provisioner(
    wanted: dict[str, str] | None, record: Given | None, deployed: bool, impact: Impact, aspects: tuple[str, ...]
) -> None:
    assert impact_of(wanted, record, deployed=deployed, services=True) == NodeImpact(impact, aspects)


@every_row(
    {
        "nothing": ((), Impact.UNCHANGED),
        "labels": (("labels", "placement"), Impact.RELABEL),
        "placement": (("placement",), Impact.RELABEL),
        "software": (("software", "labels"), Impact.SOFTWARE),
        "steps": (("steps:CUSTOM_BIOS", "labels", "software"), Impact.SERVICE),
        "steps and an image": (("steps:CUSTOM_BIOS", "image"), Impact.REINSTALL),
        "a machine": (("hardware", "image", "labels"), Impact.REPLACE),
        **{
            aspect.value: ((aspect.value,), Impact.REINSTALL)
            for aspect in (Aspect.IMAGE, Aspect.STORAGE, Aspect.NETWORK, Aspect.BOOT, Aspect.OTHER)
        },
        "what nobody knows": (("invented",), Impact.REINSTALL),
    }
)
def test_the_class_follows_from_the_aspects(aspects: Collection[str], impact: Impact) -> None:
    assert class_of(aspects, services=True) is impact


BIOS, ONCE, GONE = "steps:CUSTOM_BIOS", "once:CUSTOM_BIOS", "gone:steps:CUSTOM_BIOS"


@every_row(
    {
        "chosen still": ({BIOS: "1"}, {ALL_STEPS: "", BIOS: "1"}, Impact.UNCHANGED, ()),
        "chosen no more": ({BIOS: "1"}, {ALL_STEPS: ""}, Impact.REINSTALL, (GONE,)),
        "nobody asked": ({BIOS: "1"}, {}, Impact.UNCHANGED, ()),
        "chosen now": ({}, {ALL_STEPS: "", BIOS: "1"}, Impact.SERVICE, (BIOS,)),
        "another one": (
            {BIOS: "1"},
            {ALL_STEPS: "", "steps:CUSTOM_NIC": "1"},
            Impact.REINSTALL,
            (GONE, "steps:CUSTOM_NIC"),
        ),
        "a service ran it": ({ONCE: "1"}, {ALL_STEPS: ""}, Impact.UNCHANGED, ()),
        "a service ran it, and it is chosen now": ({ONCE: "1"}, {ALL_STEPS: "", BIOS: "1"}, Impact.UNCHANGED, ()),
        "a service ran another version": ({ONCE: "1"}, {ALL_STEPS: "", BIOS: "2"}, Impact.SERVICE, (BIOS,)),
        "all tasks are gone": ({"software": "1"}, {"software": ""}, Impact.SOFTWARE, ("software",)),
    }
)
def test_what_vanished_is_a_change(
    given: dict[str, str], wanted: dict[str, str], impact: Impact, aspects: tuple[str, ...]
) -> None:
    record = Given(ActionId("a"), Revision(1), given)
    assert impact_of(wanted, record, deployed=True, services=True) == NodeImpact(impact, aspects)


def test_a_service_counts_for_the_design_where_that_chose_its_template() -> None:
    aspects = {BIOS: "1", "steps:CUSTOM_NIC": "2"}
    assert once(aspects, ["steps:CUSTOM_NIC"]) == {ONCE: "1", "steps:CUSTOM_NIC": "2"}


def test_steps_take_a_reinstallation_where_they_only_run_at_a_deployment() -> None:
    assert class_of(("steps:CUSTOM_BIOS",), services=False) is Impact.REINSTALL


def test_classes_are_counted_in_their_order() -> None:
    nodes = {NodeName(name): NodeImpact(impact) for name, impact in (("a", Impact.REINSTALL), ("b", Impact.NEW))}
    assert list(counted(nodes).items()) == [(Impact.NEW, 1), (Impact.REINSTALL, 1)]


def test_an_aspect_that_came_later_has_its_own_revision() -> None:
    assert [RECORD.revision_of(aspect) for aspect in ("image", "labels")] == [1, 3]
