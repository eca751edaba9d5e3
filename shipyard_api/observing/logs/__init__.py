"""Logging: one JSON object a line on stdout, a constant message plus fields; and no secrets in any of them."""

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TextIO

from shipyard_api.domain.exact_secrets import HIDDEN
from shipyard_api.observing import request_context
from shipyard_api.observing.logs.redaction import (
    Redacted,
    is_secret,
    left_out,
    redacted,
    redacted_query,
    shortened,
    shortened_query,
)

__all__ = ["AUDIT", "JsonLines", "configure", "redacted", "redacted_query", "shortened", "shortened_query"]

AUDIT = "shipyard.audit"
"""The logger of the audit log: writes and refused writes, with their callers."""

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# The most characters of one text, of one field as JSON, and of all fields of a line. More of an exception is read,
# because its end has the cause.
_LONGEST_TEXT = 16_000
_LONGEST_EXCEPTION = 160_000
_LONGEST_FIELD = 32_000
_LONGEST_LINE = 64_000
# The most characters that JSON makes of one: both halves of a surrogate pair, or an escaped backslash.
_WIDEST = 12
_WIDEST_OF_ASCII = 2


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; ``extra`` becomes fields. Secrets are left out.

    Long texts are cut, and the cut is marked: callers influence the length of some texts.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line end."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **request_context.log_fields(),
        }
        line.update({key: value for key, value in vars(record).items() if key not in _PLAIN})
        if record.exc_info:
            rendered = shortened(self.formatException(record.exc_info), _LONGEST_EXCEPTION)
            line["exception"] = Redacted(_without_middle(rendered, _LONGEST_TEXT))
        fields = []
        room = _LONGEST_LINE
        for key, value in line.items():
            shown = _fitting(_without_secrets(key, value), min(room, _LONGEST_FIELD))
            fields.append(f"{json.dumps(key)}: {shown}")
            room = max(0, room - len(fields[-1]))
        return f"{{{', '.join(fields)}}}"


class _Lines(logging.StreamHandler[TextIO]):
    """Drops lines that cannot be written, and says how many before the next one that can."""

    _dropped = 0
    _reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line. Never raises: what the line is about goes on."""
        if dropped := self._dropped:
            self._dropped = 0
            fields = {"lines": dropped, "reason": self._reason}
            level = {"levelname": "WARNING", "levelno": logging.WARNING}
            record_of_gap = {"name": __name__, **level, "msg": "log lines could not be written", **fields}
            self._write(logging.makeLogRecord(record_of_gap))
            if self._dropped:
                self._dropped = dropped
        self._write(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Count the line, if its disk is full or its reader is gone."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        self._dropped += 1
        self._reason = error.strerror or str(error)

    def _write(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # a rotated file cannot be opened again
            self.handleError(record)


class _AuditFile(_Lines, WatchedFileHandler):
    """A file that is reopened after it was rotated; readable by its owner and group only.

    Each line is one write, so several processes may append to the same file.
    """

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o640))


def configure(level: str, audit_file: str = "") -> None:
    """Log records of that level and above to stdout; those of libraries from WARNING.

    The audit log has no level. The audit goes to its own file, if configured; raises OSError if that cannot be opened.
    """
    handler = _Lines(sys.stdout)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("procrastinate", "alembic", "urllib3", "psycopg.pool"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))
    audit = logging.getLogger(AUDIT)
    audit.setLevel(logging.INFO)
    for old in list(audit.handlers):
        audit.removeHandler(old)
        old.close()
    audit.propagate = not audit_file
    if audit_file:
        file = _AuditFile(audit_file)
        file.setFormatter(JsonLines())
        audit.addHandler(file)


def audit_fault(file: str) -> str:
    """Return why this process could not write an audit log to a file; empty if it could. Creates none."""
    path = Path(file)
    if not file or (os.access(path if path.exists() else path.parent, os.W_OK) and not path.is_dir()):
        return ""
    return f"this account cannot write to {file}"


def _without_secrets(name: str, value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if is_secret(name):
        return HIDDEN if value != "" else value
    if isinstance(value, str):
        return value if isinstance(value, Redacted) else shortened(value, _LONGEST_TEXT)
    if isinstance(value, Mapping):
        return {shortened(str(key), _LONGEST_TEXT): _without_secrets(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_secrets(name, item) for item in value]
    return value if isinstance(value, int | float) else shortened(str(value), _LONGEST_TEXT)


def _fitting(value: object, room: int) -> str:
    """Return a value as JSON; a value that does not fit becomes a text without its middle."""
    rendered = json.dumps(value)
    if len(rendered) <= room:
        return rendered
    if isinstance(value, str):
        return json.dumps(_without_middle(value, room // _WIDEST))
    return json.dumps(_without_middle(rendered, room // _WIDEST_OF_ASCII))


def _without_middle(text: str, longest: int) -> str:
    """Return a text, a longer one without its middle. Only for texts without secrets: half of one might be left."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}{left_out(len(text) - 2 * half)}{text[len(text) - half :]}"
