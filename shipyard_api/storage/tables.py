"""The database schema. Migrations must produce exactly this; a test compares them.

Rules that must always hold are named constraints. The name maps a violation to a domain error.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.cases import CaseChanged, CaseClosed, CaseOpened
from shipyard_api.domain.facts.jobs import JobStarted, LateResult
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.storage.site_tables import metadata

ONE_SITE_ACTION = "actions_one_site_action_at_a_time"
ONE_FOR_EACH_KEY = "actions_one_for_each_key"

_MOMENT = sa.DateTime(timezone=True)
_ACTION = sa.String(26)

actions = sa.Table(
    "actions",
    metadata,
    sa.Column("id", _ACTION, primary_key=True),
    sa.Column("name", sa.String(50), nullable=False),
    sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("context_marker", sa.String(36), nullable=False),
    sa.Column("traceparent", sa.String(55)),  # of the request, if it was traced (W3C Trace Context)
    # NULL for an action that needs no documents while none are committed.
    sa.Column("revision", sa.Integer),
    sa.Column("allow_intermediate_commits", sa.Boolean),
    # What the caller sent as Idempotency-Key, and a sha256 of the request that came with it.
    sa.Column("idempotency_key", sa.String(255)),
    sa.Column("request_digest", sa.LargeBinary(32)),
    # Owner of the key: the id of a token or user, as names are not unique. NULL without a key, and if it is not known.
    sa.Column("caller", sa.Text),
    # Whether no other site action may run until this one has ended.
    sa.Column("exclusive", sa.Boolean, nullable=False),
    # Inputs frozen at creation: later commits do not change a running action.
    sa.Column("inputs", sa.JSON(none_as_null=True), nullable=False),
    # What the action reads of the site's task graph, roles and settings, frozen as well; NULL: nothing, or all when it
    # needs it, if an earlier release created the action.
    sa.Column("software", sa.JSON(none_as_null=True)),
    sa.Column("state", sa.String(16), nullable=False),
    # The user who stopped the action; the next turn carries it out.
    sa.Column("stopped_by", sa.Text),
    # Number of the latest turn; writes of earlier turns are rejected.
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    # When the next turn is due; the sweep compares it with the clock.
    sa.Column("wake_at", _MOMENT),
    # What the action waits for, as its latest turn left it; NULL before its first turn.
    sa.Column("waiting_for", sa.JSON(none_as_null=True)),
    # The limits that an operator has set since the action was created; NULL: those of its inputs.
    sa.Column("limits", sa.JSON(none_as_null=True)),
    sa.Column("created_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    sa.Column("started_at", _MOMENT),
    sa.Column("ended_at", _MOMENT),
    # Where the server's write-ahead log was when the newest turn began.
    sa.Column("place", sa.BigInteger),
    # What the action recorded after the first moment may be lost; the first turn after that was at the second.
    sa.Column("lost_after", _MOMENT),
    sa.Column("loss_noticed_at", _MOMENT),
    # What an operator has said of jobs whose record may be lost; NULL: nothing.
    sa.Column("job_answers", sa.JSON(none_as_null=True)),
    # What people have said of the gates between waves; NULL: nothing.
    sa.Column("approvals", sa.JSON(none_as_null=True)),
    sa.CheckConstraint("state IN ('queued', 'running', 'paused', 'success', 'failed')", name="state_known"),
    sa.CheckConstraint("(ended_at IS NOT NULL) = (state IN ('success', 'failed'))", name="ended_has_end"),
    # For actions created since a time, and for the action created at exactly that time.
    sa.Index(None, "created_at"),
)
sa.Index(
    ONE_SITE_ACTION,
    actions.c.exclusive,
    unique=True,
    postgresql_where=sa.text("exclusive AND state IN ('queued', 'running', 'paused')"),
)
sa.Index(
    ONE_FOR_EACH_KEY,
    actions.c.caller,
    actions.c.idempotency_key,
    unique=True,
    postgresql_where=sa.text("idempotency_key IS NOT NULL"),
)
sa.Index(
    "actions_wake_at_index", actions.c.wake_at, postgresql_where=sa.text("state IN ('queued', 'running', 'paused')")
)

steps = sa.Table(
    "steps",
    metadata,
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(128), nullable=False),
    sa.Column("state", sa.String(24)),
    # State of the step, versioned JSON; the tables of groups and nodes are projections of it.
    sa.Column("memory", sa.JSON(none_as_null=True)),
    # A long, constant part of the state, kept apart so that not every turn writes it.
    sa.Column("fixed", sa.Text),
    sa.Column("intent", sa.JSON(none_as_null=True)),
    sa.Column("started_at", _MOMENT),
    sa.Column("ended_at", _MOMENT),
    sa.Column("detail", sa.Text, nullable=False, server_default=""),
    sa.UniqueConstraint("action_id", "id"),
    sa.CheckConstraint("state IN ('running', 'success', 'failed', 'upstream_failed', 'skipped')", name="state_known"),
)

node_teardowns = sa.Table(
    "node_teardowns",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("operation", sa.String(32), nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    # Whether a member of the node may have left its etcd cluster by then.
    sa.Column("etcd_begun", sa.Boolean, nullable=False),
    sa.Column("at", _MOMENT, nullable=False),
    sa.Index(None, "node", "id"),
)

work_items = sa.Table(
    "work_items",
    metadata,
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("step_id", sa.String(128), primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, sa.Identity(always=True), nullable=False),
    # What the item works from; it never changes.
    sa.Column("task", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    # The item's own state, versioned JSON, as that of a step.
    sa.Column("memory", sa.JSON(none_as_null=True)),
    sa.Column("intent", sa.JSON(none_as_null=True)),
    # The number of the item's latest turn; a write of an earlier turn is refused.
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    # What the item waits for, if that is worth showing; the row of its action shows it together with other items.
    sa.Column("waiting_for", sa.JSON(none_as_null=True)),
    # When the next turn is due. Absent while a run holds the item, while it rests in a pause, and after its end.
    sa.Column("wake_at", _MOMENT),
    sa.Column("holder", sa.Text),
    # Why the item must end before it has succeeded or failed.
    sa.Column("stop", sa.Text),
    # How many turns in a row ended in a bug.
    sa.Column("broken", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("detail", sa.Text, nullable=False, server_default=""),
    # Whether the step has folded the item's end.
    sa.Column("gathered", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("started_at", _MOMENT),
    sa.Column("ended_at", _MOMENT),
    sa.CheckConstraint("state IN ('queued', 'running', 'success', 'failed', 'stopped')", name="state_known"),
    sa.CheckConstraint("(ended_at IS NOT NULL) = (state IN ('success', 'failed', 'stopped'))", name="ended_has_end"),
)
# Few of many items are due, open, or ended and not gathered at any time.
sa.Index(
    "work_items_due_index",
    work_items.c.action_id,
    work_items.c.wake_at,
    work_items.c.position,
    postgresql_where=sa.text("ended_at IS NULL AND wake_at IS NOT NULL"),
)
sa.Index(
    "work_items_held_index", work_items.c.holder, postgresql_where=sa.text("ended_at IS NULL AND holder IS NOT NULL")
)
sa.Index(
    "work_items_open_index", work_items.c.action_id, work_items.c.step_id, postgresql_where=sa.text("ended_at IS NULL")
)
sa.Index(
    "work_items_ended_index",
    work_items.c.action_id,
    work_items.c.step_id,
    work_items.c.ended_at,
    work_items.c.position,
    postgresql_where=sa.text("ended_at IS NOT NULL AND NOT gathered"),
)

deployment_groups = sa.Table(
    "deployment_groups",
    metadata,
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("critical", sa.Boolean, nullable=False),
    sa.Column("depends_on", ARRAY(sa.Text), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(16)),
    sa.Column("detail", sa.Text, nullable=False, server_default=""),
    sa.UniqueConstraint("action_id", "name"),
    sa.CheckConstraint("status IN ('not_started', 'preparing', 'deploying', 'success', 'failed')", name="status_known"),
    sa.CheckConstraint("(reason IS NOT NULL) = (status = 'failed')", name="failed_has_reason"),
)

group_phases = sa.Table(
    "group_phases",
    metadata,
    sa.Column("action_id", _ACTION, primary_key=True),
    sa.Column("group_name", sa.String(128), primary_key=True),
    sa.Column("phase", sa.String(8), primary_key=True),
    # A phase has several batches if nodes in flight are bounded or nodes are deployed as they are prepared.
    sa.Column("batch", sa.Integer, primary_key=True, autoincrement=False, server_default="1"),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("nodes", ARRAY(sa.Text), nullable=False),
    sa.Column("message", sa.Text, nullable=False, server_default=""),
    sa.Column("submitted_at", _MOMENT, nullable=False),
    # When a poll first saw the job running; NULL if it ended before.
    sa.Column("running_at", _MOMENT),
    sa.Column("ended_at", _MOMENT),
    sa.ForeignKeyConstraint(["action_id", "group_name"], ["deployment_groups.action_id", "deployment_groups.name"]),
    sa.CheckConstraint("phase IN ('prepare', 'deploy')", name="phase_known"),
)

action_nodes = sa.Table(
    "action_nodes",
    metadata,
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(16)),
    sa.Column("detail", sa.Text, nullable=False, server_default=""),
    # The group that sent the node last, and all groups that contain it.
    sa.Column("group_name", sa.String(128)),
    sa.Column("groups", ARRAY(sa.Text), nullable=False),
    sa.Column("updated_at", _MOMENT, nullable=False),
    # When the provisioner's selection put the node into the action.
    sa.Column("known_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    # Since when it is late, and the seconds that its phase usually lasts; both are absent once its status changes.
    sa.Column("late_since", _MOMENT),
    sa.Column("late_usual", sa.Double),
    # What the action gives the node if it succeeds, by aspect; NULL for a node that it leaves alone.
    sa.Column("given", JSONB(none_as_null=True)),
    # Whether the action leaves the node alone, and with something else than it would give a new one.
    sa.Column("older", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.CheckConstraint("status IN ('not_started', 'prepared', 'success', 'failure')", name="status_known"),
    # For the latest action of each node, and for all actions of one node.
    sa.Index(None, "name", "action_id"),
)

sa.Index("action_nodes_late_index", action_nodes.c.action_id, postgresql_where=sa.text("late_since IS NOT NULL"))

# A row for each fact that gives nodes a status: what each node of an action went through.
node_changes = sa.Table(
    "node_changes",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), nullable=False),
    # The group and the phase that sent the nodes; absent where no move of the action did.
    sa.Column("group_name", sa.String(128)),
    sa.Column("phase", sa.String(16)),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(16)),
    sa.Column("nodes", ARRAY(sa.Text), nullable=False),
    # One for each of the nodes, or none at all.
    sa.Column("details", ARRAY(sa.Text), nullable=False),
    # Whether the action had stopped waiting by then.
    sa.Column("late", sa.Boolean, nullable=False),
    sa.Column("at", _MOMENT, nullable=False),
    sa.Index(None, "action_id", "group_name"),
)

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("step_id", sa.String(128)),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("at", _MOMENT, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
    sa.Index(None, "action_id", "id"),
)

# Entries that name a job of the provisioner, so that `find` does not take it for the job of another intent.
STARTED_A_JOB = journal.c.kind.in_([PhaseStarted.kind, JobStarted.kind])
sa.Index(
    "journal_jobs_index",
    journal.c.at,
    postgresql_where=sa.text("kind IN ('phase_started', 'job_started')"),
)

# Entries that a list of actions shows of each, read without the rest of the journals.
ON_AN_ACTION = journal.c.kind.in_([LateResult.kind, Noted.kind])
sa.Index(
    "journal_on_actions_index",
    journal.c.action_id,
    postgresql_where=sa.text("kind IN ('late', 'noted')"),
)

# The few entries about cases: a new one is compared with those of earlier actions.
OF_A_CASE = journal.c.kind.in_([CaseOpened.kind, CaseChanged.kind, CaseClosed.kind])
sa.Index(
    "journal_cases_index",
    journal.c.action_id,
    postgresql_where=sa.text("kind IN ('case_opened', 'case_changed', 'case_closed')"),
)

stragglers = sa.Table(
    "stragglers",
    metadata,
    # Work that a provisioner may still be at although the action no longer waits for it.
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("operation", sa.String(32), nullable=False),
    sa.Column("design", sa.Text, nullable=False),
    # Absent for work on the site as a whole.
    sa.Column("nodes", ARRAY(sa.Text)),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("since", _MOMENT, nullable=False),
    sa.Column("look_at", _MOMENT, nullable=False),
    sa.Column("ended_at", _MOMENT),
)
sa.Index("stragglers_look_at_index", stragglers.c.look_at, postgresql_where=sa.text("ended_at IS NULL"))

# Holds on nodes: no action touches a held node. A hold ends when it is released, or at ``until``.
holds = sa.Table(
    "holds",
    metadata,
    sa.Column("id", sa.String(26), primary_key=True),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("placed_by", sa.Text, nullable=False),
    sa.Column("placed_at", _MOMENT, nullable=False),
    sa.Column("until", _MOMENT),
    sa.Column("released_by", sa.Text),
    sa.Column("released_at", _MOMENT),
    sa.Column("class", sa.String(16), key="hold_class", nullable=False, server_default="all"),
    sa.CheckConstraint("(released_by IS NULL) = (released_at IS NULL)", name="released_by_someone"),
)
sa.Index("holds_active_index", holds.c.node, postgresql_where=sa.text("released_at IS NULL"))

command_audit = sa.Table(
    "command_audit",
    metadata,
    sa.Column("id", sa.String(26), primary_key=True),
    sa.Column("action_id", _ACTION, sa.ForeignKey("actions.id"), nullable=False, index=True),
    sa.Column("command", sa.String(32), nullable=False),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("at", _MOMENT, nullable=False, server_default=sa.func.now()),
)

revisions = sa.Table(
    "revisions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("created_at", _MOMENT, nullable=False, server_default=sa.func.now()),
)

document_contents = sa.Table(
    "document_contents",
    metadata,
    # sha256 of the canonical JSON, so that equal documents are stored once across revisions. For encrypted documents an
    # HMAC, so that secrets cannot be guessed by their hash.
    sa.Column("hash", sa.String(64), primary_key=True),
    # JSON as text: jsonb would lose the order of keys and refuse some legal texts.
    sa.Column("metadata", sa.Text, nullable=False),
    sa.Column("data", sa.Text),
    sa.Column("sealed", sa.LargeBinary, key="ciphertext"),
    sa.CheckConstraint("(data IS NULL) <> (sealed IS NULL)", name="clear_or_sealed"),
)

# The store's own keys, encrypted with the configured ones.
store_keys = sa.Table(
    "store_keys",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("sealed", sa.LargeBinary, key="ciphertext", nullable=False),
)

revision_documents = sa.Table(
    "revision_documents",
    metadata,
    sa.Column("revision", sa.Integer, sa.ForeignKey("revisions.id"), primary_key=True),
    sa.Column("schema", sa.String(64), primary_key=True),
    sa.Column("layer", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("collection", sa.String(36), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("hash", sa.String(64), sa.ForeignKey("document_contents.hash"), nullable=False, index=True),
    # The revision in which the document last changed.
    sa.Column("since", sa.Integer, nullable=False),
)

revision_tags = sa.Table(
    "revision_tags",
    metadata,
    sa.Column("revision", sa.Integer, sa.ForeignKey("revisions.id"), primary_key=True),
    sa.Column("tag", sa.String(64), primary_key=True),
    sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("set_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    # For the newest revision with a tag.
    sa.Index(None, "tag", "revision"),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", sa.String(26), primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    # Role names for the policy rules.
    sa.Column("roles", ARRAY(sa.Text), nullable=False),
    # sha256 of the secret. With 192 random bits, a slow hash would add no protection.
    sa.Column("digest", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("created_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    sa.Column("expires_at", _MOMENT),
    sa.Column("revoked_at", _MOMENT),
    # To the minute, so that not every request writes.
    sa.Column("last_used_at", _MOMENT),
)

# How far the database's clock is ahead of the site's since it was set; no row, or 0: not at all. The functions
# site_time() and queue_time(at) of the migrations subtract and add it.
site_clock = sa.Table(
    "site_clock",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("ahead", sa.Interval, nullable=False),
    sa.CheckConstraint("id = 1", name="one_row"),
)

# The site's time at a reading of a host's own clock, by boot of the host.
clock_anchors = sa.Table(
    "clock_anchors",
    metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("at", _MOMENT, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
)

# When each caller has its full burst of writes again. Losing it in a crash is harmless, so it is unlogged.
rate_limits = sa.Table(
    "rate_limits",
    metadata,
    sa.Column("caller", sa.Text, primary_key=True),
    sa.Column("free_at", _MOMENT, nullable=False),
    prefixes=["UNLOGGED"],
)
