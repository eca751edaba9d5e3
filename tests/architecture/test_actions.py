"""An action is one module: nothing outside it asks for its name (ADR 0032)."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml

from shipyard_api.actions.action import Action
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName

PACKAGE = Path(__file__).parents[2] / "shipyard_api"
NAMES = {action.name for action in ACTIONS}
VALUES = {name.upper() for name in NAMES}
KEPT = {
    # Node operations have addresses of their own; operators do not create them by name.
    "domain/actions.py": 1,
    "storage/actions.py": 1,
    # Upstream's command line refuses this one action without parameters, in these words (contract: shipyard-cli).
    "cli/commands/actions.py": 1,
    # `shipyard task retry` refuses any other action: its retry would deploy nodes, too.
    "cli/commands/software.py": 1,
}
LISTED = {
    # The status of a cluster follows from these three (contract: fuel-task-graph, 4.5).
    "storage/software.py": 3,
    "domain/actions.py": 2,
}


_OWNERS = ("action", "kind", "NODE_OPERATION")
FLAGS = {name for name, kind in get_type_hints(Action).items() if kind is bool} | {"removes", "takes_nodes"}
ASKED: dict[str, int] = {
    "usecases/actions/control.py": 11,
    "usecases/actions/create.py": 5,
    "usecases/actions/forecast.py": 3,
    "usecases/actions/limits.py": 1,
    "usecases/actions/overview.py": 2,
    "usecases/actions/plan.py": 13,
    "usecases/actions/way_back.py": 3,
    "usecases/drift/observe.py": 1,
    "usecases/node_operations/operate.py": 2,
    "usecases/nodes/check_etcd.py": 1,
    "usecases/software/run_states.py": 2,
}
"""How often a place may ask what an action is; the aim is never."""


def _compared(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield each comparison with the name or the value of an action."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            inside = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            names = [part.value for part in inside if isinstance(part, ast.Constant)]
            values = [part.id for part in inside if isinstance(part, ast.Name)]
            if NAMES.intersection(name for name in names if isinstance(name, str)) or VALUES.intersection(values):
                yield node
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and node.value.value in NAMES:
            yield node


def _written(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield each name of an action that is written as such."""
    for node in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
        is_name = isinstance(node.func, ast.Name) and node.func.id == "ActionName"
        if is_name and any(isinstance(argument, ast.Constant) and argument.value for argument in node.args):
            yield node


def test_nothing_outside_an_action_compares_its_name() -> None:
    compared: dict[str, int] = {}
    written: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith("actions/"):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (*NAMES, *VALUES)):
            continue
        tree = ast.parse(text)
        for found, count in ((compared, sum(1 for _ in _compared(tree))), (written, sum(1 for _ in _written(tree)))):
            if count:
                found[place] = count
    assert compared == KEPT
    assert written == LISTED


def _flags(tree: ast.Module) -> Iterator[str]:
    """Yield each flag of an action that is read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in FLAGS:
            owner = node.value
            of_catalog = isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Name)
            of_case = isinstance(owner, ast.Attribute) and owner.attr == "action"
            if of_catalog or of_case or (isinstance(owner, ast.Name) and owner.id in _OWNERS):
                yield node.attr


def test_few_places_outside_of_actions_ask_for_a_flag() -> None:
    """Make it fewer: a place that asks what an action is decides for it."""
    asked: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.split("/")[0] in ("usecases", "api", "wiring", "workflow", "programs"):
            text = path.read_text(encoding="utf-8")
            if "ction" in text and (count := len([*_flags(ast.parse(text))])):
                asked[place] = count
    assert {place: count for place, count in asked.items() if count > ASKED.get(place, 0)} == {}
    assert {place: count for place, count in ASKED.items() if asked.get(place, 0) < count} == {}, "lower the limits"


def test_an_action_says_what_it_does_to_nodes() -> None:
    assert [action.name for action in ACTIONS if not action.work] == []
    with pytest.raises(TypeError, match="work"):
        Action(name=ActionName("of_tomorrow"), steps=lambda _parts, _inputs: ())  # type: ignore[call-arg]  # on purpose


def test_an_action_has_a_module_of_its_name() -> None:
    modules = {path.stem for path in (PACKAGE / "actions").glob("*.py")}
    assert modules >= {"site_test" if name == "test_site" else name for name in NAMES}
    assert list(PACKAGE.rglob("test_*.py")) == [], "it would be taken for a test"


def test_the_commands_that_create_actions_are_written_in_one_place() -> None:
    """The command line is apart: it imports nothing of ours, and its examples are of its own syntax."""
    command = "shipyard create action"
    written = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py")) if _names(path, command)]
    assert [place for place in written if not place.startswith("cli/")] == ["domain/remedies.py"]


def _names(path: Path, command: str) -> bool:
    return command in path.read_text(encoding="utf-8")


def test_a_policy_may_name_the_actions_for_which_a_rule_has_a_meaning() -> None:
    schema = yaml.safe_load((PACKAGE.parent / "schemas" / "deployment_configuration_v1.yaml").read_text("utf-8"))
    named = schema["$defs"]["policy"]["properties"]["actions"]["items"]["enum"]

    assert sorted(named) == sorted(action.name for action in ACTIONS if action.rules)
    assert [action.name for action in ACTIONS if action.takes_nodes and not action.rules] == []
