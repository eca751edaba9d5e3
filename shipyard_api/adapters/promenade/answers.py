"""Promenade's Status bodies, read leniently (contract: promenade, 1). Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.http import Response
from shipyard_api.ports.errors import Unavailable

LONGEST = 2000  # characters of one text
_MOST = 1000  # messages


class Message(Struct, frozen=True):
    """One message of an answer; ``name``: the subject of the message, if given."""

    text: str
    error: bool = False
    name: str = ""


class Status(Struct, frozen=True):
    """A Status; fields that are missing or of another kind are empty."""

    reason: str = ""
    message: str = ""
    error_type: str = ""
    messages: tuple[Message, ...] = ()

    def __str__(self) -> str:
        """Return reason, message and messages as one text, each once."""
        parts = (self.reason, self.message, *(message.text for message in self.messages))
        return "; ".join(dict.fromkeys(filter(None, parts)))[:LONGEST]


def read_status(answer: Response) -> Status:
    """Return the Status of an answer, scrubbed; an empty one if the body is something else."""
    try:
        body = answer.scrubber.values(answer.json())
    except Unavailable:
        return Status()
    if not isinstance(body, Mapping):
        return Status()
    details = body.get("details")
    details = details if isinstance(details, Mapping) else {}
    listed = details.get("messageList")
    messages = [_message(entry) for entry in listed[:_MOST]] if isinstance(listed, list) else []
    return Status(
        _text(body.get("reason")),
        _text(body.get("message")),
        _text(details.get("errorType")),
        tuple(message for message in messages if message.text),
    )


def etcd_health(status: Status) -> dict[str, Health]:
    """Return the health of each cluster that a message names (contract: promenade, 3.3)."""
    words = {health.value.lower(): health for health in Health}
    return {
        message.name: words.get(message.text.lower(), Health.UNREACHABLE if message.error else Health.UNHEALTHY)
        for message in status.messages
        if message.name
    }


def _message(entry: Any) -> Message:
    if not isinstance(entry, Mapping):
        return Message(_text(entry))
    return Message(_text(entry.get("message")), entry.get("error") is True, _text(entry.get("name")))


def _text(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""
