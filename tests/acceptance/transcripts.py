"""What commands printed, without what differs from run to run, and the files it is compared with.

Everything that is replaced keeps its shape and its width, so that columns stay where they are.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FORMS = ("raw", "format", "cli")
WRITE = os.environ.get("SHIPYARD_GOLDEN") == "write"
FOLDER = Path(__file__).parent / "golden"

_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Output:
    """How one command line ended, in one form."""

    code: int
    text: str


def plain(text: str) -> str:
    """Return the text with placeholders for ids, hashes, times, durations, ports and processes, of the same width."""
    text = _TIME.sub(_shape_of_time, text)
    text = _numbered(_ULID, "id", text)
    text = _numbered(_UUID, "uuid", text)
    text = _numbered(_HASH, "hash", text)
    text = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: "P" * len(found[0]), text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "hh:mm:ss", text)
    text = re.sub(r"(?<=Took:)( +)\d+:\d\d\b|\b\d:\d\d\b(?= )", lambda found: f"{found[1] or ''}M:SS", text)
    # Not the width, as with names of hosts; so only where no column follows.
    text = re.sub(rf"\b{re.escape(socket.gethostname())}:\d+\b", "HOST:PID", text)
    text = re.sub(r'("(?:duration|seconds)": )[\d.e-]+', r"\1SECONDS", text)
    text = re.sub(rf'("hostname": )"{re.escape(socket.gethostname())}"', r'\1"HOST"', text)
    text = re.sub(r'("pid": )\d+', r"\1PID", text)
    # Whether the provisioner was seen at work depends on when it was looked at.
    text = re.sub(r"(?m)^\S+ waiting +for .*, (queued|running), until .*\n", "", text)
    text = re.sub(r'("running_at": )(null|"[^"]*")', r'\1"SEEN OR NOT"', text)
    return re.sub(r"(?m)^(Duration: +)([\d.e-]+)( *)$", _duration, text)


def _shape_of_time(found: re.Match[str]) -> str:
    zone = "+hh:mm" if (found[3] or "").startswith(("+", "-")) else found[3] or ""
    fraction = "." + "f" * (len(found[2]) - 1) if found[2] else ""
    return f"YYYY-MM-DD{found[1]}hh:mm:ss{fraction}{zone}"


def _numbered(pattern: re.Pattern[str], name: str, text: str) -> str:
    seen: dict[str, str] = {}

    def replacement(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"<{name}-{len(seen) + 1}>".ljust(len(found[0]), "."))

    return pattern.sub(replacement, text)


def _duration(found: re.Match[str]) -> str:
    return found[1] + "SECONDS".ljust(len(found[2]) + len(found[3]))


def transcript(line: str, outputs: Mapping[str, Output]) -> str:
    """Return a page that shows a command line and what it printed; forms that print the same stand together.

    Where a line ends in blanks, a ``$`` shows where.
    """
    together: dict[Output, list[str]] = {}
    for form, output in outputs.items():
        together.setdefault(Output(output.code, plain(output.text)), []).append(form)
    parts = [f"$ {plain(line)}"]
    for output, forms in together.items():
        shown = re.sub(r"([ \t])$", r"\1$", output.text, flags=re.MULTILINE)
        parts.append(f"=== {', '.join(forms)}: exit code {output.code}\n{shown}")
    return "\n".join(parts)


def compared(name: str, text: str, difference: Callable[[str, str], str]) -> str:
    """Return how the text differs from the file of that name; empty if it does not.

    With SHIPYARD_GOLDEN=write in the environment the file is written instead.
    """
    path = FOLDER / f"{name}.txt"
    if WRITE:
        path.write_text(text, "utf-8")
        return ""
    if not path.is_file():
        return f"{path.name} is missing: run again with SHIPYARD_GOLDEN=write, and read what it wrote"
    return difference(path.read_text("utf-8"), text)
