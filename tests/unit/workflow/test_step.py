"""What a unit does of which it says nothing itself."""

from typing import Any

import pytest

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.steps import StepsSkipped
from shipyard_api.domain.holds import NodeWork
from shipyard_api.workflow.step import Done, Folded, ItemKind, Step, Unit
from tests.unit.tables import every_row

ONE, TWO = StepsSkipped((StepId("one"),)), StepsSkipped((StepId("two"),))


class Plain(Step[Any, Any, Any, Any]):
    """A step without an effect."""

    id = StepId("plain")

    def begin(self, inputs: Any) -> Any:
        return "begun"

    def load_state(self, stored: Any) -> Any:
        return stored

    def decide(self, state: Any, now: Any) -> Done:
        return Done("well")

    def fold(self, state: Any, asked: Any, report: Any, now: Any) -> Folded[Any]:
        return Folded(state)


class PlainItem(ItemKind[Any, Any, Any, Any]):
    """An item without an effect."""

    begin = load_state = lambda self, stored: stored
    decide = Plain.decide  # type: ignore[assignment]
    fold = Plain.fold  # type: ignore[assignment]


NOW: Any = None


@every_row(
    {
        # what the engine asks, the answer
        "marks": (lambda unit: unit.unmarked("effect"), False),
        "search": (lambda unit: unit.find("effect", "m", NOW, None), None),
        "identity": (lambda unit: unit.identity({"of": "effect"}), {"of": "effect"}),
        "notice": (lambda unit: unit.notice("state", None), "state"),
        "nodes": (lambda unit: unit.touches("effect"), ()),
        "work": (lambda unit: unit.work("effect"), NodeWork.OTHER),
        "watch": (lambda unit: unit.watch("state", NOW), None),
        "wait": (lambda unit: unit.awaits("state", "asked"), None),
        "outage": (lambda unit: unit.outage_facts("effect", "why"), ()),
        "leave": (lambda unit: unit.leave("state", "why"), ()),
        "flags": (lambda unit: (unit.version, unit.judges_silence, unit.always), (1, False, False)),
    }
)
def test_a_unit_without_effects_has_nothing_to_look_for_or_to_say(ask: Any, answer: Any) -> None:
    units: list[Unit[Any, Any, Any, Any]] = [Plain(), PlainItem()]
    assert [ask(unit) for unit in units] == [answer, answer]


@every_row(
    [
        (lambda step: step.ask("?"), "Plain asks nothing"),
        (lambda step: step.load_effect({}), "Plain changes nothing"),
        (lambda step: step.perform("effect", "m"), "Plain changes nothing"),
        (lambda step: step.gather("state", (), NOW), "Plain has no work items"),
    ]
)
def test_what_a_step_never_decides_it_need_not_do(ask: Any, why: str) -> None:
    with pytest.raises(NotImplementedError, match=why):
        ask(Plain())


def test_a_step_has_no_items_and_gives_nothing_up() -> None:
    assert (Plain().item_kind, Plain().give_up("why")) == (None, ())


def test_more_facts_follow_those_of_a_state() -> None:
    folded = Folded("state", (ONE,), wait_until=NOW)  # type: ignore[type-var]
    assert folded.after([TWO]) == Folded("state", (ONE, TWO))  # type: ignore[type-var]
