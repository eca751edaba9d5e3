"""What a release has stored of a running step, a later release reads: samples of every version of states and effects.

A file is named ``CLASS.KIND.vVERSION.STAGE.json``. Never change one: a new version gets new files beside the old ones.
"""

import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from typing import Any

from shipyard_api.actions import steps
from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.checks import Check
from shipyard_api.actions.steps.mark_revision import MarkRevision
from shipyard_api.actions.steps.relabel_nodes import RelabelNodes
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.actions.steps.software.software_stage import NoPlan, SoftwareStage
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.actions.steps.teardown.teardown_nodes import TeardownNodes
from shipyard_api.domain.actions import StepId
from shipyard_api.workflow.step import Act, AnyUnit, Done, Failed, Gather, ItemKind, Look, Step, Unit
from tests.unit.actions.steps import rollouts, test_checks, test_mark_revision, test_site_work
from tests.unit.actions.steps.instants import at
from tests.unit.actions.steps.teardown import test_node_teardown, test_teardown_nodes
from tests.unit.tables import every_row

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
STEPS: dict[str, AnyUnit] = {
    BaremetalNodes.__name__: rollouts.STEP,
    Check.__name__: test_checks.check(),
    MarkRevision.__name__: test_mark_revision.STEP,
    RelabelNodes.__name__: RelabelNodes(StepId("relabel_nodes"), None),
    SiteWork.__name__: test_site_work.STEP,
    NodeTeardown.__name__: test_node_teardown.Item().kind,
    SoftwareStage.__name__: SoftwareStage(SOFTWARE, lambda _: NoPlan("no"), TaskItem(None)),
    TaskItem.__name__: TaskItem(None),
    TeardownNodes.__name__: test_teardown_nodes.STEP,
}
# What the step does next in a state of this stage; in any other stage it polls.
NEXT: dict[str, type] = {
    "BaremetalNodes.members-known": Act,
    "BaremetalNodes.kept-nodes": Act,
    "BaremetalNodes.queued": Act,
    "BaremetalNodes.running": Act,
    "BaremetalNodes.no-answer": Act,
    "BaremetalNodes.never-begun": Act,
    "BaremetalNodes.joining": Look,
    "BaremetalNodes.accepting": Act,
    "BaremetalNodes.soaking": Act,
    "BaremetalNodes.late": Act,
    "BaremetalNodes.burn-in": Act,
    "SiteWork.begun": Act,
    "MarkRevision.tagging": Act,
    "NodeTeardown.drain": Act,
    "NodeTeardown.removing-a-member": Act,
    "RelabelNodes.at-work": Act,
    "SoftwareStage.begun": Act,
    "SoftwareStage.v1.planned": Act,
    "SoftwareStage.planned": Gather,
    "SoftwareStage.at-work": Gather,
    "SoftwareStage.parts": Gather,
    "SoftwareStage.older": Gather,
    "TaskItem.begun": Act,
    "TeardownNodes.begun": Gather,
    "TeardownNodes.at-work": Gather,
}


def named(sample: Path) -> tuple[AnyUnit, str, int, str]:
    step, kind, version, stage, _ = sample.name.split(".")
    return STEPS[step], kind, int(version.removeprefix("v")), stage


def read(sample: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(sample.read_text())
    return stored


STATES = [sample for sample in SAMPLES if named(sample)[1] == "state"]
EFFECTS = [sample for sample in SAMPLES if named(sample)[1] == "effect"]
STAGES = {"done": Done, "failed": Failed, "failed-refused": Failed}


@every_row(STATES)
def test_a_stored_state_is_read_and_stored_again_as_it_was(sample: Path) -> None:
    step, _, version, _ = named(sample)
    stored = read(sample)
    assert stored["v"] == version
    written = step.load_state(stored).to_json()
    # A state of an earlier version is stored again in the oldest version that holds all of it.
    assert version <= written["v"] <= step.version
    if version == written["v"]:
        assert json.loads(json.dumps(written)) == stored
        # Columns are JSON, so the order of keys and 5 beside 5.0 count. Samples of NodeTeardown are in another order.
        assert isinstance(step, NodeTeardown) or json.dumps(written) == json.dumps(stored)


@every_row(STATES)
def test_a_step_goes_on_from_a_stored_state(sample: Path) -> None:
    step, _, version, stage = named(sample)
    name = type(step).__name__
    expected = NEXT.get(f"{name}.v{version}.{stage}") or STAGES.get(stage, NEXT.get(f"{name}.{stage}", Look))
    assert isinstance(step.decide(step.load_state(read(sample)), at(100)), expected)


@every_row(EFFECTS)
def test_a_stored_effect_is_read_and_stored_again_as_it_was(sample: Path) -> None:
    step = named(sample)[0]
    assert step.load_effect(read(sample)).to_json() == read(sample)


def test_every_step_has_samples_of_every_version_of_its_state() -> None:
    modules = [importlib.import_module(one.name) for one in pkgutil.walk_packages(steps.__path__, f"{steps.__name__}.")]
    found = {
        name: one
        for module in modules
        for name, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Step | ItemKind) and one.__module__ == module.__name__
    }
    assert set(found) == set(STEPS)
    written = {(name, version) for name, step in found.items() for version in range(1, step.version + 1)}
    assert {(type(step).__name__, version) for step, _, version, _ in map(named, STATES)} == written
    submitting = {name for name, step in found.items() if step.load_effect is not Unit.load_effect}
    assert {type(named(sample)[0]).__name__ for sample in EFFECTS} == submitting
