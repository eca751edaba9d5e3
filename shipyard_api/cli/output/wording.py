"""Statuses, reasons, times and durations as people read them, and texts that a terminal may print. Pure."""

from datetime import UTC, datetime, timedelta

from shipyard_api.api import entities
from shipyard_api.cli.output.shapes import JsonObject, as_entity

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


def news(action: JsonObject) -> "entities.actions.ActionNews":
    """Return what goes on in an action. Raises ShapeError."""
    return as_entity(action, entities.actions.ActionNews)


def waiting_text(waiting: "entities.actions.WaitingFor | None") -> str:
    """Return for whom and for what an action waits; empty for one that does not wait."""
    return printable(": ".join(filter(None, (waiting.who, waiting.what)))) if waiting and waiting.who else ""


def waiting_rows(waiting: "entities.actions.WaitingFor | None") -> list[tuple[str, object]]:
    """Return what a running action waits for, as fields; none for an ended one, or if the server does not say it."""
    if waiting is None or not waiting.who:
        return []
    answered = f" (last used {to_the_second(waiting.answered_at)})" if waiting.answered_at else ""
    return [
        ("Waiting For:", waiting_text(waiting)),
        ("Waiting Since:", to_the_second(waiting.since)),
        ("Last Answer:", f"{printable(waiting.last_answer or 'none')}{answered}"),
        ("Next Attempt:", to_the_second(waiting.next_attempt) or "not known until the worker reports"),
        ("Deadline:", to_the_second(waiting.deadline) or "none"),
    ]


def waiting_line(waiting: "entities.actions.WaitingFor | None", now: datetime) -> str:
    """Return what an action waits for, with how long it has waited, and how long until it asks again or gives up."""
    if waiting is None or not waiting.who:
        return ""
    since, until = parse_time(waiting.since), {"asks again": waiting.next_attempt, "gives up": waiting.deadline}
    parts = [f"for {clock(max(now - since, timedelta()))}"] if since else []
    parts += [
        f"{verb} in {clock(max(at - now, timedelta()))}" for verb, text in until.items() if (at := parse_time(text))
    ]
    parts += [f"last answer: {printable(waiting.last_answer)}"] if waiting.last_answer else []
    return f"{waiting_text(waiting)} ({', '.join(parts)})" if parts else waiting_text(waiting)


def teardown_texts(action: JsonObject) -> dict[str, str]:
    """Return, by node, which operation of its teardown is at work and what that waits for."""
    return {printable(teardown.node): _teardown_text(teardown) for teardown in news(action).teardowns}


def teardown_lines(action: JsonObject, now: datetime) -> list[str]:
    """Return a line for each node that is taken down: operation, duration and the reason of a wait."""
    lines = []
    for teardown in news(action).teardowns:
        since = parse_time(teardown.since)
        long = f" ({clock(max(now - since, timedelta()))})" if since else ""
        lines.append(f"{printable(teardown.node)}: {_teardown_text(teardown, long)}")
    return lines


def _teardown_text(teardown: "entities.actions.Teardown", long: str = "") -> str:
    waits = [printable(reason) for reason in teardown.waits_for]
    omitted = f" and {teardown.waits - len(waits)} more" if teardown.waits > len(waits) else ""
    text = f"{printable(teardown.operation)}{long}"
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


def case_rows(entity: "entities.actions.WithCases") -> list[tuple[str, object]]:
    """Return what failures have in common, each cause with the command that is proposed, as rows of a table."""
    rows: list[tuple[str, object]] = []
    for case in entity.cases or ():
        rows.append(("Cause:", printable(case.sentence)))
        if case.command:
            rows.append(("Next:", case.command))
    if entity.cases_unknown:
        rows.append(("Cause:", f"not known: {printable(entity.cases_unknown)}"))
    return rows
