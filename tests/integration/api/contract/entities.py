"""The fields of what the API shows, with their types on the wire (contract: 5 to 9). More fields may be there."""

from tests.integration.api.contract.matching import (
    BOOLEAN,
    DATABASE_TIME,
    ENGINE_TIME,
    INTEGER,
    LIST,
    OBJECT,
    SOME,
    STAMP,
    TEXT,
    ULID,
    UUID,
    Each,
    Either,
    Entity,
    Pattern,
    Type,
    maybe,
)

STEP_STATES = Either(
    None,
    *("scheduled", "queued", "running", "success", "failed", "up_for_retry", "up_for_reschedule", "upstream_failed"),
    *("skipped", "removed", "restarting", "deferred", "shutdown"),
)
RUN_STATES = Either(None, "queued", "running", "success", "failed", "paused")
LIFECYCLES = Either("Pending", "Processing", "Complete", "Failed", "Paused")

NOTE = Entity(
    {
        "note_id": ULID,
        "assoc_id": Pattern("(action/[0-9A-Z]{26}|step/[0-9A-Z]{26}/.+)"),
        "subject": SOME,
        "sub_type": SOME,
        "note_val": TEXT,
        "verbosity": Either(1, 2, 3, 4, 5),
        "note_timestamp": DATABASE_TIME,
        "resolved_url_value": maybe(Pattern("Details at notedetails/[0-9A-Z]{26}")),
    }
)
STEP_SUMMARY = Entity(
    {
        "url": Pattern("/actions/[0-9A-Z]{26}/steps/.+"),
        "id": SOME,
        "index": INTEGER,
        "state": STEP_STATES,
        "notes": Each(NOTE),
    }
)
_ACTION = {
    "id": ULID,
    "name": SOME,
    "parameters": OBJECT,
    "dag_id": SOME,
    "dag_execution_date": ENGINE_TIME,
    "user": SOME,
    "context_marker": UUID,
}
CREATED = Entity(
    {
        **_ACTION,
        "timestamp": STAMP,
        "dag_status": "SCHEDULED",
        "committed_rev_id": maybe(INTEGER),
        "allow_intermediate_commits": maybe(BOOLEAN),
    }
)
LISTED = Entity(
    {
        **_ACTION,
        "datetime": DATABASE_TIME,
        "dag_status": RUN_STATES,
        "action_lifecycle": LIFECYCLES,
        "steps": Each(STEP_SUMMARY.but(notes=[])),
        "notes": Each(NOTE),
    }
)
VALIDATION = Entity({"id": ULID, "action_id": ULID, "validation_name": TEXT, "details": TEXT})
COMMAND = Entity({"id": ULID, "action_id": ULID, "command": SOME, "user": SOME, "datetime": DATABASE_TIME})
DESCRIBED = LISTED.but(steps=Each(STEP_SUMMARY), validations=Each(VALIDATION), command_audit=Each(COMMAND))

# Chapter 7.2: what the client reads, and what servers of both ages sent.
STEP = Entity(
    {
        "task_id": SOME,
        "index": INTEGER,
        "state": STEP_STATES,
        "start_date": maybe(ENGINE_TIME),
        "end_date": maybe(ENGINE_TIME),
        "duration": maybe(Type(float)),
        "try_number": INTEGER,
        "operator": Pattern("[A-Za-z]+"),
        "notes": Each(NOTE),
        "dag_id": SOME,
        "execution_date": ENGINE_TIME,
        "run_id": SOME,
        "queued_dttm": maybe(ENGINE_TIME),
        **dict.fromkeys(("hostname", "unixname", "pool", "queue"), maybe(TEXT)),
        **dict.fromkeys(("job_id", "priority_weight", "pid", "max_tries"), maybe(INTEGER)),
    }
)

# Chapter 9.1.
RUN = Entity(
    {
        "workflow_id": Pattern(r"\w+__\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"),
        "dag_id": SOME,
        "run_id": SOME,
        "state": RUN_STATES,
        "execution_date": ENGINE_TIME,
        "start_date": maybe(ENGINE_TIME),
        "end_date": maybe(ENGINE_TIME),
        "external_trigger": maybe(BOOLEAN),
        "conf": Entity({"action": Entity({"name": SOME, "id": ULID})}),
    }
)
# Chapter 9.2: full step records, without index and notes.
RUN_STEP = Entity({name: matcher for name, matcher in STEP.fields.items() if name not in ("index", "notes")})
WORKFLOW = RUN.but(sub_dags=Each(RUN), steps=Each(RUN_STEP))

# Chapter 2, message entries.
FINDING = Entity(
    {
        "message": SOME,
        "error": BOOLEAN,
        "kind": "ValidationMessage",
        "name": maybe(SOME),
        "level": Either("Error", "Warning", "Info"),
        "documents": Each(Entity({"schema": SOME, "name": SOME})),
        "diagnostic": maybe(TEXT),
    }
)
# Chapter 5.3.
DOCUMENT = Entity(
    {
        "id": Either(INTEGER, SOME),
        "status": Entity({"bucket": SOME, "revision": INTEGER}),
        "schema": SOME,
        "metadata": OBJECT,
    }
)

__all__ = [
    "COMMAND",
    "CREATED",
    "DESCRIBED",
    "DOCUMENT",
    "FINDING",
    "LIST",
    "LISTED",
    "NOTE",
    "RUN",
    "STEP",
    "WORKFLOW",
]
