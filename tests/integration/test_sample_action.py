"""A further action is one value beside its steps: everything else follows from it (ADR 0032)."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.actions.action import Action, Case, Desk, Parts
from shipyard_api.actions.admission import committed, design_sound, on_targets
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.error_kinds import ErrorKind, ShipyardError
from shipyard_api.domain.errors import InvalidParameters, UnknownNodes
from shipyard_api.domain.findings import Finding, error, info
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import FORCED, TARGETS, Parameter, Parameters
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.describe import ListActions, ListQuery
from shipyard_api.usecases.callers import Caller
from shipyard_api.workflow.step import AnyStep
from tests import world as worlds_of
from tests.conftest import ROOT
from tests.integration.test_deploy_site import run
from tests.refusals import refuses
from tests.world import Checkpoints, World

ANN = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))


class Greeting(Parameters, frozen=True, kw_only=True):
    words: str = ""


class Greetings(ActionInputs, frozen=True, kw_only=True):
    words: str = ""


def _polite(case: Case, _: Desk) -> Case:
    assert isinstance(case.parameters, Greeting)
    words = case.parameters.words
    if words.isupper():
        return case.refused(InvalidParameters([error("Shouted", "Greet nodes in lower case.")]))
    return case.having(words=words)


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    def greet(_revision: int) -> Sequence[Finding]:
        assert isinstance(inputs, Greetings)
        return [info("Greeted", f"{inputs.words} {', '.join(inputs.targets)}")]

    return (parts.site.check(StepId("greet"), greet),)


# What an author of an action writes, beside its schema, its policy row and its page.
GREET = Action(
    name=ActionName("greet_nodes"),
    work={NodeWork.OTHER},
    frozen=Greetings,
    steps=_steps,
    parameters=(FORCED, TARGETS, Parameter("words", ("words",), lambda given, _: str(given.get("words", "hello")))),
    parsed=Greeting,
    admission=(committed, design_sound, on_targets, _polite),
    reads=DesignRules.read_configuration,
)


@pytest.fixture
def greeting(worlds: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    (tmp_path / "schemas" / "actions" / "greet_nodes.yaml").write_text("type: object\n", encoding="utf-8")
    monkeypatch.setattr(worlds_of, "SCHEMAS", SchemaFiles(tmp_path / "schemas"))
    # The line in the catalog.
    monkeypatch.setitem(ACTIONS.by_name, GREET.name, GREET)
    return lambda **parameters: worlds(name=GREET.name, parameters=parameters)


def test_a_further_action_is_created_run_listed_and_retried(greeting: Callable[..., World]) -> None:
    world = greeting(target_nodes="n1,n2", words="good morning")

    assert run(world) == {"greet": ("success", "good morning n1, n2")}
    (found,), more = ListActions(world.store(), world.clock)(ListQuery())
    assert (found.name, found.parameters["words"], more) == (GREET.name, "good morning", False)
    assert ACTIONS.targets(found.name, found.parameters) == (NodeName("n1"), NodeName("n2"))
    control = ControlAction(world.store(), world.definitions(Checkpoints()), lambda: "1" * 26)
    retry = control.plan_retry(world.action, force=False)
    assert (isinstance(retry.inputs, Greetings) and retry.inputs.words, retry.kept) == ("good morning", ())


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        pytest.param({"target_nodes": "n1", "words": "HELLO"}, InvalidParameters, id="its own check"),
        pytest.param({"target_nodes": "n9"}, UnknownNodes, id="a shared check"),
        pytest.param({"target_nodes": "n1", "force": "perhaps"}, InvalidParameters, id="a shared parameter"),
    ],
)
def test_its_checks_refuse_it(
    greeting: Callable[..., World], parameters: dict[str, Any], refusal: ErrorKind[..., ShipyardError]
) -> None:
    with refuses(refusal):
        greeting(**parameters)


def test_an_action_of_another_release_has_no_property_but_its_name() -> None:
    unknown = ACTIONS[ActionName("of_tomorrow")]
    assert (unknown.name, unknown.listed, unknown.exclusive, unknown.reads) == ("of_tomorrow", False, False, None)
    assert ACTIONS.targets(unknown.name, {"target_nodes": "n1"}) == ()
