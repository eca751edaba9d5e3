"""What is wrong with a run: breaches of its history, bugs that workers logged, and accepted actions that never end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import check_history


def breaches(text: str) -> list[str]:
    """Return every rule that a history breaks, with the line that shows it."""
    with TemporaryDirectory(prefix="torture") as directory:
        file = Path(directory) / "history.jsonl"
        file.write_text(text, encoding="utf-8")
        history = check_history.read(file)
    lines = text.splitlines()
    found = sorted((line, rule.__name__, said) for rule in check_history.RULES for line, said in rule(history))
    return [f"line {line}: {rule}: {said}\n{lines[line - 1]}" for line, rule, said in found]


class _Broken(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() in ("turn broke", "sweep broke"):
            self.found.append(self.format(record))


@contextmanager
def broken_turns() -> Iterator[list[str]]:
    """Collect what the product logs as a bug of its own, and let it log nothing else."""
    broken, logger = _Broken(), logging.getLogger("shipyard_api")
    before = logger.level, logger.propagate
    logger.addHandler(broken)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield broken.found
    finally:
        logger.removeHandler(broken)
        logger.setLevel(before[0])
        logger.propagate = before[1]
