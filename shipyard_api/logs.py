"""Logging: one JSON object a line on stdout, a constant message plus fields; and no secrets in any of them."""

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler

AUDIT = "shipyard.audit"
"""The logger of the audit log: who changed what, or was refused."""

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_HIDDEN = "***"
_TELLING = r"[\w-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|authorization|credential)s?"
_SECRET_NAME = re.compile(_TELLING, re.IGNORECASE)
# What gives a secret away in a text that somebody else wrote, and what is kept of it.
_GIVEN_AWAY = (
    # Tokens of our own say what they are.
    (re.compile(r"\bshipyard_[\w-]{16,}"), f"shipyard_{_HIDDEN}"),
    # The password, or the token, in an address; `@` may stand in it.
    (re.compile(r"(\w://)[^\s/?#\"']*@"), rf"\1{_HIDDEN}@"),
    # A header or a parameter with a telling name: `X-Auth-Token: a`, `'Authorization': 'Basic a'`, `?token=a&b=c`.
    (
        re.compile(rf"({_TELLING}[\"']?\s*[:=]\s*(?:b?[\"'])?)((?:basic|bearer|token)\s+)?[^\s\"'&;,]+", re.IGNORECASE),
        rf"\1{_HIDDEN}",
    ),
    (re.compile(r"\b((?:basic|bearer)\s+)[\w.~+/-]{12,}=*", re.IGNORECASE), rf"\1{_HIDDEN}"),
)


def redacted(text: str) -> str:
    """Return a text without what looks like a secret of ours or of a peer."""
    for pattern, kept in _GIVEN_AWAY:
        text = pattern.sub(kept, text)
    return text


def redacted_query(query: str) -> str:
    """Return a query string without the values of parameters that are secrets by their name, however it is encoded."""
    parts = []
    for part in query.split("&"):
        name, equals, _ = part.partition("=")
        # A name with a code in it is none of ours; what it stands for may be.
        secret = bool(_SECRET_NAME.fullmatch(name)) or "%" in name
        parts.append(f"{name}={_HIDDEN}" if equals and secret else redacted(part))
    return "&".join(parts)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; what was given as ``extra`` becomes fields. Secrets are left out."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line end."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({key: value for key, value in vars(record).items() if key not in _PLAIN})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({key: _without_secrets(key, value) for key, value in line.items()}, default=str)


class _AuditFile(WatchedFileHandler):
    """A file that is opened anew when somebody has moved it away; nobody else may read it.

    A line is written at once and whole, so several processes may append to the same file.
    """

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o640))


def configure(level: str, audit_file: str = "") -> None:
    """Send everything of that level and above to stdout. The queue's own chatter starts at WARNING.

    The audit log has no level. It goes to a file of its own if one is named; raises OSError if that cannot be opened.
    """
    handler = logging.StreamHandler(sys.stdout)
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
        own = _AuditFile(audit_file)
        own.setFormatter(JsonLines())
        audit.addHandler(own)


def _without_secrets(name: str, value: object) -> object:
    if isinstance(value, str):
        return _HIDDEN if value and _SECRET_NAME.fullmatch(name) else redacted(value)
    if isinstance(value, Mapping):
        return {str(key): _without_secrets(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_secrets(name, item) for item in value]
    return value if isinstance(value, bool | int | float | None) else redacted(str(value))
