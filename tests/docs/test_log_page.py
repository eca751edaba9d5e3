"""The page about log messages lists every message that the service logs."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEVELS = {"info", "warning", "error", "exception", "critical"}


def logged() -> set[str]:
    """Return the constant messages of the package, but for the audit log, whose lines have another page."""
    messages = {
        call.args[0].value
        for path in sorted((ROOT / "shipyard_api").rglob("*.py"))
        if path.name != "audit.py"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant)
        if is_logging(call.func)
    }
    return {message for message in messages if isinstance(message, str)}


def is_logging(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr in LEVELS and isinstance(function.value, ast.Name) and function.value.id == "LOG"
    return isinstance(function, ast.Name) and function.id == "Headline"


def test_the_page_of_log_messages_lists_them_all() -> None:
    page = (ROOT / "docs" / "reference" / "log.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| (?:INFO|WARNING|ERROR)", page, re.MULTILINE)
    listed = {message for row in rows for message in re.findall(r"`([^`]+)`", row)}

    assert logged() <= listed
