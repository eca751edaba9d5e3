"""The tables of what a site has beside its actions: plans, events, histories, observations, software, templates."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = sa.MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_index",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "ck": "%(table_name)s_%(constraint_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)
"""What all tables belong to, and how their constraints are named."""

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("id", sa.String(26), primary_key=True),
    sa.Column("name", sa.String(50), nullable=False),
    # The hash that people sign, and the content that it is of.
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("content", sa.JSON(none_as_null=True), nullable=False),
    # The body of the request, and the plan as it was answered: what an approver reads.
    sa.Column("request", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("shown", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("stored_by", sa.Text, nullable=False),
    # The id of the token or user of that name, as names are not unique.
    sa.Column("caller", sa.Text, nullable=False),
    sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("signatures", sa.JSON(none_as_null=True)),
    # The action that was started from the plan. A plan is used once, and deleted with its action.
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id")),
    sa.Index(None, "action_id", unique=True),
)


_MOMENT = sa.DateTime(timezone=True)

# Tickets for event streams, by the sha256 of their secret; they expire in seconds.
event_tickets = sa.Table(
    "event_tickets",
    metadata,
    sa.Column("digest", sa.LargeBinary(32), primary_key=True),
    sa.Column("identity", JSONB, nullable=False),
    sa.Column("expires_at", _MOMENT, nullable=False),
)

# The delivery cursor of each webhook of the settings. A worker holds it while it delivers; all times by now().
webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("cursor", sa.BigInteger, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("due_at", _MOMENT, nullable=False, server_default=sa.func.now()),
    sa.Column("holder", sa.Text),
    sa.Column("held_until", _MOMENT),
)


histories = sa.Table(
    "histories",
    metadata,
    # Counts the histories of the site; the newest is the current one.
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    # See domain.histories.HistoryIdentity.
    sa.Column("system", sa.BigInteger, nullable=False),
    sa.Column("timeline", sa.BigInteger, nullable=False),
    sa.Column("database", sa.BigInteger, nullable=False),
    sa.Column("relation", sa.BigInteger, nullable=False),
    # By the database's clock; of a promotion, when that was.
    sa.Column("noticed_at", sa.DateTime(timezone=True), nullable=False),
    # How it differs from the one before; empty for the first.
    sa.Column("difference", sa.Text, nullable=False),
)


# The newest observation of each node.
node_sightings = sa.Table(
    "node_sightings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), nullable=False),
    # What the provisioner names the machine and its installation by; empty where it does not show that.
    sa.Column("machine", sa.Text, nullable=False),
    sa.Column("installed", sa.Text, nullable=False),
    # The node in its cluster; NULL if the cluster did not have it.
    sa.Column("member", sa.JSON(none_as_null=True)),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
)

# What each node was given, as far as it is known: a digest by aspect. No key to actions: it outlives them. An adopted
# node has no action. ``revisions``: of aspects that came later than the others. ``provisioner``: '' in older rows.
node_specifications = sa.Table(
    "node_specifications",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("action_id", sa.String(26), nullable=False),
    sa.Column("revision", sa.Integer),
    sa.Column("aspects", JSONB, nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("revisions", JSONB, nullable=False, server_default=sa.text("'{}'::jsonb")),
    sa.Column("provisioner", sa.Text, nullable=False, server_default=""),
    sa.Column("adopted_by", sa.Text, nullable=False, server_default=""),
)

# What was seen last of the hardware of each node: the features that failed nodes may share, such as its switches.
seen_hardware = sa.Table(
    "seen_hardware",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("features", JSONB, nullable=False),
)

# Ended actions whose nodes are not observed yet.
sighted_actions = sa.Table(
    "sighted_actions",
    metadata,
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("look_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("done_at", sa.DateTime(timezone=True)),
)
sa.Index("sighted_actions_due_index", sighted_actions.c.look_at, postgresql_where=sa.text("done_at IS NULL"))


ONE_RELEASE_FOR_EACH_VERSION = "releases_name_version_unique"

# Release 1 and cluster 1 exist without a row until they change.
releases = sa.Table(
    "releases",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(start=2), primary_key=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("version", sa.String(255), nullable=False),
    sa.Column("operating_system", sa.String(255), nullable=False),
    # The task document as written; roles and tags by name.
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("roles", sa.JSON, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    sa.UniqueConstraint("name", "version", name=ONE_RELEASE_FOR_EACH_VERSION),
)

clusters = sa.Table(
    "clusters",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(start=2), primary_key=True),
    sa.Column("release_id", sa.Integer, sa.ForeignKey("releases.id"), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("roles", sa.JSON, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    # What conditions of tasks read.
    sa.Column("settings", sa.JSON, nullable=False),
)

# Every node that a committed design ever had: a node that comes back has its id, its roles and its tags again.
cluster_nodes = sa.Table(
    "cluster_nodes",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("cluster_id", sa.Integer, sa.ForeignKey("clusters.id"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("roles", ARRAY(sa.Text), nullable=False),
    sa.Column("tags", ARRAY(sa.Text), nullable=False),
    # The tags that a user assigned.
    sa.Column("assigned", ARRAY(sa.Text), nullable=False),
    sa.UniqueConstraint("cluster_id", "name"),
)

cluster_primaries = sa.Table(
    "cluster_primaries",
    metadata,
    sa.Column("cluster_id", sa.Integer, sa.ForeignKey("clusters.id"), primary_key=True),
    # Whether the name is of a role or of a tag.
    sa.Column("domain", sa.String(8), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("node_id", sa.Integer, sa.ForeignKey("cluster_nodes.id", ondelete="CASCADE"), nullable=False),
)

# A task on a node in an action.
task_results = sa.Table(
    "task_results",
    metadata,
    sa.Column("action_id", sa.String(26), sa.ForeignKey("actions.id"), primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    # Under which the node knows it.
    sa.Column("marker", sa.Text, nullable=False),
    sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("ended_at", sa.DateTime(timezone=True)),
    sa.Column("exit_status", sa.Integer),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("tail", sa.Text, nullable=False),
    sa.Index(None, "node", "action_id"),
)


ONE_TEMPLATE_FOR_EACH_NAME = "deploy_templates_name_unique"
ONE_TEMPLATE_FOR_EACH_ID = "deploy_templates_uuid_unique"


deploy_templates = sa.Table(
    "deploy_templates",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False),
    # The name of the trait.
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("extra", sa.JSON, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("created_at", _MOMENT, nullable=False),
    sa.Column("updated_at", _MOMENT),
    sa.UniqueConstraint("uuid", name=ONE_TEMPLATE_FOR_EACH_ID),
    sa.UniqueConstraint("name", name=ONE_TEMPLATE_FOR_EACH_NAME),
)

deploy_template_steps = sa.Table(
    "deploy_template_steps",
    metadata,
    sa.Column("template_id", sa.BigInteger, sa.ForeignKey("deploy_templates.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("interface", sa.String(16), nullable=False),
    sa.Column("step", sa.String(255), nullable=False),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.UniqueConstraint("template_id", "interface", "step"),
    sa.CheckConstraint("priority >= 0", name="priority_not_negative"),
)
