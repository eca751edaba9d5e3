"""Statuses, reasons, times and durations as people read them, and texts that a terminal may print. Pure."""

from datetime import UTC, datetime, timedelta

from shipyard_api.cli.output.shapes import JsonObject

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


def reason_text(item: JsonObject) -> str:
    """Return why a group or node failed: the reason, and the detail if there is one."""
    reason, detail = status_words(item.get("reason") or "failed"), " ".join(str(item.get("detail") or "").split())
    return printable(f"{reason}: {detail}" if detail else reason)


def parse_time(text: object) -> datetime | None:
    """Return a time of the API in any of its spellings, or None; a time without a zone is UTC."""
    try:
        parsed = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def clock(span: timedelta) -> str:
    """Return a duration as 0:42, 12:34 or 1:02:03."""
    minutes, seconds = divmod(int(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
