"""The committed record of torture runs, and the page that is written from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

RECORD = Path(__file__).with_name("record.json")
PAGE = ROOT / "docs" / "torture.md"
_OF_WHOM = "A failure is of the product, of the checker, or of the torture itself; each says which."
_INTRODUCTION = """\
# Torture

`./dev torture` plays the whole stack in one process and in virtual time: the API, the engine, a real Postgres, and
simulated peers. A seed draws a design, a policy, what operators do, and the faults. [The
checker](reference/history.md) checks the history of each run, and every accepted action must end. The same seed and
commit give the same history, byte for byte; after other seeds in one process, names of pods may differ.

```sh
./dev torture --seed 7 --history run.jsonl
```

A scheduled job plays new seeds for hours; SIGTERM ends it after its seed. The first seed is a number that no run had:

```sh
./dev torture --seed 100000 --hours 8 --record --failed DIRECTORY
```

`--failed` keeps the plan, the complaints and the history of each seed that fails. Play such a seed again, on the same
commit, with `./dev torture --seed N --verbose`.

The tool has written this page from the record of the runs below. [What survives](explanation/what-survives.md) lists
the faults, and the tests with real processes.
"""


@dataclass
class Total:
    """What came of many seeds. ``failed``: the seeds with a complaint, each with the first one."""

    commit: str
    first: int
    seeds: int = 0
    node_hours: float = 0.0
    deliveries: int = 0
    provisioners: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.seeds} seeds from {self.first}, {self.node_hours:.0f} virtual node-hours, "
            f"{self.deliveries} deliveries, {self.faults.total()} faults ({faults}), {len(self.failed)} failures found"
        )


def keep(total: Total) -> None:
    """Add a run to the record, and write the page."""
    record = read()
    counted = {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(total).items()}
    record["runs"].append(counted)
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


def read() -> dict[str, Any]:
    """Return the record: ``runs``, and the ``found`` faults of the product."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def page(record: Mapping[str, Any]) -> str:
    """Return docs/torture.md."""
    runs, found = record["runs"], record["found"]
    faults: Counter[str] = Counter()
    for run in runs:
        faults.update(run["faults"])
    seeds, hours = sum(run["seeds"] for run in runs), sum(run["node_hours"] for run in runs)
    head = ("commit", "seeds", "provisioners", "virtual node-hours", "turns delivered", "faults", "failed seeds")
    mended = [(one["seed"], one["what"], one["mended"] or "not mended yet") for one in found]
    none = ["None."]
    return "\n".join(
        [
            _INTRODUCTION,
            f"All runs: {seeds} seeds, {hours:.0f} virtual node-hours, {faults.total()} faults.",
            "",
            *_table(head, [_cells(run) for run in runs]),
            "",
            "## Faults played",
            "",
            *_table(("kind", "times"), sorted(faults.items())),
            "",
            "## Failures found",
            "",
            _OF_WHOM,
            "",
            *(_table(("seed", "what was wrong", "mended by"), mended) if found else none),
            "",
        ]
    )


def _cells(run: Mapping[str, Any]) -> Sequence[object]:
    provisioners = ", ".join(f"{count} {name}" for name, count in sorted(run["provisioners"].items()))
    seeds = f"{run['first']} to {run['first'] + run['seeds'] - 1}"
    faults, failed = sum(run["faults"].values()), len(run["failed"])
    return f"`{run['commit'][:12]}`", seeds, provisioners, f"{run['node_hours']:.0f}", run["deliveries"], faults, failed


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(str, line))} |" for line in lines]
