"""The checker of histories: a right one passes, and each planted fault is found on its line."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import check_history
from tests.conftest import ROOT
from tests.histories.made import GROUPS, HEADER, Line, Made, right, text

CHECKER = ROOT / "check_history.py"


def checked(tmp_path: Path, content: str) -> tuple[int, str]:
    """Return the exit code of the command, and what it printed."""
    file = tmp_path / "history.jsonl"
    file.write_text(content, "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "check_history", file.name],
        env={"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def found(tmp_path: Path, lines: list[Line]) -> list[tuple[int, str]]:
    """Return the line and the name of each rule that is broken."""
    file = tmp_path / "history.jsonl"
    file.write_text(text(lines), "utf-8")
    history = check_history.read(file)
    return sorted((line, rule.__name__) for rule in check_history.RULES for line, _ in rule(history))


def test_a_right_history_passes(tmp_path: Path) -> None:
    code, printed = checked(tmp_path, text(right().lines))
    assert (code, printed) == (0, f"history.jsonl: {len(right().lines) + 1} entries, 7 effects: all 11 rules hold\n")


def test_the_checker_is_one_file_of_the_standard_library() -> None:
    tree = ast.parse(CHECKER.read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names
    assert CHECKER.read_text("utf-8").count("\n") <= 300


def first(made: Made, operation: str, kind: str = "", **fields: object) -> Line:
    """Return the first entry with these fields."""
    return next(
        one
        for one in made.lines
        if one["operation"] == operation and one["type"].startswith(kind) and fields.items() <= one.items()
    )


def after(made: Made, before: Line, **changes: object) -> Line:
    """Put a copy of an entry with these changes right behind it."""
    copy = {**before, **changes}
    made.lines.insert(made.lines.index(before) + 1, copy)
    return copy


def moved(made: Made, line: Line, behind: Line) -> Line:
    made.lines.remove(line)
    made.lines.insert(made.lines.index(behind) + 1, line)
    line["time"] = behind["time"]
    return line


def a_row_twice(made: Made) -> Line:
    return after(made, first(made, "prepare", "ok", process="maas"))


def a_row_of_the_journal_lost(made: Made) -> Line:
    made.lines.remove(first(made, "node"))
    return [one for one in made.lines if one["operation"] == "reading"][1]


def a_line_of_the_peer_lost(made: Made) -> Line:
    made.lines.remove(first(made, "deploy", "ok", process="maas", nodes=["n2"]))
    return first(made, "deploy", "invoke")


def a_reading_that_forgets(made: Made) -> Line:
    reading = [one for one in made.lines if one["operation"] == "reading"][3]
    reading["value"] = {"source": "journal", "ids": "1-2,4-5"}
    return reading


def a_row_that_nobody_read(made: Made) -> Line:
    return after(made, made.row("journal", "info"), journal=made.rows["journal"] + 7)


def an_epoch_that_goes_down(made: Made) -> Line:
    row = first(made, "node", epoch=3)
    row["epoch"] = 2
    return row


def a_marker_for_two_effects(made: Made) -> Line:
    row = first(made, "deploy", "invoke", epoch=4)
    row["marker"] = first(made, "prepare", "invoke")["marker"]
    return row


def an_effect_twice(made: Made) -> Line:
    ended = first(made, "prepare", "ok", process="maas")
    return after(made, ended, type="invoke", effect=True, entry=None)


def an_effect_that_nothing_intended(made: Made) -> Line:
    return after(made, first(made, "prepare", "invoke", process="maas"), nodes=["n5"], entry=None)


def a_node_deployed_unprepared(made: Made) -> Line:
    first(made, "prepare", "ok", process="maas", nodes=["n3"])["type"] = "fail"
    return first(made, "deploy", "invoke", process="maas", nodes=["n3"])


def an_effect_after_the_stop(made: Made) -> Line:
    stop = first(made, "stop")
    stop["time"] -= 0.1
    made.lines.remove(first(made, "window", value={"open": False}))
    sent = first(made, "deploy", "invoke", process="maas", nodes=["n3"])
    return after(made, stop, **{**sent, "operation": "destroy", "time": stop["time"] + 1.05, "entry": None})


def an_intent_after_the_end(made: Made) -> Line:
    made.lines.remove(first(made, "stop"))
    made.lines.remove(first(made, "window", value={"open": False}))
    reading = [one for one in made.lines if one["operation"] == "reading"][-1]
    intent = {**first(made, "deploy", "invoke", epoch=4), "marker": "m", "nodes": ["n4"], "journal": None, "epoch": 6}
    made.lines.append({**intent, "time": reading["time"] + 1})
    return made.lines[-1]


def an_intent_on_a_held_node(made: Made) -> Line:
    first(made, "hold", nodes=["n5"])["nodes"] = ["n3"]
    made.lines.remove(first(made, "prepare", "invoke", process="maas", nodes=["n3"]))
    return first(made, "prepare", "invoke", epoch=3)


def a_node_outside_of_the_window(made: Made) -> Line:
    closes = first(made, "window", value={"open": False})
    intent = first(made, "prepare", "invoke", epoch=3)
    made.lines.remove(closes)
    made.lines.insert(made.lines.index(intent), {**closes, "time": intent["time"] - 0.5})
    return intent


def a_group_before_its_dependency(made: Made) -> Line:
    group = first(made, "group", "ok", epoch=2)
    moved(made, group, first(made, "prepare", "invoke", process="maas", nodes=["n3"]))
    return first(made, "prepare", "invoke", epoch=3)


def a_group_that_succeeds_below_its_criteria(made: Made) -> Line:
    row = first(made, "node", nodes=["n1", "n2"], value={"status": "success"})
    row["nodes"] = ["n1"]
    return first(made, "group", "ok", epoch=2)


def a_group_that_fails_with_its_criteria_met(made: Made) -> Line:
    row = first(made, "group", "ok", epoch=4)
    row |= {"type": "fail", "value": {"group": "compute", "reason": "deploy"}}
    return row


def a_group_that_fails_by_no_dependency(made: Made) -> Line:
    row = first(made, "group", "fail")
    row["value"] = {"group": "edge", "reason": "dependency"}
    return row


def an_action_that_succeeds_without_a_critical_group(made: Made) -> Line:
    row = first(made, "group", "ok", epoch=2)
    row |= {"type": "fail", "value": {"group": "control", "reason": "timeout"}}
    end = first(made, "action", "fail")
    end["type"] = "ok"
    return end


def a_success_that_no_peer_deployed(made: Made) -> Line:
    first(made, "deploy", "ok", process="maas", nodes=["n3"])["type"] = "fail"
    return first(made, "node", nodes=["n3"], value={"status": "success"})


PLANTED: dict[str, tuple[Callable[[Made], Line], ...]] = {
    "rows": (a_row_twice, a_row_of_the_journal_lost, a_reading_that_forgets, a_row_that_nobody_read),
    "epochs": (an_epoch_that_goes_down,),
    "markers": (a_marker_for_two_effects,),
    "effects_once": (an_effect_twice, an_effect_that_nothing_intended),
    "phases_in_order": (a_node_deployed_unprepared,),
    "stops": (an_effect_after_the_stop, an_intent_after_the_end),
    "holds": (an_intent_on_a_held_node,),
    "windows": (a_node_outside_of_the_window,),
    "groups_in_order": (a_group_before_its_dependency,),
    "criteria": (
        a_group_that_succeeds_below_its_criteria,
        a_group_that_fails_with_its_criteria_met,
        a_group_that_fails_by_no_dependency,
        an_action_that_succeeds_without_a_critical_group,
    ),
    "nodes_as_done": (a_success_that_no_peer_deployed,),
}
CASES = [pytest.param(rule, plant, id=plant.__name__) for rule, plants in PLANTED.items() for plant in plants]


@pytest.mark.parametrize(("rule", "plant"), CASES)
def test_a_planted_fault_is_found_on_its_line(tmp_path: Path, rule: str, plant: Callable[[Made], Line]) -> None:
    made = right()
    line = plant(made)
    number = next(place for place, one in enumerate(made.lines, 2) if one is line)
    assert (number, rule) in found(tmp_path, made.lines)
    code, printed = checked(tmp_path, text(made.lines))
    assert code == 1
    assert f"history.jsonl:{number}: {rule}: " in printed


def test_every_rule_has_a_planted_fault() -> None:
    assert list(PLANTED) == [rule.__name__ for rule in check_history.RULES]


@pytest.mark.parametrize("seed", range(40))
def test_a_row_that_is_removed_or_doubled_is_noticed(tmp_path: Path, seed: int) -> None:
    """Also if whoever changed the file has counted its lines again."""
    random, made = Random(seed), right()
    line = random.choice([one for one in made.lines if "journal" in one or "entry" in one])
    if random.random() < 0.5:
        made.lines.remove(line)
    else:
        made.lines.insert(made.lines.index(line), line)
    assert "rows" in {rule for _, rule in found(tmp_path, made.lines)}


@pytest.mark.parametrize("seed", range(20))
def test_any_line_that_is_removed_or_doubled_is_noticed(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    lines = text(right().lines).splitlines(keepends=True)
    place = random.randrange(1, len(lines))
    lines[place : place + 1] = random.choice(([], [lines[place]] * 2))
    code, _ = checked(tmp_path, "".join(lines))
    assert code == 2


def test_a_node_may_begin_in_the_moment_in_which_a_window_opens(tmp_path: Path) -> None:
    made = right()
    window, begins = first(made, "window", value={"open": True}), first(made, "prepare", "invoke")
    made.lines.insert(made.lines.index(begins), {**window, "time": begins["time"]})
    window["value"] = {"open": False}
    assert found(tmp_path, made.lines) == []


def test_an_action_with_no_groups_asks_for_no_order_of_the_design(tmp_path: Path) -> None:
    made = right()
    first(made, "action", "invoke")["value"]["groups"] = []
    done = first(made, "group", "ok", epoch=2)
    done["type"] = "info"
    assert found(tmp_path, made.lines) == []


def test_a_group_without_dependencies_fails_with_the_teardown_before_it(tmp_path: Path) -> None:
    made = right()
    first(made, "action", "invoke")["value"]["groups"] = [{**GROUPS[2], "depends_on": []}]
    first(made, "group", "fail")["value"] = {"group": "edge", "reason": "dependency"}
    assert found(tmp_path, made.lines) == []


def test_what_a_restored_database_has_lost_is_no_breach(tmp_path: Path) -> None:
    made = right()
    a_reading_that_forgets(made)
    reading = made.lines.index([one for one in made.lines if one["operation"] == "reading"][2])
    restore = {"process": "database", "operation": "restore", "type": "info", "time": made.lines[reading]["time"]}
    made.lines.insert(reading + 1, restore)
    later = [one for one in made.lines[reading + 2 :] if one["operation"] == "reading" and "journal" in str(one)]
    made.lines.insert(made.lines.index(later[1]), {**restore, "time": later[1]["time"]})
    assert found(tmp_path, made.lines) == []


def test_an_action_whose_end_was_lost_goes_on(tmp_path: Path) -> None:
    made = right()
    late = an_intent_after_the_end(made)
    del late["epoch"]
    assert {rule for _, rule in found(tmp_path, made.lines)} == {"stops"}
    restore = {"process": "database", "operation": "restore", "type": "info", "time": late["time"]}
    made.lines.insert(made.lines.index(late), restore)
    assert found(tmp_path, made.lines) == []


@pytest.mark.parametrize(("kind", "is_touched"), [("", False), ("ok", True), ("fail", True)])
def test_a_job_that_the_peer_lost_has_destroyed_nothing(tmp_path: Path, kind: str, is_touched: bool) -> None:
    """Drydock accepts the destruction of a prepared machine, and forgets it before, or after, it has begun."""
    made = right()
    begun = first(made, "deploy", "invoke", process="maas", nodes=["n2"])
    destroy = {"process": "drydock", "operation": "destroy", "nodes": ["n2"], "time": begun["time"]}
    accepted = {**destroy, "type": "invoke", "effect": True, "value": {"job": "J"}, "entry": 1}
    ended = [{**destroy, "type": kind, "entry": 2}] if kind else []
    made.lines[made.lines.index(begun) : made.lines.index(begun)] = [accepted, *ended]
    assert [rule for _, rule in found(tmp_path, made.lines)] == ["phases_in_order"] * is_touched


def test_a_phase_that_the_policy_begins_again_is_no_breach(tmp_path: Path) -> None:
    made = right()
    again = an_effect_twice(made)
    assert {rule for _, rule in found(tmp_path, made.lines)} == {"effects_once"}
    made.lines.insert(made.lines.index(again), {**again, "operation": "retry", "process": "worker-1", "effect": False})
    assert found(tmp_path, made.lines) == []


def test_a_group_that_an_earlier_step_cuts_off_is_no_breach(tmp_path: Path) -> None:
    made = right()
    group = a_group_that_fails_by_no_dependency(made)
    assert {rule for _, rule in found(tmp_path, made.lines)} == {"criteria"}
    after(made, group, operation="step", journal=None, epoch=None, value={"step": "destroy_nodes.2", "state": "failed"})
    assert found(tmp_path, made.lines) == []


LINES = text(right().lines).splitlines()
BROKEN = {
    "empty": ("", "1: no JSON: Expecting value"),
    "no header": ('{"a": 1}\n', "1: no header: it needs {'format': 'shipyard-history', 'version': 1} and a design"),
    "another version": (json.dumps({**HEADER, "version": 2}), "1: no header: it needs"),
    "no JSON": (f"{LINES[0]}\n{{\n", "2: no JSON: Expecting property name"),
    "no object": (f"{LINES[0]}\n[]\n", "2: a line is an object"),
    "no process": (f'{LINES[0]}\n{{"operation": "end"}}\n', '2: "process" cannot be null'),
    "unknown type": (
        f'{LINES[0]}\n{{"process": "a", "operation": "b", "type": "yes", "time": 0}}\n',
        '2: "type" cannot be "yes"',
    ),
    "negative time": (
        f'{LINES[0]}\n{{"process": "a", "operation": "b", "type": "ok", "time": -1}}\n',
        '2: "time" cannot be -1',
    ),
    "a group without its name": (
        f'{LINES[0]}\n{{"process": "a", "operation": "group", "type": "ok", "time": 1}}\n',
        '2: "value" cannot be null',
    ),
    "time that goes back": ("\n".join([LINES[0], LINES[2], LINES[1]]), "3: time 1.0 is before 2.0 of the line above"),
    "cut off": ("\n".join(LINES[:-1]), f"{len(LINES) - 1}: the last line does not end a history of {len(LINES) - 1}"),
}


@pytest.mark.parametrize(("content", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_names_the_line(tmp_path: Path, content: str, says: str) -> None:
    code, printed = checked(tmp_path, content)
    assert code == 2
    assert printed.startswith(f"history.jsonl:{says}"), printed


def test_without_a_file_the_command_says_how_it_is_called() -> None:
    ran = subprocess.run([sys.executable, "-m", "check_history"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "python -m check_history FILE" in ran.stderr
