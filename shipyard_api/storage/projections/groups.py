"""``deployment_groups``: the groups of an action, each with its status."""

import sqlalchemy as sa

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections.line import Line


def project(connection: sa.Connection, line: Line, fact: Fact) -> None:
    """Bring the groups up to date."""
    match fact:
        case MembersKnown():
            _insert(connection, line, fact)
        case GroupChanged():
            groups = t.deployment_groups
            reason = fact.reason.value if fact.reason else None
            connection.execute(
                groups.update()
                .where(groups.c.action_id == line.action, groups.c.name == fact.group)
                .values(status=fact.status.value, reason=reason, detail=fact.detail)
            )


def _insert(connection: sa.Connection, line: Line, fact: MembersKnown) -> None:
    rows = [
        {
            "action_id": line.action,
            "position": index,
            "name": group.name,
            "critical": group.critical,
            "depends_on": list(group.depends_on),
            "status": GroupStatus.NOT_STARTED.value,
        }
        for index, (group, _) in enumerate(fact.membership)
    ]
    if rows:
        connection.execute(t.deployment_groups.insert(), rows)
