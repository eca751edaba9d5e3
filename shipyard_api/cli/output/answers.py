"""An answer of the API in the output forms of the contract (shipyard-cli, chapters 4 and 5). Pure."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shipyard_api.cli.errors import ShapeError, UnreadableError
from shipyard_api.cli.output.names import names
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.shapes import parse_json
from shipyard_api.cli.output.status_text import status_text

FORMS = ("format", "raw", "cli")
KUBECTL_FORMS = ("json", "yaml", "name", "wide")
JSON, YAML, TEXT = "json", "yaml", "text"  # what a successful answer contains


@dataclass(frozen=True, slots=True)
class Answer:
    """The API's answer to one request; ``path`` is below the version, ``location`` the target of a redirect.

    ``warnings``: a JSON list of texts, from a header; empty without any.
    """

    method: str
    status: int
    content_type: str
    text: str
    path: str
    server: str
    location: str = ""
    has_token: bool = True  # whether the request carried one
    warnings: str = ""


def rendered(
    answer: Answer, form: str, *, expected: int, cli: Callable[[str], str | Printout], kind: str = JSON
) -> tuple[str | Printout, bool]:
    """Return what to print, and whether the request succeeded.

    ``cli`` renders the body of an expected answer for the form ``cli``; it may raise UnreadableError and ShapeError.
    ``kind``: JSON, YAML or TEXT, the content of an expected answer. Another content, such as the login page of a
    proxy, is an error.
    """
    good = answer.status == expected
    if answer.status == 401:
        text = "Error: Command requires authentication. Check credential values"
        return _with_line(text, source_line(answer)), False
    if answer.status == 403:
        return "Error: Unauthorized to perform this action.", False
    try:
        if form in ("json", "yaml") and (good or _is_of(answer, JSON)):
            return _converted(answer, form), good
        if form == "name" and good:
            return names(answer.text), True
        if answer.method == "POST" and answer.status in (400, 409):
            return _error_text(answer), False
        if good and not _is_of(answer, kind):
            raise UnreadableError("another content than expected")  # noqa: TRY301 - as for any unreadable body
        if form == "raw":
            return answer.text, good
        if form == "format" and (answer.text or good) and (good or _is_of(answer, YAML) or _is_of(answer, JSON)):
            return formatted(answer) if answer.text else "", good
        if good:
            return cli(answer.text), True
        return _error_text(answer), False
    except UnreadableError:
        return _with_line(f"Error: Unable to decode response. Value: {answer.text}", source_line(answer)), False
    except ShapeError as error:
        return str(error), False


def source_line(answer: Answer) -> str:
    """Return the line that names the request and the server, for an error whose body is not a Status; else "".

    For a 401, whose body is never shown, the line says whether a token was sent.
    """
    if answer.status == 401:
        if answer.has_token:
            return f"- Error: {answer.server} refuses the token that was sent: it is unknown, expired or revoked"
        return "- Error: No token was sent: set SHIPYARD_TOKEN or give --token"
    if answer.status < 300 or answer.status == 403:
        return ""
    try:
        body = parse_json(answer.text) if answer.text else None
    except UnreadableError:
        body = None
    if isinstance(body, dict) and body.keys() & {"message", "reason"}:
        return ""
    line = f"- Error: {answer.status} from {answer.server} ({answer.method} {answer.path})"
    if answer.status < 400 and answer.location:
        return f"{line}, which points to {answer.location}"
    if answer.status == 404 and isinstance(body, dict) and body.get("title") == "404 Not Found":
        # Falcon's own answer where a server of upstream has no route.
        return f"{line}: this server has no such address; it may be of another release"
    return line


def _error_text(answer: Answer) -> str:
    if refusal := _refusal(answer.text):
        return refusal
    text = status_text(answer.text, word="Error") or f"Error: Not specified\nReason: status {answer.status}"
    return _with_line(text, source_line(answer))


def _refusal(text: str) -> str:
    """Return the message of an error of the addresses of task graphs, which is no Status; else ""."""
    body = parse_json(text) if text else None
    is_one = isinstance(body, dict) and body.keys() == {"message", "errors"}
    return f"Error: {body['message']}" if is_one and isinstance(body, dict) else ""


def _with_line(text: str, line: str) -> str:
    return f"{text.rstrip()}\n{line}" if line else text


def _is_of(answer: Answer, kind: str) -> bool:
    """Return whether an answer may be of this kind. Upstream's server labels even texts as JSON (contract: rest, 1)."""
    content_type = answer.content_type.lower()
    if kind == JSON and content_type and answer.text and "json" not in content_type:
        parse_json(answer.text)
        return True
    kinds = {JSON: ("json",), YAML: ("yaml",), TEXT: ("json", "text/plain", "diff")}[kind]
    return not (content_type and answer.text) or any(known_kind in content_type for known_kind in kinds)


def _converted(answer: Answer, form: str) -> str:
    """Return the body as JSON or YAML, whichever it is; a stream of several YAML documents becomes a JSON list."""
    import yaml

    content_type = answer.content_type.lower()
    if not answer.text or content_type.startswith("text/"):
        return answer.text
    if "yaml" in content_type:
        if form == "yaml":
            return formatted(answer)
        try:
            value: Any = list(yaml.safe_load_all(answer.text))
        except yaml.YAMLError as error:
            raise UnreadableError("not YAML") from error
    else:
        value = parse_json(answer.text)
    if form == "json":
        return json.dumps(value, indent=4, ensure_ascii=False, default=str)
    return yaml.safe_dump(value, default_flow_style=False, sort_keys=False, allow_unicode=True).rstrip("\n")


def formatted(answer: Answer) -> str:
    """Return the body by its content type: JSON with sorted keys, plain text unchanged, else YAML in block style."""
    if "json" in answer.content_type.lower():
        return json.dumps(parse_json(answer.text), sort_keys=True, indent=4)
    if answer.content_type.lower().startswith("text/plain"):
        return answer.text
    import yaml

    try:
        documents = list(yaml.safe_load_all(answer.text))
    except yaml.YAMLError as error:
        raise UnreadableError("not YAML") from error
    return yaml.safe_dump_all(documents, width=79, indent=4, default_flow_style=False)
