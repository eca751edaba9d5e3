"""Histories of runs in the time of a test, written as those of the demo and checked by ``check_history``.

``SHIPYARD_HISTORIES`` names a directory in which they are kept; without it, each is gone once it was checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

import check_history
from shipyard_api.storage.run_history import Entry, RunHistory, reading, written
from shipyard_api.storage.unit_of_work import connect
from shipyard_simulators import record

KEPT = "SHIPYARD_HISTORIES"


def breaches(name: str, history: RunHistory, now: datetime, peers: Mapping[str, Any], **more: Any) -> list[str]:
    """Write a history, and return every rule that it breaks. ``peers``: the log of each; ``more``: see ``lines``."""
    with TemporaryDirectory() if KEPT not in os.environ else nullcontext(os.environ[KEPT]) as directory:
        file = Path(directory, f"{name}.jsonl")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8") as written_file:
            written_file.writelines(lines(history, now, peers, **more))
        return broken(file)


def of_processes(name: str, url: str, peers: Mapping[str, Any], **more: Any) -> list[str]:
    """Write the history of processes that have ended their work by now, as ``breaches``. ``url``: of their database."""
    engine = connect(url, pool_size=1)
    try:
        return breaches(name, RunHistory(engine), datetime.now(UTC), peers, **more)
    finally:
        engine.dispose()


def broken(file: Path) -> list[str]:
    """Return every rule that the history in a file breaks."""
    history = check_history.read(file)
    found = sorted((line, rule.__name__, text) for rule in check_history.RULES for line, text in rule(history))
    return [f"history, line {line}: {rule}: {text}" for line, rule, text in found]


def lines(
    history: RunHistory, now: datetime, peers: Mapping[str, Any], *, more: Iterable[Entry] = (), **header: Any
) -> Iterable[str]:
    """Return the lines of a history up to now; ``more``: what neither the database nor the peers know."""
    history.read(now)
    entries = [*history.entries(), *more]
    for peer, events in peers.items():
        own = list(record.entries(peer, events))
        numbers = [entry["entry"] for entry in own if "entry" in entry]
        entries += [*own, reading(peer, numbers, now)]
    began = min(datetime.fromisoformat(str(entry["at"])) for entry in entries)
    return written({"design": history.design(), "commit": None, **header}, began, entries)


def in_virtual_time(engine: sa.Engine) -> RunHistory:
    """Return the history of a database whose clock is not that of the run."""
    return RunHistory(engine, has_clock=False)
