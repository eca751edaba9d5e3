"""Make small faults in the product and see which ones the tests find: ``./dev mutants [--count N] [PATH ...]``.

Samples as many faults of each room. Each is made in a copy of the checkout below .build, where the tests run that pass
through its lines: the quickest, and as long the quickest of each file, which take SECONDS together. A fault is found if
one of them fails or does not end in time. Prints the others as diffs, then the share that was found, by room.

The first run notes which tests pass through which lines, which takes twice as long as ``./dev test``; it is noted again
for test files that have changed, and for all once the product has. Both that and a sample that was stopped go on where
they were. ``--again`` tries what was not found once more, after tests were added. ``--tests`` leaves out other tests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tests.databases import Run
from tests.mutants.covering import PLACE, ROOT, name_of
from tests.mutants.mutations import Mutation, mutations

ROOMS = {
    "workflow": "shipyard_api/workflow",
    "actions": "shipyard_api/actions",
    "storage": "shipyard_api/storage",
    "teardown": "shipyard_api/domain/teardown",
    "task graph": "shipyard_api/domain/task_graph",
    "adapters": "shipyard_api/adapters",
    "use cases": "shipyard_api/usecases",
    "api": "shipyard_api/api",
}
TESTS = (
    *("tests/unit", "tests/property", "tests/contract", "tests/integration", "tests/crash"),
    *("tests/acceptance", "tests/combinations", "tests/architecture", "tests/docs"),
)
BUILD = ROOT / ".build" / "mutants"
COVER = BUILD / "cover"
RESULTS = BUILD / "results.jsonl"
FOUND = ("failed", "hung")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-m", "not crash"]


def main() -> int:
    """Return 1 if a fault was not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="modules or folders instead of the rooms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=304, help="faults of all rooms together")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for one fault, as they take without it")
    parser.add_argument("--jobs", type=int, default=2, help="faults that are tried at a time")
    parser.add_argument("--tests", nargs="+", metavar="FOLDER", default=TESTS, help="whose tests are run")
    parser.add_argument("--again", action="store_true", help="try once more what was not found")
    asked = parser.parse_args()
    rooms = {path: path for path in asked.paths} or ROOMS
    samples = {room: _sample(place, asked.count // len(rooms), asked.seed) for room, place in rooms.items()}
    run = Run.begin()
    os.environ["SHIPYARD_TEST_RUN"] = str(run.directory)  # one Postgres for all
    try:
        _cover(asked.tests, asked.jobs)
        results = _results(tuple(asked.tests), again=asked.again)
        missing = [fault for sample in samples.values() for fault in sample if _key(fault) not in results]
        for fault, result in _tried(missing, asked):
            results[_key(fault)] = result
            print(f"{result['outcome']:11} {fault.path}:{fault.first}  {result['by']}", flush=True)
    finally:
        run.end()
    return _report(samples, results)


def _sample(place: str, count: int, seed: int) -> list[Mutation]:
    faults = [fault for name in _modules(place) for fault in mutations(name, (ROOT / name).read_text(encoding="utf-8"))]
    random.Random(f"{seed} {place}").shuffle(faults)
    real = (fault for fault in faults if fault.is_one(_source(fault)))
    return [fault for fault, _ in zip(real, range(count), strict=False)]


def _modules(place: str, pattern: str = "*.py") -> list[str]:
    path = ROOT / place
    return sorted(str(module.relative_to(ROOT)) for module in ([path] if path.is_file() else path.rglob(pattern)))


def _source(fault: Mutation) -> str:
    return (ROOT / fault.path).read_text(encoding="utf-8")


def _key(fault: Mutation) -> str:
    source = _source(fault)
    return hashlib.sha256(f"{fault.path}\n{source}\n{fault.apply(source)}".encode()).hexdigest()


# --- which tests pass through which lines ----------------------------------------------------------------------------


def _cover(tests: Sequence[str], jobs: int) -> None:
    """Note it for every test file about which nothing is known yet."""
    product = _digest(sorted((ROOT / "shipyard_api").rglob("*.py")))
    stamp = COVER / "product"
    if not stamp.exists() or stamp.read_text() != product:
        shutil.rmtree(COVER, ignore_errors=True)
        COVER.mkdir(parents=True)
        stamp.write_text(product)
    missing = []
    for name in (name for place in tests for name in _modules(place, "test_*.py")):
        noted, version = COVER / name_of(name), COVER / f"{name_of(name)}.version"
        if not noted.exists() or not version.exists() or version.read_text() != _digest([ROOT / name]):
            noted.unlink(missing_ok=True)
            version.write_text(_digest([ROOT / name]))
            missing.append(name)
    if missing:
        print(f"noting which lines {len(missing)} test files pass through ...", flush=True)
        tree = _tree("cover")
        files = tree / "arguments"
        files.write_text("\n".join(missing))
        command = [*PYTEST, "-p", "tests.mutants.covering", "-n", str(jobs), "--dist", "loadfile", f"@{files}"]
        with (BUILD / "cover.log").open("wb") as log:
            code = subprocess.run(command, cwd=tree, env=_environ(tree), check=False, stdout=log, stderr=log).returncode
        if code not in (0, 1, 5):
            raise SystemExit(f"the tests did not run to their end: see {log.name}")
        for left in missing:  # none of its tests runs here
            if not (COVER / name_of(left)).exists():
                (COVER / name_of(left)).write_text("{}")


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


class Cover:
    """The tests that passed, their seconds, and the lines that each passed through."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests: dict[str, Any] = {}
        there = {name_of(name) for place in tests for name in _modules(place, "test_*.py")}
        for noted in COVER.glob("*.json"):
            if noted.name in there:
                self._tests |= json.loads(noted.read_text())

    def of(self, fault: Mutation, seconds: float) -> list[str]:
        """Return tests through the lines of a fault, file by file: the quickest, and as long the quickest of each file.

        If there are none, those through its module. What is done at import is seen by every test of files that pass
        through the module or import it, if only by way of another module.
        """
        lines = sum(1 << line for line in range(fault.first, fault.last + 1))
        everywhere = {test: int(of["lines"].get(fault.path, "0"), 16) for test, of in self._tests.items()}
        through = [] if fault.at_import else [test for test, bits in everywhere.items() if bits & lines]
        near = through or [test for test, bits in everywhere.items() if bits]
        if not through:
            files = {_file(test) for test in near} | self._importing(fault.path)
            near = [test for test in self._tests if _file(test) in files]
        quickest = sorted(near, key=self._seconds)
        chosen = self._within(seconds / 2, quickest)
        chosen |= self._within(seconds / 2, [test for test in self._in_turns(quickest) if test not in chosen])
        files_of = [_file(test) for test in chosen]
        return sorted(chosen, key=lambda test: files_of.index(_file(test)))

    def _within(self, seconds: float, tests: Sequence[str]) -> dict[str, None]:
        """Return the first tests that take so long together, at least one."""
        chosen: dict[str, None] = {}
        for test in tests:
            seconds -= self._seconds(test)
            if seconds < 0 and chosen:
                break
            chosen[test] = None
        return chosen

    def _in_turns(self, quickest: Sequence[str]) -> list[str]:
        """Return the quickest test of each file, then the next of each, so that a few seconds bring the most sorts."""
        seen = Counter[str]()
        ranked = []
        for test in quickest:
            ranked.append((seen[_file(test)], test))
            seen[_file(test)] += 1
        return [test for _, test in sorted(ranked, key=lambda pair: pair[0])]

    def _importing(self, module: str) -> set[str]:
        """Return the test files that import a module, or one that imports it."""
        importers = [name for name in _modules("shipyard_api") if _imports(ROOT / name, [module])]
        files = {_file(test) for test in self._tests}
        return {file for file in files if _imports(ROOT / file, [module, *importers])}

    def _seconds(self, test: str) -> float:
        return float(self._tests[test]["seconds"])


def _file(test: str) -> str:
    return test.partition("::")[0]


def _imports(file: Path, modules: Sequence[str]) -> bool:
    dotted = [module.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for module in modules]
    direct = "|".join(re.escape(module) for module in dotted)
    named = "|".join(
        rf"{re.escape(package)} import .*\b{name}" for package, _, name in (m.rpartition(".") for m in dotted)
    )
    return (
        re.search(rf"^from (?:(?:{direct}) import|(?:{named})\b)", file.read_text(encoding="utf-8"), re.MULTILINE)
        is not None
    )


# --- trying faults ---------------------------------------------------------------------------------------------------


def _tried(faults: Sequence[Mutation], asked: argparse.Namespace) -> Iterator[tuple[Mutation, dict[str, str]]]:
    """Yield each fault with what became of it, which is kept."""
    if not faults:
        return
    cover = Cover(asked.tests)
    trees: queue.Queue[Path] = queue.Queue()
    for number in range(asked.jobs):
        trees.put(_tree(str(number)))

    def one(fault: Mutation) -> dict[str, str]:
        tree = trees.get()
        try:
            return _try(tree, fault, cover.of(fault, asked.seconds), asked.seconds)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(asked.jobs) as pool, RESULTS.open("a") as kept:
        running = {pool.submit(one, fault): fault for fault in faults}
        try:
            for done in as_completed(running):
                fault, result = running[done], done.result()
                kept.write(json.dumps({"key": _key(fault), "tests": asked.tests, **result}) + "\n")
                kept.flush()
                yield fault, result
        finally:
            pool.shutdown(cancel_futures=True)


def _try(tree: Path, fault: Mutation, tests: Sequence[str], seconds: float) -> dict[str, str]:
    """Run tests with a fault. What fails must pass without it, or does not count."""
    while tests:
        module = tree / fault.path
        original = module.stat()
        try:
            module.write_text(fault.apply(_source(fault)), encoding="utf-8")
            os.utime(module, (time.time(), int(time.time())))  # a compiled module is known by its second
            outcome, by = _outcome(tree, tests, seconds)
        finally:
            module.write_text(_source(fault), encoding="utf-8")
            os.utime(module, ns=(original.st_atime_ns, original.st_mtime_ns))
        if outcome != "failed" or _outcome(tree, [by] if by else tests, seconds)[0] == "survived":
            return {"outcome": outcome, "by": by}
        tests = [test for test in tests if by and test != by]
    return {"outcome": "not covered", "by": ""}


def _outcome(tree: Path, tests: Sequence[str], seconds: float) -> tuple[str, str]:
    arguments = tree / "arguments"
    arguments.write_text("\n".join(tests))
    running = subprocess.Popen(
        [*PYTEST, "-x", "--tb=no", f"@{arguments}"],
        cwd=tree,
        env=_environ(tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = running.communicate(timeout=3 * seconds + 60)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        return "hung", ""
    said = re.search(r"^(?:FAILED|ERROR) (.+)$", output, re.MULTILINE)
    named = [test for test in tests if said and said[1].startswith(test)]
    return ("failed" if running.returncode else "survived"), max(named, key=len, default="")


def _tree(name: str) -> Path:
    """Return a fresh copy of the checkout, as it is now."""
    tree = BUILD / f"tree-{name}"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for file in listed.stdout.decode().split("\0"):
        if (ROOT / file).is_file():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tree / file)
    return tree


def _environ(tree: Path) -> dict[str, str]:
    return {**os.environ, PLACE: str(COVER), "PYTHONPATH": str(tree)}


# --- what became of them ---------------------------------------------------------------------------------------------


def _results(tests: tuple[str, ...], *, again: bool) -> dict[str, dict[str, Any]]:
    """Return what is known: found by one of these tests, or not found by all of them."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    found = {}
    for result in map(json.loads, lines):
        by_all = (*result["tests"],) == tests
        is_found = result["outcome"] in FOUND
        if (is_found and result["by"].startswith(tests)) or (by_all and (is_found or not again)):
            found[result["key"]] = result
    return found


def _report(samples: dict[str, list[Mutation]], results: dict[str, dict[str, Any]]) -> int:
    outcomes = {room: [results[_key(fault)]["outcome"] for fault in sample] for room, sample in samples.items()}
    for fault in (fault for sample in samples.values() for fault in sample):
        outcome = results[_key(fault)]["outcome"]
        if outcome not in FOUND:
            print(f"\n# {outcome}\n{fault.diff(_source(fault))}")
    print()
    outcomes["together"] = [outcome for room in outcomes.values() for outcome in room]
    for room, all_of_it in outcomes.items():
        found = sum(count for outcome, count in Counter(all_of_it).items() if outcome in FOUND)
        print(f"{room:40} {found:4} of {len(all_of_it):4} found{found / max(1, len(all_of_it)):8.1%}")
    return any(outcome not in FOUND for outcome in outcomes["together"])


if __name__ == "__main__":
    sys.exit(main())
