"""Answers of the API, as the contract shows them, and builders for sites of any size."""

from datetime import UTC, datetime
from typing import Any

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"
MARKER = "a13b0122-0885-4745-84e9-39d1ce42b025"
BEGAN = "2026-11-21 01:23:55.638118+00:00"
NOW = datetime(2026, 11, 21, 1, 31, 12, tzinfo=UTC)

RUN = "deploy_site__2026-11-21T01:23:55.745506"
WORKFLOW = {
    "workflow_id": RUN,
    "state": "running",
    "dag_id": "deploy_site",
    "execution_date": "2026-11-21T01:23:55.745506Z",
    "start_date": "2026-11-21T01:23:56.020000Z",
    "end_date": None,
    "external_trigger": True,
    "sub_dags": [],
    "steps": [{"task_id": "preflight", "state": "success"}, {"task_id": "drydock_build", "state": None}],
}

NOTE = {
    "assoc_id": f"action/{ID}",
    "subject": ID,
    "sub_type": "action metadata",
    "note_val": "Configdoc revision 5",
    "verbosity": 1,
    "note_id": "01M7XV7VQ699PKH9NSP94EWGTC",
    "note_timestamp": "2026-11-21 01:23:55.750615+00:00",
    "resolved_url_value": None,
}
LINKED_NOTE = NOTE | {
    "subject": "drydock_build.verify_site",
    "sub_type": "step metadata",
    "note_val": "Tasks of Drydock",
    "resolved_url_value": "Details at notedetails/01M7XV7VQ699PKH9NSP94EWGTC",
}

STEP_IDS = (
    "action_xcom",
    "concurrency_check",
    "preflight",
    "preflight.ucp_preflight_check",
    "get_rendered_doc",
    "validate_site_design",
    "drydock_build",
    "drydock_build.verify_site",
    "drydock_build.prepare_site",
    "drydock_build.prepare_and_deploy_nodes",
    "create_action_tag",
)


def steps(*states: str | None) -> list[dict[str, Any]]:
    """The steps of deploy_site; those beyond the given states have not begun."""
    padded = [*states, *[None] * (len(STEP_IDS) - len(states))]
    return [
        {"url": f"/actions/{ID}/steps/{name}", "id": name, "index": index, "state": state, "notes": []}
        for index, (name, state) in enumerate(zip(STEP_IDS, padded, strict=True), 1)
    ]


def action(lifecycle: str = "Processing", **fields: Any) -> dict[str, Any]:
    dag = {"Processing": "running", "Complete": "success", "Failed": "failed", "Pending": "queued"}[lifecycle]
    base = {
        "id": ID,
        "name": "deploy_site",
        "parameters": {},
        "dag_id": "deploy_site",
        "dag_execution_date": "2026-11-21T01:23:55.745506Z",
        "dag_status": dag,
        "action_lifecycle": lifecycle,
        "verdict": {"Complete": "success", "Failed": "failed"}.get(lifecycle),
        "user": "admin",
        "context_marker": MARKER,
        "datetime": BEGAN,
        "steps": steps("success", "success"),
        "notes": [],
        "validations": [],
        "command_audit": [],
    }
    return base | fields


def group(name: str, status: str = "not_started", **fields: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("not_started", "prepared", "success", "failure"), 0) | fields.pop("counts", {})
    base = {
        "name": name,
        "critical": True,
        "status": status,
        "reason": None,
        "detail": "",
        "depends_on": [],
        "nodes": {"total": sum(counts.values()), **counts},
        "needs": 0,
        "phases": [],
    }
    return base | fields


def phase(kind: str, nodes: list[str], status: str = "success", at: int = 0) -> dict[str, Any]:
    return {
        "phase": kind,
        "batch": 1,
        "status": status,
        "message": "",
        "job": f"job-{at}",
        "nodes": nodes,
        "submitted_at": f"2026-11-21T01:24:{at:02}Z",
        "running_at": None,
        "ended_at": f"2026-11-21T01:24:{at + 1:02}Z",
    }


def node(name: str, status: str = "success", group_name: str = "g", **fields: Any) -> dict[str, Any]:
    base = {"name": name, "status": status, "reason": None, "detail": "", "group": group_name}
    base["groups"] = [group_name] if group_name else []
    return base | {"updated_at": "2026-11-21T01:24:40.000000Z", "late": None} | fields


def task(name: str, node: str, **fields: Any) -> dict[str, Any]:
    base = {"task": name, "node": node, "status": "failed", "exit_status": 1, "attempts": 1, "seconds": 1.5, "tail": ""}
    return base | {"began_at": BEGAN, "ended_at": None, "detail": ""} | fields


def report(**fields: Any) -> dict[str, Any]:
    """The report of an action without groups and nodes."""
    summary = {"id": ID, "name": "deploy_site", "parameters": {}, "user": "admin", "committed_rev_id": 1}
    summary |= {"dag_status": "failed", "action_lifecycle": "Failed", "created_at": BEGAN}
    counts = {"groups": {"total": 0}, "nodes": dict.fromkeys(("total", "not_started", "prepared", "success"), 0)}
    base = {"action": summary | {"started_at": None, "ended_at": None}, "verdict": "failed", "seconds": 1}
    return base | {"totals": counts, "groups": [], "nodes": []} | fields


def five_groups() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The design's example, in the middle of its second worked example."""
    second = {"critical": False, "depends_on": ["control-nodes"]}
    groups = [
        group("control-nodes", "success", counts={"success": 4}, needs=3),
        group("compute-nodes-1", "deploying", counts={"success": 3, "prepared": 7, "failure": 1}, needs=6, **second),
        group("compute-nodes-2", "preparing", counts={"prepared": 2, "not_started": 10}, needs=6, **second),
        group("monitoring-nodes", counts={"not_started": 6}, **second),
        group(
            "ntp-node",
            "failed",
            reason="prepare",
            detail="minimum_successful_nodes: 1 needed, 0 of 1 prepared",
            counts={"failure": 1},
            needs=1,
        ),
    ]
    nodes = [
        *(node(f"control{n:02}", group_name="control-nodes") for n in range(1, 5)),
        *(node(f"compute{n:02}", "success" if n < 4 else "prepared") for n in range(1, 13)),
        *(node(f"compute{n:02}", "not_started") for n in range(13, 23)),
        *(node(f"mon{n:02}", "not_started") for n in range(1, 7)),
        node("ntp01", "failure", "ntp-node", reason="prepare", detail="BMC 10.0.0.9 does not answer"),
        node("compute99", "failure", "compute-nodes-1", reason="deploy", detail="curtin: no root device"),
    ]
    return groups, nodes


def many_groups(count: int) -> list[dict[str, Any]]:
    """A site in the middle of its deployment: a few groups active, a few failed, the rest before or after."""
    half = count // 2
    return [
        group(
            f"rack-{number:04}",
            "success" if number < half else "deploying" if number < half + 2 else "not_started",
            counts={"success": 90, "prepared": 5, "failure": 5} if number < half + 2 else {"not_started": 100},
        )
        | ({"status": "failed", "reason": "deploy", "detail": "85 of 90 needed"} if number % 90 == 7 else {})
        for number in range(count)
    ]


PLAN = {
    "name": "deploy_site",
    "revision": 1,
    "refused": None,
    "findings": [{"level": "Info", "message": "all is well"}],
    "steps": ["preflight", "drydock_build"],
    "mode": {"max_parallel_groups": 2, "max_nodes_in_flight": None, "deploy_as_prepared": False},
    "totals": {"groups": 2, "critical_groups": 1, "nodes": 2, "kept": 0, "sent": 2},
    "groups": [
        {"order": 1, "name": "control-nodes", "critical": True, "depends_on": [], "nodes": ["n1"], "sends": ["n1"]}
        | {"can_succeed": True, "success_criteria": {"percent_successful_nodes": 90}},
        {"order": 2, "name": "ntp-node", "critical": False, "depends_on": ["control-nodes"]}
        | {"can_succeed": True, "success_criteria": {}, "nodes": ["n2"], "sends": ["n2"]},
    ],
}
PLAN_TEXT = """\
Plan: 2 groups, 1 critical; 2 nodes; at once: 2 groups, any number of nodes

Order   Group           Critical   Depends On      Needs          Nodes
1       control-nodes   yes                        90 % succeed   1
2       ntp-node        no         control-nodes                  1

- Info: all is well
"""
REFUSED = {
    "kind": "Status",
    "apiVersion": "v1.0",
    "metadata": {},
    "status": "Failure",
    "message": "Validations failed",
    "reason": "Validation",
    "details": {
        "errorCount": 1,
        "messageList": [
            {"message": "nothing to add", "error": False},
            {
                "message": "MTU of bond0 exceeds the switch",
                "error": True,
                "name": "DD2003",
                "documents": [{"schema": "drydock/Network/v1", "name": "oob"}],
                "level": "Error",
                "diagnostic": "see page 3",
                "source": "Drydock",
                "kind": "ValidationMessage",
            },
        ],
    },
    "code": "400 Bad Request",
}
REFUSED_TEXT = """\
Error: Validations failed
Reason: Validation
- Error: DD2003
        Message: MTU of bond0 exceeds the switch
        Diagnostic: see page 3
        Document: drydock/Network/v1 - oob
        Source: Drydock
- Info: nothing to add

####  Errors: 1, Warnings: 0, Infos: 1, Other: 0  ####
"""

FORECAST = {
    "runs": 2000,
    "seed": 1,
    "source": "history",
    "assumed": {
        "prepare": {"failure_probability": 0.01, "measured_nodes": 480, "seconds": {"p50": 610.0}},
        "deploy": {"failure_probability": 0.03, "measured_nodes": 472, "seconds": {"p50": 1805.0}},
    },
    "success": {"probability": 0.089, "low": 0.0769, "high": 0.1018},
    "nodes_lost": {"mean": 2.361},
    "groups": [
        {
            "name": "compute",
            "critical": True,
            "success": {"probability": 0.089, "low": 0.0769, "high": 0.1018},
            "nodes": 60,
            "starts": {"p50": 0.0},
            "seconds": {"p50": 2415.0},
            "phases": [
                {"phase": "prepare", "starts": {"p50": 0.0}, "seconds": {"p50": 610.0}},
                {"phase": "deploy", "starts": {"p50": 610.0}, "seconds": {"p50": 1805.0}},
            ],
        },
        {
            "name": "monitoring",
            "critical": False,
            "success": {"probability": 1.0, "low": 0.998, "high": 1.0},
            "nodes": 2,
            "starts": None,
            "seconds": None,
            "phases": [],
        },
    ],
    "relax": {
        "group": "compute",
        "criterion": "percent_successful_nodes",
        "from": 100,
        "to": 93,
        "probability_after": 0.902,
    },
    "seconds": {"p10": 2201.0, "p50": 2415.0, "p90": 3830.0},
}
