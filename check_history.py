"""Check the history of a run of Shipyard: ``python -m check_history FILE...`` (format: docs/reference/history.md).

The checker imports nothing of Shipyard's and trusts nothing that Shipyard concluded: what happened to a machine is read
from the record of the peer that did it. Exit code 0: every rule holds. 1: a rule is broken; each breach is printed with
its line. 2: a file cannot be read, or is no whole history.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FORMAT = {"format": "shipyard-history", "version": 1}
GROUP = {"name", "critical", "depends_on", "nodes"}
TYPES = ("invoke", "ok", "fail", "info")
WORK = ("prepare", "deploy", "destroy", "service")
FORBIDDEN = {"all": WORK, "no_deployment": ("prepare", "deploy", "service"), "no_teardown": ("destroy",)}
"""The work that a hold of each class forbids; other classes forbid none."""
TEXTS = ("process", "operation", "type", "action", "phase", "marker")
NUMBERS = ("epoch", "journal", "entry", "timeline")
NEEDED = {"reading": ("source", "ids"), "group": ("group",)}  # texts that the value of an operation needs
FOREVER = float("inf")

Breaches = Iterator[tuple[int, str]]  # the line that shows each, and what is broken


class Entry:
    """A line of the history; an attribute is a field, None if it is missing.

    ``row``: the journal or the peer whose row the line is, and its number. ``begins``: Shipyard begins work on nodes.
    """

    def __init__(self, line: int, fields: Mapping[str, Any]) -> None:
        self.line, self.fields = line, fields
        self.nodes: Sequence[str] = fields.get("nodes") or ()
        self.value: Mapping[str, Any] = fields.get("value") or {}
        source, number = ("journal", self.journal) if self.journal is not None else (self.process, self.entry)
        self.row = None if number is None else (source, number)
        self.begins = self.marker is not None and self.operation in WORK and self.value.get("attempt", 1) == 1

    def __getattr__(self, name: str) -> Any:
        return self.fields.get(name)


class History:
    """A whole history, and what several rules ask of it.

    ``effects``: what peers did to each machine, with the last intent of Shipyard's about that machine before it.
    ``begins``: each begin of work on a node, an intent or an effect, its action, and how many seconds it may be late.
    """

    def __init__(self, header: Mapping[str, Any], entries: Sequence[Entry]) -> None:
        self.entries, self.design = entries, header["design"]
        self.effects, self.begins = list[tuple[Entry, str, Entry | None]](), list[tuple[Entry, str, str, float]]()
        skew, settle = header.get("skew") or 0, header.get("settle")
        self.late = FOREVER if settle is None else settle + skew
        self.own_groups = {one.action: one.value.get("groups") for one in self.of("action", "invoke")}
        intents: dict[str, Entry] = {}
        for one in entries:
            for node in one.nodes:
                if one.marker is not None or (one.journal is not None and one.type == "invoke"):
                    intents[node] = one
                if one.effect:
                    self.effects.append((one, node, intents.get(node)))
                if one.begins or (one.effect and one.operation in WORK and node in intents):
                    self.begins.append((one, node, intents[node].action, skew if one.begins else self.late))

    def of(self, operation: str, *types: str) -> Iterator[Entry]:
        """Return the entries of an operation, in order."""
        return (one for one in self.entries if one.operation == operation and (not types or one.type in types))

    def groups(self, action: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the groups of an action by name; those of the header if it has none of its own."""
        own = self.own_groups.get(action)
        return {group["name"]: group for group in (self.design.get("groups") or () if own is None else own)}

    def restored(self, since: int, until: int) -> bool:
        """Return whether the database lost a part of its history between two lines."""
        return any(since < one.line < until for one in self.of("restore"))


def read(path: Path) -> History:
    """Return the history in a file; raises ValueError, which names the line."""
    lines, objects = path.read_text("utf-8").removesuffix("\n").split("\n"), list[Any]()
    for number, line in enumerate(lines, 1):
        try:
            objects.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{number}: no JSON: {error}") from error
        if why := wrong(objects[-1], number):
            raise ValueError(f"{number}: {why}")
        if number > 2 and objects[-1]["time"] < objects[-2]["time"]:
            raise ValueError(f"{number}: time {objects[-1]['time']} is before {objects[-2]['time']} of the line above")
    if objects[-1].get("operation") != "end" or objects[-1].get("value") != {"lines": len(lines)}:
        raise ValueError(f"{len(lines)}: the last line does not end a history of {len(lines)} lines: some are missing")
    return History(objects[0], [Entry(number, one) for number, one in enumerate(objects[1:], 2)])


def wrong(line: Any, number: int) -> str:
    """Return what is wrong with the form of a line; empty if nothing is."""
    if not isinstance(line, dict):
        return "a line is an object"
    if number == 1:
        design = line.get("design") or {}
        is_whole = FORMAT.items() <= line.items() and all(group.keys() >= GROUP for group in design.get("groups", ()))
        return "" if is_whole else f"no header: it needs {FORMAT} and a design, each group with {sorted(GROUP)}"
    nodes, value = line.get("nodes", []), line.get("value", {})
    faults = [name for name in TEXTS if not isinstance(line.get(name, None if name in TEXTS[:3] else ""), str)]
    faults += [name for name in NUMBERS if type(line.get(name, 0)) is not int]
    faults += [] if type(line.get("time")) in (int, float) and 0 <= line["time"] < FOREVER else ["time"]
    faults += [] if isinstance(nodes, list) and all(isinstance(node, str) for node in nodes) else ["nodes"]
    faults += [] if line.get("type") in TYPES else ["type"]
    needed = NEEDED.get(str(line.get("operation")), ())
    faults += [] if isinstance(value, dict) and all(isinstance(value.get(name), str) for name in needed) else ["value"]
    return f'"{faults[0]}" cannot be {json.dumps(line.get(faults[0]))}' if faults else ""


def rows(history: History) -> Breaches:
    """A log only grows: no row is there twice, and each reading begins with the one before."""
    lines: dict[tuple[str, int], int] = {}
    for one in history.entries:
        if one.row and (line := lines.setdefault(one.row, one.line)) != one.line:
            yield one.line, f"row {one.row[1]} of {one.row[0]} is on line {line} already"
    last: dict[str, tuple[int, list[int]]] = {}
    for one in history.of("reading", "ok"):
        source, read_now = one.value["source"], list[int]()
        for part in filter(None, one.value["ids"].split(",")):
            first, _, end = part.partition("-")
            read_now += range(int(first), int(end or first) + 1)
        line, before = last.get(source, (0, []))
        if read_now[: len(before)] != before and not history.restored(line, one.line):
            yield one.line, f"it does not begin with the rows of {source} that line {line} read"
        if lost := [row for row in read_now if (source, row) not in lines]:
            yield one.line, f"row {lost[0]} of {source} was read, and the history does not have it"
        last[source] = one.line, read_now
    known = {source: set(numbers) for source, (_, numbers) in last.items()}
    for (source, row), line in lines.items():
        if source in last and row not in known[source] and not history.restored(line, last[source][0]):
            yield line, f"row {row} of {source} is not in its last reading on line {last[source][0]}"


def epochs(history: History) -> Breaches:
    """In the order of the journal, the epochs of an action never go down: a worker that is overtaken writes nothing."""
    newest: dict[str, Entry] = {}
    turns = [one for one in history.entries if one.epoch is not None and one.process != "api"]
    for one in sorted(turns, key=lambda row: int(row.journal or 0)):
        before = newest.setdefault(one.action, one)
        if one.epoch < before.epoch and not history.restored(before.line, one.line):
            yield one.line, f"{one.process} writes in epoch {one.epoch}, after {before.epoch} on line {before.line}"
        newest[one.action] = one


def markers(history: History) -> Breaches:
    """A marker stands for one effect of one action."""
    first: dict[str, Entry] = {}
    for one in history.entries:
        before = first.setdefault(one.marker, one) if one.marker is not None else one
        if (before.action, before.operation, before.nodes) != (one.action, one.operation, one.nodes):
            yield one.line, f"marker {one.marker} stands for something else on line {before.line}"


def effects_once(history: History) -> Breaches:
    """By the peers' own record, nothing is done twice to a node in an action without a retry, nor without an intent."""
    seen: dict[Any, int] = {}
    for one, node, intent in history.effects:
        again = sum(node in retry.nodes and retry.line < one.line for retry in history.of("retry", "invoke"))
        if intent is None and not history.restored(0, one.line):
            yield one.line, f"{one.process}: {one.operation} of {node}, which nothing intended"
        elif (line := seen.setdefault((intent and intent.action, node, one.operation, again), one.line)) != one.line:
            yield one.line, f"{one.operation} of {node} a second time in its action, after line {line}"


def phases_in_order(history: History) -> Breaches:
    """By the peers' own record, each phase of a node begins once the one before has succeeded there."""
    phases, done = list[str](history.design.get("phases") or ()), set[tuple[str, str]]()
    for one in history.entries:
        for node in one.nodes if one.effect or one.entry is not None else ():
            place = phases.index(one.operation) if one.operation in phases else 0
            if one.effect and place and (node, phases[place - 1]) not in done:
                yield one.line, f"{one.operation} of {node} begins, and its {phases[place - 1]} has not succeeded"
            if one.operation == "destroy" and "job" not in one.value:  # a job that is accepted has not touched it yet
                done -= {(node, phase) for phase in phases}
            elif one.type == "ok":
                done.add((node, one.operation))


def stops(history: History) -> Breaches:
    """Nothing begins after an accepted stop, nor after the end of the action, once what was sent before has settled."""
    over = {one.action: one for one in [*history.of("action", "ok", "fail"), *history.of("stop", "ok")]}
    for one, node, action, _ in history.begins:
        if one.time > (end := over.get(action, one)).time + history.late and not history.restored(end.line, one.line):
            yield one.line, f"{one.operation} of {node} begins after the {end.operation} on line {end.line}"


def holds(history: History) -> Breaches:
    """Nothing begins on a node that is held, unless its action overrides the hold."""
    until = {one.value.get("id"): one.time for one in history.of("release", "ok")}
    overridden = {one.action: one.value.get("overrides") or () for one in history.of("action", "invoke")}
    for hold in history.of("hold", "ok"):
        name, forbidden = hold.value.get("id"), FORBIDDEN.get(hold.value.get("class", "all"), ())
        for one, node, action, late in history.begins:
            is_held = node in hold.nodes and hold.time + late < one.time < until.get(name, FOREVER)
            if is_held and one.operation in forbidden and name not in overridden.get(action, ()):
                yield one.line, f"{one.operation} of {node} begins, which is held since line {hold.line}"


def windows(history: History) -> Breaches:
    """No node begins while the maintenance windows of its action are closed."""
    changes, begun = list(history.of("window")), set[tuple[str, str]]()
    for one, node, action, late in history.begins:
        past = [it for it in changes if it.action == action and it.time <= one.time - late * (not it.value.get("open"))]
        if past and not past[-1].value.get("open") and (action, node) not in begun:
            yield one.line, f"{one.operation} of {node} begins, and the window is closed since line {past[-1].line}"
        begun.add((action, node))


def groups_in_order(history: History) -> Breaches:
    """A node begins only for a group whose dependencies have all succeeded."""
    done = {(one.action, one.value.get("group")): one.line for one in reversed(list(history.of("group", "ok")))}
    for one, node, action, _ in history.begins:
        groups = [group for group in history.groups(action).values() if node in group["nodes"]]
        is_free = [all(done.get((action, it), FOREVER) < one.line for it in group["depends_on"]) for group in groups]
        if groups and not any(is_free):
            names = ", ".join(group["name"] for group in groups)
            yield one.line, f"{one.operation} of {node} begins, and a dependency of its group {names} has not succeeded"


def criteria(history: History) -> Breaches:
    """Each group ends as its nodes, its criteria and its dependencies say, and each action as its critical groups."""
    nodes, ends = dict[tuple[str, str], str](), {("a step", one.action): one.type for one in history.of("step", "fail")}
    uncounted = {node for one in history.of("hold") if one.value.get("class") == "no_criteria" for node in one.nodes}
    for one in history.entries:
        groups = history.groups(one.action) if one.operation in ("group", "action") else {}
        if one.operation == "node":
            nodes |= {(one.action, node): one.value.get("status", "success") for node in one.nodes}
        elif one.operation == "group" and one.type in ("ok", "fail"):
            ends[one.action, name := one.value["group"]] = one.type
            if name in groups and not uncounted.intersection(groups[name]["nodes"]):
                for text in wrong_end(one, groups[name], nodes, ends):
                    yield one.line, f"group {name} {'succeeds' if one.type == 'ok' else 'fails'}, and {text}"
        elif one.operation == "action" and one.type == "ok" and any(action == one.action for action, _ in ends):
            for name in (name for name in groups if groups[name]["critical"] and ends.get((one.action, name)) != "ok"):
                yield one.line, f"the action succeeds, and its critical group {name} has not"


def wrong_end(end: Entry, group: Mapping[str, Any], nodes: Mapping[Any, str], ends: Mapping[Any, str]) -> Iterator[str]:
    """Yield why a group cannot end like this. Without nodes, it has 100 % successful ones, and none."""
    reason, wanted, members = end.value.get("reason"), group.get("success_criteria") or {}, group["nodes"]
    good = sum(nodes.get((end.action, node)) in ("success", reason == "prepare" and "prepared") for node in members)
    percent, least = wanted.get("percent_successful_nodes", 0), wanted.get("minimum_successful_nodes", 0)
    most = wanted.get("maximum_failed_nodes", len(members))
    is_met = good * 100 >= percent * len(members) and good >= least and len(members) - good <= most
    is_blocked = any(ends.get((end.action, parent)) != "ok" for parent in group["depends_on"])
    if end.type == "ok" and (is_blocked or not is_met):
        yield "a dependency has not" if is_blocked else "its criteria are not met"
    is_cut_off = not group["depends_on"] or ("a step", end.action) in ends  # the group waited for a step of the action
    if reason == "dependency" and not is_blocked and not is_cut_off:
        yield "all its dependencies have succeeded"
    if is_met and reason in ("prepare", "deploy"):
        yield f"its criteria are met with {good} of {len(members)} nodes"


def nodes_as_done(history: History) -> Breaches:
    """A node that becomes a success was deployed, or serviced, by the peers' own record."""
    ends = [one for one in history.entries if one.entry is not None and one.type == "ok"]
    done = {node: one.time for one in reversed(ends) if one.operation in ("deploy", "service") for node in one.nodes}
    for one in history.of("node"):
        for node in one.nodes if one.value.get("status") == "success" else ():
            if done.get(node, FOREVER) > one.time:
                yield one.line, f"{node} is a success, and no peer has deployed it"


RULES: Sequence[Callable[[History], Breaches]] = (
    *(rows, epochs, markers, effects_once, phases_in_order, stops, holds, windows, groups_in_order, criteria),
    nodes_as_done,
)


def main(files: Sequence[str]) -> int:
    """Check the files, print every breach, and return the exit code."""
    codes = [0 if files else 2]
    for file in files:
        try:
            history = read(Path(file))
            found = sorted((line, f"{rule.__name__}: {text}") for rule in RULES for line, text in rule(history))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            sys.stderr.write(f"{file}:{error}\n")
            codes.append(2)
            continue
        sys.stdout.writelines(f"{file}:{line}: {text}\n" for line, text in found)
        verdict = f"{len(found)} breaches" if found else f"all {len(RULES)} rules hold"
        sys.stdout.write(f"{file}: {len(history.entries)} entries, {len(history.effects)} effects: {verdict}\n")
        codes.append(int(bool(found)))
    sys.stderr.write("" if files else str(__doc__))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
