"""What Deckhand says, as answers of a scripted peer: YAML, and its error body."""

from typing import Any

import yaml

from tests.peer import Answer, Request

YAML = {"Content-Type": "application/x-yaml"}


def single(value: Any, *, status: int = 200, cut: int = 0) -> Answer:
    """Return an answer of one document; ``cut`` as for any answer."""
    return Answer(status, yaml.safe_dump(value).encode(), YAML, cut)


def several(*values: Any, status: int = 200) -> Answer:
    """Return an answer of several documents."""
    return Answer(status, yaml.safe_dump_all(values).encode(), YAML)


def fault(status: int, kind: str, message: str = "no", *messages: Any) -> Answer:
    """Return an error body."""
    listed = list(messages) or [{"message": message, "error": True}]
    details = {"errorType": kind, "errorCount": len(listed), "messageList": listed}
    head = {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Failure",
        "code": f"{status} Some Phrase",
    }
    body = {**head, "message": message, "reason": "Unspecified", "retry": status == 500, "details": details}
    return single(body, status=status)


def documents(request: Request) -> list[Any]:
    """Return what a request sent."""
    return list(yaml.safe_load_all(request.body))
