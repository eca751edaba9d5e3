"""Statuses, reasons, times and durations as people read them, and texts that a terminal may print. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from shipyard_api.cli.output.shapes import JsonObject, list_at, objects_at

_DAY = 24  # hours
NODE_STATUS_WORDS = {"success": "deployed", "prepared": "prepared", "failure": "failed", "not_started": "not started"}


def printable(text: object) -> str:
    """Return one line of text without the characters that control a terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))


def printable_lines(text: str) -> str:
    """Return lines of text, tabs included, without the characters that control a terminal."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def status_words(status: object) -> str:
    """Return a status of the REST API as words: ``not_started`` becomes ``not started``."""
    return printable(str(status).replace("_", " "))


def node_words(status: object, reason: object = None) -> str:
    """Return the status of a node as words: ``success`` becomes ``deployed``, and a removed node is taken down."""
    if reason == "teardown" and status == "not_started":
        return "taken down"
    return NODE_STATUS_WORDS.get(str(status)) or status_words(status)


def reason_text(reason: object, detail: object) -> str:
    """Return why a group or node failed: the reason, and the detail if there is one."""
    why = [status_words(reason or "failed"), " ".join(str(detail or "").split())]
    return printable(": ".join(filter(None, why)))


def to_the_second(text: object) -> str:
    """Return a time to the second, in UTC; empty for none. All tables that are ours have this form."""
    at = parse_time(text)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at else ""


def waiting_text(action: JsonObject) -> str:
    """Return for whom and for what an action waits; empty for one that does not wait."""
    waiting = action.get("waiting_for")
    if not isinstance(waiting, Mapping) or not waiting.get("who"):
        return ""
    return printable(": ".join(str(waiting[key]) for key in ("who", "what") if waiting.get(key)))


def waiting_rows(action: JsonObject) -> list[tuple[str, object]]:
    """Return what a running action waits for, as fields; none for an ended one, or if the server does not say it."""
    waiting = action.get("waiting_for")
    if not (text := waiting_text(action)) or not isinstance(waiting, Mapping):
        return []
    answered = f" (last used {to_the_second(waiting['answered_at'])})" if waiting.get("answered_at") else ""
    return [
        ("Waiting For:", text),
        ("Waiting Since:", to_the_second(waiting.get("since"))),
        ("Last Answer:", f"{printable(waiting.get('last_answer') or 'none')}{answered}"),
        ("Next Attempt:", to_the_second(waiting.get("next_attempt")) or "not known until the worker reports"),
        ("Deadline:", to_the_second(waiting.get("deadline")) or "none"),
    ]


def waiting_line(action: JsonObject, now: datetime) -> str:
    """Return what an action waits for, with how long it has waited, and how long until it asks again or gives up."""
    waiting = action.get("waiting_for")
    if not (text := waiting_text(action)) or not isinstance(waiting, Mapping):
        return ""
    parts = []
    for word, key in (("for", "since"), ("asks again in", "next_attempt"), ("gives up in", "deadline")):
        if moment := parse_time(waiting.get(key)):
            span = now - moment if key == "since" else moment - now
            parts.append(f"{word} {clock(max(span, timedelta()))}")
    if waiting.get("last_answer"):
        parts.append(f"last answer: {printable(waiting['last_answer'])}")
    return f"{text} ({', '.join(parts)})" if parts else text


def teardown_texts(action: JsonObject) -> dict[str, str]:
    """Return, by node, which operation of its teardown is at work and what that waits for."""
    return {printable(teardown.get("node")): _teardown_text(teardown) for teardown in objects_at(action, "teardowns")}


def teardown_lines(action: JsonObject, now: datetime) -> list[str]:
    """Return a line for each node that is taken down: operation, duration and the reason of a wait."""
    lines = []
    for teardown in objects_at(action, "teardowns"):
        since = parse_time(teardown.get("since"))
        long = f" ({clock(max(now - since, timedelta()))})" if since else ""
        lines.append(f"{printable(teardown.get('node'))}: {_teardown_text(teardown, long)}")
    return lines


def _teardown_text(teardown: JsonObject, long: str = "") -> str:
    waits = [printable(reason) for reason in list_at(teardown, "waits_for")]
    count = teardown.get("waits")
    omitted = f" and {count - len(waits)} more" if isinstance(count, int) and count > len(waits) else ""
    text = f"{printable(teardown.get('operation'))}{long}"
    return f"{text} waits for {'; '.join(waits)}{omitted}" if waits else text


def yaml_fault(error: Exception) -> str:
    """Return where a text is not YAML, and why, on one line."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return printable(where + (problem or " ".join(str(error).split())))


def parse_time(text: object) -> datetime | None:
    """Return a time of the API in any of its spellings, or None; a time without a zone is UTC."""
    try:
        parsed = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def clock(span: timedelta) -> str:
    """Return a duration as 0:42, 12:34 or 1:02:03, and from a day on, to the minute, as 2 d 6:22."""
    minutes, seconds = divmod(int(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= _DAY:
        return f"{hours // _DAY} d {hours % _DAY}:{minutes:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def case_rows(entity: JsonObject) -> list[tuple[str, object]]:
    """Return what failures have in common, each cause with the command that is proposed, as rows of a table."""
    rows: list[tuple[str, object]] = []
    for case in objects_at(entity, "cases"):
        rows.append(("Cause:", printable(case.get("sentence"))))
        if case.get("command"):
            rows.append(("Next:", case["command"]))
    if why := entity.get("cases_unknown"):
        rows.append(("Cause:", f"not known: {printable(why)}"))
    return rows
