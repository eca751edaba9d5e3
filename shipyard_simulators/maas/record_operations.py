"""Records of machines: events in pages, and script results."""

import base64
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from shipyard_simulators.maas.calls import Call, Operations
from shipyard_simulators.maas.errors import MaasError, invalid
from shipyard_simulators.maas.machine import Machine, ScriptSet
from shipyard_simulators.maas.wire import API

_LEVELS = {"AUDIT": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_LIMIT, _MOST = 100, 1000
_KINDS = ("Commissioning", "Installation", "Testing")
_KIND_WORDS = {"commissioning": 0, "installation": 1, "testing": 2} | {str(number): number for number in range(3)}


def query_events(call: Call) -> dict[str, Any]:
    """Return a page of events, newest first."""
    query = call.query
    limit = query.number("limit", _LIMIT)
    if not 1 <= limit <= _MOST:
        raise MaasError(400, f"Requested number of events {limit} is greater than limit: {_MOST}")
    if "before" in query and "after" in query:
        raise MaasError(400, "There is undetermined behaviour when both after and before are specified.")
    level = query.get("level", "INFO").upper()
    if level not in _LEVELS:
        raise MaasError(400, f"Unrecognised log level: {level}")
    wanted = [each for each in call.region.events if _fits(call, each, level)]
    if "after" in query:
        after = query.number("after", 0)
        # The next ones in order of time, so that a client that follows misses none.
        page = [each for each in wanted if each["id"] > after][:limit]
    else:
        before = query.number("before", len(call.region.events) + 1)
        page = [each for each in wanted if each["id"] < before][-limit:]
    page.reverse()
    newest = page[0]["id"] if page else query.number("after", max(query.number("before", 1) - 1, 0))
    oldest = page[-1]["id"] if page else query.number("before", query.number("after", 0) + 1)
    return {
        "count": len(page),
        "events": [_show_event(call, each) for each in page],
        "next_uri": _uri(call, "after", newest),
        "prev_uri": _uri(call, "before", oldest),
    }


def _fits(call: Call, event: dict[str, Any], level: str) -> bool:
    if (event["level"] != level) if level == "AUDIT" else (_LEVELS[event["level"]] < _LEVELS[level]):
        return False
    machine = call.region.machines.get(event["system_id"])
    if machine is None or not call.sees(machine):
        return False
    found: dict[str, list[str]] = {
        "id": [machine.system_id],
        "hostname": [machine.hostname],
        "mac_address": machine.mac_addresses,
        "zone": [machine.zone],
        "domain": [machine.domain],
        "agent_name": [machine.agent_name],
        "owner": [event["user"]],
    }
    query = call.query
    return all(name not in query or set(values) & set(query.all(name)) for name, values in found.items())


def _show_event(call: Call, event: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": event["id"],
        "node": event["system_id"],
        "hostname": call.region.machines[event["system_id"]].hostname,
        "username": event["user"],
        "level": event["level"],
        "created": f"{datetime.fromtimestamp(event['moment'], UTC):%a, %d %b. %Y %H:%M:%S}",
        "type": event["kind"],
        "description": event["text"],
    }


def _uri(call: Call, direction: str, number: int) -> str:
    kept = [(name, value) for name, value in call.query.pairs() if name not in ("op", "before", "after")]
    return f"{API}/events/?{urlencode([('op', 'query'), *kept, (direction, number)])}"


def read_results(call: Call) -> list[dict[str, Any]]:
    """Return the results of one machine, of all kinds or of one, oldest first."""
    machine, wanted = call.machine(), _kind(call, "type")
    output = call.query.flag("include_output")
    return [
        {
            "id": scripts.number,
            "system_id": machine.system_id,
            "type": scripts.kind,
            "type_name": _KINDS[scripts.kind],
            "last_ping": None,
            "status": _status(scripts)[0],
            "status_name": _status(scripts)[1],
            "started": _time(scripts.started),
            "ended": _time(scripts.ended),
            "runtime": "" if scripts.ended is None else f"0:00:{scripts.ended - scripts.started:05.2f}",
            "results": [_show_script(machine, scripts, output=output)],
            "resource_uri": f"{API}/nodes/{machine.system_id}/results/{scripts.number}/",
        }
        for scripts in machine.scripts
        if wanted is None or scripts.kind == wanted
    ]


def _show_script(machine: Machine, scripts: ScriptSet, *, output: bool) -> dict[str, Any]:
    text = _encoded(scripts.output)
    return {
        "id": scripts.number,
        "name": _name(scripts),
        "status": _status(scripts)[0],
        "status_name": _status(scripts)[1],
        "exit_status": None if scripts.ended is None else int(not scripts.passed),
        "started": _time(scripts.started),
        "ended": _time(scripts.ended),
        "system_id": machine.system_id,
        **({"output": text, "stdout": text, "stderr": "", "result": ""} if output else {}),
    }


def read_old_results(call: Call) -> list[dict[str, Any]]:
    """Return results in the format of older releases."""
    wanted, ids = _kind(call, "result_type"), call.query.all("system_id")
    if call.path.get("kind") == "commissioning":
        wanted = 0
    return [
        {
            "id": scripts.number,
            "name": _name(scripts),
            "script_result": int(not scripts.passed),
            "result_type": scripts.kind,
            "node": {"system_id": machine.system_id},
            "data": _encoded(scripts.output),
            "created": _time(scripts.started),
            "updated": _time(scripts.ended),
            "resource_uri": f"{API}/commissioning-results/",
        }
        for machine in call.region.machines.values()
        if call.sees(machine) and (not ids or machine.system_id in ids)
        for scripts in machine.scripts
        if wanted is None or scripts.kind == wanted
    ]


def _kind(call: Call, field: str) -> int | None:
    if field not in call.query:
        return None
    kind = _KIND_WORDS.get(call.query.get(field))
    if kind is None:
        raise invalid(field, "Unrecognised type.")
    return kind


def _name(scripts: ScriptSet) -> str:
    return ("50-maas-01-commissioning", "/tmp/install.log", "smartctl-validate")[scripts.kind]  # noqa: S108  (a name, no file)


def _status(scripts: ScriptSet) -> tuple[int, str]:
    if scripts.ended is None:
        return 1, "Running"
    return (2, "Passed") if scripts.passed else (3, "Failed")


def _time(moment: float | None) -> str | None:
    return None if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S.%f}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


EVENTS: Operations = {("GET", "query"): query_events}
RESULTS: Operations = {("GET", None): read_results}
OLD_RESULTS: Operations = {("GET", None): read_old_results}
