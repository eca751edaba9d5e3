"""Status objects and their messages as text, to the letter of the contract (shipyard-cli, 5.3). Pure.

Scripts read the words of errors and the summary line.
"""

from collections.abc import Iterable, Sequence

from shipyard_api.cli.errors import UnreadableError
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.shapes import JsonObject, parse_json

_ABSENT = "Not specified"
_INDENT = " " * 8
_LEVELS = (("error", "fatal"), ("warn", "warning"), ("info", "debug"))


def status_text(text: str, *, word: str) -> str:
    """Return a Status object as text; ``word`` is ``Error`` or ``Status``. Raises UnreadableError if it is not one."""
    if not text:
        return ""
    body = parse_json(text)
    if not isinstance(body, dict):
        raise UnreadableError("a Status must be an object")
    reason = body.get("reason", _ABSENT)
    # An error of the server's framework, such as a 404, has only a reason (contract: shipyard-rest, 3).
    message = body.get("message", _ABSENT)
    lines = [f"{word}: {reason if message is None else message}", f"Reason: {_ABSENT if reason is None else reason}"]
    details = body.get("details")
    if details and isinstance(details, dict):
        messages = details.get("messageList")
        # A list of another shape must not hide the message and the reason.
        messages = [entry for entry in messages if isinstance(entry, dict)] if isinstance(messages, list) else []
        counts = [0, 0, 0, 0]
        for entry in messages:
            counts[_level(entry)] += 1
        summary = "####  Errors: {}, Warnings: {}, Infos: {}, Other: {}  ####".format(*counts)
        # A refusal of one sentence repeats the reason as its only message; counts are those of the list.
        lines += [*message_lines(entry for entry in messages if _says_more(entry, (message, reason))), "", summary]
    return "\n".join(lines)


def _says_more(message: JsonObject, said: Sequence[object]) -> bool:
    plain = message.get("kind") != "ValidationMessage" and not message.get("source")
    return not (plain and message.get("message") in said)


def message_lines(messages: Iterable[JsonObject]) -> list[str]:
    """Return the lines of messages: errors first, messages of one level in the given order."""
    return [line for message in sorted(messages, key=_level) for line in _lines_of(message)]


def done(title: str, text: str) -> Printout:
    """Return a title with the Status that the server returned below it."""
    return Printout([f"{title}\n{status_text(text, word='Status')}"])


def _level(message: JsonObject) -> int:
    """Return the level of a message: 0 for errors, 1 for warnings, 2 for infos, 3 for others."""
    word = message.get("level")
    word = ("error" if message.get("error") else "info") if word is None else str(word).lower()
    return next((number for number, words in enumerate(_LEVELS) if word in words), len(_LEVELS))


def _lines_of(message: JsonObject) -> list[str]:
    if message.get("kind") == "ValidationMessage":
        lines = [f"- {message.get('level')}: {message.get('name')}", f"{_INDENT}Message: {message.get('message')}"]
        if message.get("diagnostic"):
            lines.append(f"{_INDENT}Diagnostic: {message['diagnostic']}")
        documents = message.get("documents")
        lines += [
            f"{_INDENT}Document: {document.get('schema')} - {document.get('name')}"
            for document in (documents if isinstance(documents, list) else [])
            if isinstance(document, dict)
        ]
    else:
        word = "Error" if message.get("error") else str(message.get("level") or "Info").capitalize()
        lines = [f"- {word}: {message.get('message')}"]
    if message.get("source"):
        lines.append(f"{_INDENT}Source: {message['source']}")
    # Indented, so that no line of a server's text looks like another message or like the summary.
    return [line.replace("\n", f"\n{_INDENT}") for line in lines]
