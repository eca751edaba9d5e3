"""Deletes what a site no longer keeps. Tables that refer to actions are found by their foreign keys."""

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from ulid import ULID

from shipyard_api.domain.actions import ENDED, ActionId, ActionName
from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.domain.holds import HoldId
from shipyard_api.domain.plans.plan import PlanId
from shipyard_api.storage import design_rows
from shipyard_api.storage import tables as t
from shipyard_api.storage.nodes import worked_on
from shipyard_api.storage.observations import Observations
from shipyard_api.storage.site_tables import metadata, node_sightings, plans

# Any number that no other advisory lock in this database uses.
_RETENTION = 0x5317_DB04
_ENDED = [state.value for state in ENDED]
_PARTS = [table for table in reversed(metadata.sorted_tables) if "action_id" in table.c]


class Retention:
    """What may be deleted, and its deletion."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def begin(self) -> bool:
        """Return whether no other transaction deletes now; none does until this one has ended."""
        return bool(self._connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_RETENTION))).scalar_one())

    def expired(self, *, before: datetime, newest: int, limit: int, site: Collection[ActionName]) -> Sequence[ActionId]:
        """Return the oldest actions that ended before a moment and that nothing needs, at most ``limit``.

        Needed are the ``newest`` actions, those since the last successful site action, that one itself, the newest one
        that worked on any node, the last teardown of any node, and those with stragglers that have not ended.
        """
        actions = t.actions.c
        ended = sa.select(actions.id).where(actions.state.in_(_ENDED)).order_by(actions.id.desc())
        oldest_kept = ended.offset(max(newest, 1) - 1).limit(1).scalar_subquery()
        query = sa.select(actions.id).where(actions.ended_at < before, actions.id < oldest_kept, ~_needed(actions.id))
        last = Observations(self._connection).last_of(site, succeeded=True)
        if last is not None:
            query = query.where(actions.id < last.id)
        return [ActionId(row) for row in self._connection.execute(query.order_by(actions.id).limit(limit)).scalars()]

    def delete(self, actions: Collection[ActionId]) -> None:
        """Delete these actions with their journals, audits, nodes, groups, tasks and items."""
        ids = sa.cast([*actions], ARRAY(sa.Text))
        for table in _PARTS:
            self._connection.execute(table.delete().where(table.c.action_id == sa.any_(ids)))
        self._connection.execute(t.actions.delete().where(t.actions.c.id == sa.any_(ids)))

    def expired_plans(self, *, before: datetime, limit: int) -> Sequence[PlanId]:
        """Return the oldest plans stored before a moment that started no action, at most ``limit``.

        A plan that started one is deleted with it.
        """
        query = sa.select(plans.c.id).where(plans.c.stored_at < before, plans.c.action_id.is_(None))
        return [PlanId(row) for row in self._connection.execute(query.order_by(plans.c.id).limit(limit)).scalars()]

    def delete_plans(self, expired: Collection[PlanId]) -> None:
        """Delete these plans, unless one has started an action meanwhile."""
        self._connection.execute(plans.delete().where(plans.c.id.in_(expired), plans.c.action_id.is_(None)))

    def expired_holds(self, *, before: datetime, limit: int) -> Sequence[HoldId]:
        """Return the oldest holds that ended before a moment, at most ``limit``.

        One that was released early ends no sooner than it would have: a window does not place it again until then.
        """
        holds = t.holds.c
        # Ids grow with time: what was placed since then is not read.
        placed = holds.id < str(ULID.from_datetime(before))
        query = sa.select(holds.id).where(placed, sa.func.coalesce(holds.until, holds.released_at) < before)
        return [HoldId(row) for row in self._connection.execute(query.order_by(holds.id).limit(limit)).scalars()]

    def delete_holds(self, expired: Collection[HoldId]) -> None:
        """Delete these holds."""
        ids = sa.cast([*expired], ARRAY(sa.Text))
        self._connection.execute(t.holds.delete().where(t.holds.c.id == sa.any_(ids)))

    def expired_revisions(
        self, *, before: datetime, newest: int, limit: int, without: Collection[ActionId] = ()
    ) -> Sequence[Revision]:
        """Return the oldest revisions of the embedded store, made before a moment, that nothing needs.

        Needed are the ``newest`` revisions, those since the last one that a site action succeeded with, that one
        itself, the newest one with each tag, and those of actions, ``without`` these.
        """
        revisions, tags, acting = t.revisions.c, t.revision_tags.c, t.actions.c
        ids = sa.select(revisions.id).order_by(revisions.id.desc())
        oldest_kept = ids.offset(max(newest, 1) - 1).limit(1).scalar_subquery()
        succeeded = sa.select(sa.func.max(tags.revision)).where(tags.tag == RevisionTag.SITE_ACTION_SUCCESS.value)
        kept_actions = acting.id != sa.all_(sa.cast([*without], ARRAY(sa.Text)))
        query = (
            sa.select(revisions.id)
            .where(revisions.created_at < before, revisions.id < oldest_kept)
            .where(revisions.id < sa.func.coalesce(succeeded.scalar_subquery(), design_rows.HIGHEST))
            .where(revisions.id.not_in(sa.select(sa.func.max(tags.revision)).group_by(tags.tag)))
            .where(~sa.exists().where(acting.revision == revisions.id, kept_actions))
            .order_by(revisions.id)
            .limit(limit)
        )
        return [Revision(row) for row in self._connection.execute(query).scalars()]

    def delete_revisions(self, revisions: Collection[Revision]) -> None:
        """Delete these revisions with their tags, and the documents that no other revision has.

        No revision is made meanwhile, which could have one of the documents.
        """
        design_rows.lock_numbers(self._connection)
        ids, held = sa.cast([*revisions], ARRAY(sa.Integer)), t.revision_documents.c
        gone = t.revision_documents.delete().where(held.revision == sa.any_(ids)).returning(held.hash)
        hashes = sa.cast([*{*self._connection.execute(gone).scalars()}], ARRAY(sa.Text))
        content = t.document_contents.c.hash
        unused = (content == sa.any_(hashes), ~sa.exists().where(held.hash == content))
        self._connection.execute(t.document_contents.delete().where(*unused))
        for table, revision in ((t.revision_tags, t.revision_tags.c.revision), (t.revisions, t.revisions.c.id)):
            self._connection.execute(table.delete().where(revision == sa.any_(ids)))


def _needed(action: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return whether a node's newest record, teardown or observation, or a straggler, belongs to the action."""
    held, later = t.action_nodes.c, t.action_nodes.alias().c
    torn, torn_later = t.node_teardowns.c, t.node_teardowns.alias().c
    newer_work = sa.exists().where(later.name == held.name, later.action_id > held.action_id, worked_on(later))
    newer_teardown = sa.exists().where(torn_later.node == torn.node, torn_later.id > torn.id)
    return sa.or_(
        sa.exists().where(held.action_id == action, worked_on(held), ~newer_work),
        sa.exists().where(torn.action_id == action, ~newer_teardown),
        sa.exists().where(node_sightings.c.action_id == action),
        sa.exists().where(t.stragglers.c.action_id == action, t.stragglers.c.ended_at.is_(None)),
    )
