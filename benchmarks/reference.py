"""What this machine does now: bounds in time are ratios to it, measured in the same run.

So a bound says the same on a machine half as fast, or beside other work, and its change is a change of ours.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import sqlalchemy as sa

ROUND_TRIPS = 8
"""Transactions of the reference for a phase or an item: intent, report, verdict and queue, as often as each commits."""

_ENTRIES = [
    {"name": f"node-{number:03}", "group": f"group-{number % 7}", "labels": {"rack": f"r{number % 11}", "at": number}}
    for number in range(400)
]


def loop(clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of a fixed piece of Python: encode, decode, group, sort. By default of processor time."""
    began = clock()
    for _ in range(3):
        decoded = json.loads(json.dumps(_ENTRIES))
        groups: dict[str, list[str]] = {}
        for entry in decoded:
            groups.setdefault(entry["group"], []).append(entry["name"])
        sorted(decoded, key=lambda entry: (entry["labels"]["rack"], -entry["labels"]["at"]))
    return clock() - began


def loops(count: int = 25) -> float:
    """Return the median of ``loop``."""
    return statistics.median(loop() for _ in range(count))


class Phase:
    """Seconds of ``ROUND_TRIPS`` transactions that update one row, and of one ``loop``, all by the wall clock."""

    def __init__(self, database: sa.Engine) -> None:
        self._database = database
        with database.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE reference (number int)")
            connection.exec_driver_sql("INSERT INTO reference VALUES (0)")

    def __call__(self, rounds: int = 10) -> float:
        """Return the median of some rounds."""
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            for _ in range(ROUND_TRIPS):
                with self._database.begin() as connection:
                    connection.exec_driver_sql("UPDATE reference SET number = number + 1")
            took.append(time.perf_counter() - began + loop(time.perf_counter))
        return statistics.median(took)
