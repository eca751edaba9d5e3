"""Which settings templates want on a node, and how they differ."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.drift.differences import Kind
from shipyard_api.domain.drift.observations import LeftNode
from shipyard_api.domain.drift.settings import of_boards, wanted_settings
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row

N1 = NodeName("n1")
AGAIN = "shipyard create action service_server --param=template=CUSTOM_{} --param=target_nodes=n1"


def sets(template: str, priority: int = 10, step: str = "apply_configuration", **settings: Any) -> TemplateStep:
    args = {"settings": [{"name": name, "value": value} for name, value in settings.items()]}
    return TemplateStep(TraitName(f"CUSTOM_{template}"), DeployStep(Interface.BIOS, step, args, priority))


@every_row(
    [
        ([], {}, []),
        ([sets("A", vt="on")], {"vt": "on", "other": "x"}, []),
        ([sets("A", vt="on", ht=1)], {"vt": "off", "ht": "1"}, [("vt=on", f"vt=off: {AGAIN.format('A')}")]),
        ([sets("A", vt="on")], {}, [("vt=on", f"no vt: {AGAIN.format('A')}")]),
        (
            [sets("A", b="1", a="1"), sets("B", c="1")],
            {"a": "2"},
            [("a=1, b=1", f"a=2, no b: {AGAIN.format('A')}"), ("c=1", f"no c: {AGAIN.format('B')}")],
        ),
        ([sets("LATE", 5, vt="off"), sets("EARLY", 9, vt="on")], {"vt": "off"}, []),
        ([sets("A", 0, vt="on"), sets("B", step="factory_reset", vt="on")], {"vt": "off"}, []),
    ],
)
def test_settings_are_compared_by_template(
    steps: list[TemplateStep], seen: dict[str, str], found: list[tuple[str, str]]
) -> None:
    left = [LeftNode(N1, ActionId("A"), datetime(2026, 1, 1, tzinfo=UTC), None)]
    differences = of_boards(left, wanted_settings({N1: tuple(steps)}), {N1: seen}, Kind.SETTINGS)
    assert [(one.expected, one.seen) for one in differences] == found


@every_row([None, "text", [17], [{"value": "x"}], {}])
def test_other_arguments_want_nothing(settings: Any) -> None:
    step = DeployStep(Interface.BIOS, "apply_configuration", {"settings": settings}, 1)
    assert not any(wanted_settings({N1: (TemplateStep(TraitName("CUSTOM_A"), step),)}).values())


def test_a_node_that_shows_no_settings_is_not_compared() -> None:
    left = [LeftNode(N1, ActionId("A"), datetime(2026, 1, 1, tzinfo=UTC), None)]
    assert of_boards(left, wanted_settings({N1: (sets("A", vt="on"),)}), {}, Kind.SETTINGS) == []
