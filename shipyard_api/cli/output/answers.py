"""Answers as text, in the forms and to the letter of the contract (shipyard-cli, chapters 4 and 5). Pure.

The words of errors and the summary line of a Status are read by scripts in the field.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shipyard_api.cli.output.printout import Difference, Page, table
from shipyard_api.cli.output.snapshot import printable

JsonObject = Mapping[str, Any]

MISSHAPEN = "Error: Unable to invoke action due to: the answer has an unexpected shape"
FORMS = ("format", "raw", "cli")
JSON, YAML, TEXT = "json", "yaml", "text"  # what an answer is
_INDENT = " " * 8
_LEVELS = (("error", "fatal"), ("warn", "warning"), ("info", "debug"))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said to one request; ``path`` is below the version, ``location`` where else it sends the caller."""

    method: str
    status: int
    content_type: str
    text: str
    path: str
    server: str
    location: str = ""


def answer(
    said: Answer, form: str, *, expected: int, cli: Callable[[str], str | Page], kind: str = JSON
) -> tuple[str | Page, bool]:
    """Return what to print, and whether the request succeeded.

    ``cli`` turns the body of an expected answer into what the form ``cli`` shows; the other forms need no help.
    ``kind``: JSON, YAML or TEXT, which an expected answer has to be: what a proxy puts in its place is an error.
    """
    good = said.status == expected
    if said.status == 401:
        return "Error: Command requires authentication. Check credential values", False
    if said.status == 403:
        return "Error: Unauthorized to perform this action.", False
    try:
        if said.method == "POST" and said.status in (400, 409):
            return _refusal(said), False
        if good and not _fits(said, kind):
            raise ValueError("not what was asked for")  # noqa: TRY301 - as for any body that cannot be read
        if form == "raw":
            return said.text, good
        if form == "format" and (said.text or good) and (good or _fits(said, YAML) or _fits(said, JSON)):
            return formatted(said) if said.text else "", good
        if good:
            return cli(said.text), True
        return _refusal(said), False
    except ValueError:
        return _below(f"Error: Unable to decode response. Value: {said.text}", origin(said)), False
    except (AttributeError, KeyError, TypeError) as error:
        return f"{MISSHAPEN} ({error!r})", False


def origin(said: Answer) -> str:
    """Return who answered what to which request, where an error is no Status and says nothing of it; else ""."""
    if said.status < 300 or said.status in (401, 403):
        return ""
    try:
        body = parsed(said.text) if said.text else None
    except ValueError:
        body = None
    if isinstance(body, dict) and body.keys() & {"message", "reason"}:
        return ""
    line = f"- Error: {said.status} from {said.server} ({said.method} {said.path})"
    if said.status < 400 and said.location:
        return f"{line}, which points to {said.location}"
    if said.status == 404 and isinstance(body, dict) and body.get("title") == "404 Not Found":
        # So says a server of upstream's, as Falcon does, of what it has no route for.
        return f"{line}: this server has no such address; it may be of another release"
    return line


def _refusal(said: Answer) -> str:
    text = status(said.text, word="Error") or f"Error: Not specified\nReason: status {said.status}"
    return _below(text, origin(said))


def _below(text: str, line: str) -> str:
    return f"{text.rstrip()}\n{line}" if line else text


def _fits(said: Answer, kind: str) -> bool:
    """Say whether an answer may be of this kind. Upstream's server calls even texts JSON (contract: rest, 1)."""
    given = said.content_type.lower()
    if kind == JSON and given and said.text and "json" not in given:
        parsed(said.text)
        return True
    kinds = {JSON: ("json",), YAML: ("yaml",), TEXT: ("json", "text/plain", "diff")}[kind]
    return not (given and said.text) or any(one in given for one in kinds)


def formatted(said: Answer) -> str:
    """Return the body laid out by its content type: JSON with sorted keys, plain text as it is, else YAML in blocks."""
    if "json" in said.content_type.lower():
        return json.dumps(parsed(said.text), sort_keys=True, indent=4)
    if said.content_type.lower().startswith("text/plain"):
        return said.text
    import yaml

    try:
        documents = list(yaml.safe_load_all(said.text))
    except yaml.YAMLError as error:
        raise ValueError("not YAML") from error
    return yaml.safe_dump_all(documents, width=79, indent=4, default_flow_style=False)


def status(text: str, *, word: str) -> str:
    """Return a Status object as text; ``word`` is ``Error`` or ``Status``. Raises ValueError if it is none."""
    if not text:
        return ""
    body = parsed(text)
    if not isinstance(body, dict):
        raise ValueError("a Status must be an object")  # noqa: TRY004 - as for any body that cannot be read
    lines = [
        f"{word}: {body.get('message', 'Not specified')}",
        f"Reason: {body.get('reason', 'Not specified')}",
    ]
    details = body.get("details")
    if details and isinstance(details, dict):
        given = details.get("messageList")
        # Whatever a server puts there, its message and reason are shown.
        listed = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        counts = [0, 0, 0, 0]
        for message in listed:
            counts[_level(message)] += 1
        lines += [*messages(listed), "", "####  Errors: {}, Warnings: {}, Infos: {}, Other: {}  ####".format(*counts)]
    return "\n".join(lines)


def messages(listed: Iterable[JsonObject]) -> list[str]:
    """Return the lines of messages, errors first; of one class, in the order in which they are given."""
    return [line for message in sorted(listed, key=_level) for line in _message(message)]


def parsed(text: str) -> Any:
    """Return the text's JSON. Raises ValueError, also for nesting too deep to read."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _level(message: JsonObject) -> int:
    """Return the class of a message: 0 for errors, 1 for warnings, 2 for infos, 3 for others."""
    word = message.get("level")
    word = ("error" if message.get("error") else "info") if word is None else str(word).lower()
    return next((number for number, words in enumerate(_LEVELS) if word in words), len(_LEVELS))


def _message(message: JsonObject) -> list[str]:
    if message.get("kind") == "ValidationMessage":
        lines = [f"- {message.get('level')}: {message.get('name')}", f"{_INDENT}Message: {message.get('message')}"]
        if message.get("diagnostic"):
            lines.append(f"{_INDENT}Diagnostic: {message['diagnostic']}")
        lines += [
            f"{_INDENT}Document: {document.get('schema')} - {document.get('name')}"
            for document in message.get("documents") or []
        ]
    else:
        word = "Error" if message.get("error") else str(message.get("level") or "Info").capitalize()
        lines = [f"- {word}: {message.get('message')}"]
    if message.get("source"):
        lines.append(f"{_INDENT}Source: {message['source']}")
    # What a server says cannot look like a message of its own, or like the summary.
    return [line.replace("\n", f"\n{_INDENT}") for line in lines]


def done(title: str, text: str) -> Page:
    """Return what was done, and below it the Status that the server gave."""
    return Page([f"{title}\n{status(text, word='Status')}"])


def collections(text: str) -> Page:
    """Return the comparison of two versions of ``get configdocs``."""
    found = parsed(text)
    headers = ("Collection", "Base", "New")
    if not found:
        return Page([table([], headers)])
    last = found[-1]
    title = (
        f"   Comparing Base: {last.get('base_version')} (Deckhand revision {last.get('base_revision')})\n"
        f"    \t to New: {last.get('new_version')} (Deckhand revision {last.get('new_revision')})\n"
    )
    rows = [(row.get("collection_name"), row.get("base_status"), row.get("new_status")) for row in found]
    return Page([title, table(rows, headers, gap=10)])


def difference(text: str) -> Page:
    """Return a unified diff as it stands below the comparison of two versions."""
    diff = text.removesuffix("\n")
    return Page(["\n", Difference(diff) if diff else "No document differs."])


def harmless(text: str) -> str:
    """Return a text of the server, of any number of lines, without characters that a terminal would obey."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
