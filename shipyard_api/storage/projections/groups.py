"""``deployment_groups``: the groups of an action, each with its status."""

import sqlalchemy as sa

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites, insert_rows
from shipyard_api.storage.projections import Line

_groups = t.deployment_groups
_KNOWN = sa.select(_groups.c.name).where(_groups.c.action_id == sa.bindparam("of_action"))
_INSERT = insert_rows(_groups, "action_id", "position", "name", "critical", "depends_on", "status")
_CHANGE = _groups.update().where(
    _groups.c.action_id == sa.bindparam("of_action"), _groups.c.name == sa.bindparam("of_group")
)


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Bring the groups up to date."""
    match fact:
        case MembersKnown():
            _insert(writes, line, fact)
        case GroupChanged():
            values = {
                "status": fact.status.value,
                "reason": fact.reason.value if fact.reason else None,
                "detail": fact.detail,
            }
            writes.add(_CHANGE, {"of_action": line.action, "of_group": fact.group, **values})


def _insert(writes: BatchedWrites, line: Line, fact: MembersKnown) -> None:
    """Add the groups that are new, after those that the action has: each batch of servers comes with its own."""
    writes.send()
    known = set(writes.connection.execute(_KNOWN, {"of_action": line.action}).scalars())
    new = [group for group, _ in fact.membership if group.name not in known]
    rows = [
        {
            "action_id": line.action,
            "position": position,
            "name": group.name,
            "critical": group.critical,
            "depends_on": list(group.depends_on),
            "status": GroupStatus.NOT_STARTED.value,
        }
        for position, group in enumerate(new, start=len(known))
    ]
    writes.add(_INSERT, {"rows": rows})
