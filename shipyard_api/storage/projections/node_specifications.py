"""``node_specifications``: what each node was given, once it is known to have it."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import LateResult
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLeft, NodesRelabelled
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited
from shipyard_api.domain.facts.software import SoftwareGiven
from shipyard_api.domain.facts.teardown import TeardownChanged
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.specification.given import LABELS, PLACEMENT
from shipyard_api.domain.specification.kinds import Aspect
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports import provisioner
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.projections import Line
from shipyard_api.storage.site_tables import node_specifications

_NAMES = sa.bindparam("names", type_=ARRAY(sa.Text))
_PLAN = sa.text("""
    UPDATE action_nodes SET given = CAST(planned.given AS jsonb)
    FROM unnest(CAST(:names AS text[]), CAST(:given AS text[])) AS planned (name, given)
    WHERE action_nodes.action_id = :action AND action_nodes.name = planned.name
""")
_OLDER = t.action_nodes.update().where(
    t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == sa.any_(_NAMES)
)
_OLDER = _OLDER.values(older=sa.true())
# A service changes only the aspects that it gives, of a node that has a record.
_GIVE = sa.text("""
    INSERT INTO node_specifications AS known (name, action_id, revision, aspects, revisions, provisioner, at)
    SELECT held.name, held.action_id, actions.revision, held.given - 'provisioner', given.revisions,
           coalesce(held.given ->> 'provisioner', ''), :at
    FROM action_nodes held JOIN actions ON actions.id = held.action_id
    CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_object_agg(key, actions.revision), '{}') AS revisions
        FROM jsonb_object_keys(held.given - 'provisioner') key WHERE NOT held.given ? 'design'
    ) given
    WHERE held.action_id = :action AND held.name = ANY(CAST(:names AS text[])) AND held.given IS NOT NULL
      AND (held.given ? 'design' OR EXISTS (SELECT FROM node_specifications WHERE name = held.name))
    ON CONFLICT (name) DO UPDATE SET
        action_id = excluded.action_id, at = excluded.at,
        revision = CASE WHEN excluded.aspects ? 'design' THEN excluded.revision ELSE known.revision END,
        aspects = CASE WHEN excluded.aspects ? 'design' THEN '{}' ELSE known.aspects END || excluded.aspects,
        revisions = CASE WHEN excluded.aspects ? 'design' THEN '{}' ELSE known.revisions END || excluded.revisions,
        provisioner = CASE WHEN excluded.aspects ? 'design' THEN excluded.provisioner ELSE known.provisioner END,
        adopted_by = CASE WHEN excluded.aspects ? 'design' THEN '' ELSE known.adopted_by END
""")
_MOVE = sa.text("""
    UPDATE node_specifications
    SET aspects = aspects || jsonb_build_object(CAST(:aspect AS text), given.digest),
        revisions = revisions || jsonb_build_object(CAST(:aspect AS text), actions.revision), at = :at
    FROM unnest(CAST(:names AS text[]), CAST(:digests AS text[])) AS given (name, digest), actions
    WHERE node_specifications.name = given.name AND actions.id = :action
""")
_LOSE = node_specifications.delete().where(node_specifications.c.name == sa.bindparam("of_name"))
_INSTALLS = frozenset(
    operation.value
    for operation in (
        provisioner.Operation.DEPLOY_NODES,
        provisioner.Operation.REBUILD_NODES,
        provisioner.Operation.SERVICE_NODES,
    )
)


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Bring the records up to date. A destroyed node has none."""
    match fact:
        case MembersKnown(given=given) if given:
            writes.add(_PLAN, {"action": line.action, "names": list(given), "given": list(given.values())})
        case NodesLeft():
            writes.add(_OLDER, {"of_action": line.action, "names": list(fact.nodes)})
        case JoinAwaited() | AcceptanceAwaited():
            _give(writes, line, fact.nodes)
        case NodesChanged(phase=Phase.DEPLOY, status=NodeStatus.SUCCESS):
            _give(writes, line, fact.nodes)
        case LateResult() if fact.operation in _INSTALLS and fact.succeeded:
            _give(writes, line, fact.succeeded)
        case NodesRelabelled():
            for aspect, digests in ((LABELS, fact.labels), (PLACEMENT, fact.placement)):
                values = {"aspect": aspect, "names": list(digests), "digests": list(digests.values())}
                writes.add(_MOVE, {**values, "action": line.action, "at": line.at})
        case SoftwareGiven(given=given) if given:
            values = {"aspect": Aspect.SOFTWARE.value, "names": list(given), "digests": list(given.values())}
            writes.add(_MOVE, {**values, "action": line.action, "at": line.at})
        case TeardownChanged(operation=Operation.DESTROY_NODE):
            writes.add(_LOSE, {"of_name": fact.node})


def _give(writes: BatchedWrites, line: Line, nodes: Collection[NodeName]) -> None:
    writes.add(_GIVE, {"action": line.action, "names": list(nodes), "at": line.at})
