"""Deploy templates and their steps."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.exc import IntegrityError

from shipyard_api.domain.deploy_steps.errors import TemplateExists
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.state.deploy_templates import Page, SortKey, StoredTemplate, TemplateId
from shipyard_api.storage import site_tables as t

_OWN, _STEPS = t.deploy_templates.c, t.deploy_template_steps.c

# A template that never changed comes before all others.
_SORTED_BY: Mapping[SortKey, sa.ColumnElement[Any]] = {
    SortKey.ID: _OWN.id,
    SortKey.UUID: _OWN.uuid,
    SortKey.NAME: _OWN.name.collate("C"),
    SortKey.CREATED_AT: _OWN.created_at,
    SortKey.UPDATED_AT: sa.func.coalesce(_OWN.updated_at, sa.literal_column("timestamptz '-infinity'")),
}

# Templates with their steps, in one statement: a reader never sees the steps of another version.
_WHOLE = sa.select(
    t.deploy_templates,
    sa.select(
        sa.func.json_agg(
            aggregate_order_by(
                sa.func.json_build_object(
                    *(part for name in ("interface", "step", "args", "priority") for part in (name, _STEPS[name]))
                ),
                _STEPS.position,
            )
        )
    )
    .where(_STEPS.template_id == _OWN.id)
    .scalar_subquery()
    .label("steps"),
)


class DeployTemplates:
    """Deploy templates. A template and its steps change together."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def create(self, template_id: TemplateId, template: DeployTemplate, extra: JsonObject) -> StoredTemplate:
        """Store a template. Raises TemplateNameTaken and TemplateIdTaken, as the database decides."""
        values = {"uuid": template_id, "name": template.name, "extra": dict(extra), "created_at": sa.func.site_time()}
        with _free(template.name, template_id):
            query = t.deploy_templates.insert().values(**values).returning(t.deploy_templates)
            row = self._connection.execute(query).one()
        self._insert_steps(row.id, template.steps)
        return _stored(row, template.steps)

    def get(self, identity: TemplateId | TraitName) -> StoredTemplate | None:
        """Return a template by its id or its name."""
        return next(iter(self._matching(_WHOLE.where(_is(identity)))), None)

    def lock(self, identity: TemplateId | TraitName) -> StoredTemplate | None:
        """Return a template, locked until the transaction ends."""
        # What it is once the lock is held takes a statement of its own.
        row_id = self._connection.execute(sa.select(_OWN.id).where(_is(identity)).with_for_update()).scalar()
        return None if row_id is None else next(iter(self._matching(_WHOLE.where(_OWN.id == row_id))), None)

    def replace(self, template_id: TemplateId, template: DeployTemplate, extra: JsonObject) -> StoredTemplate:
        """Store what has become of a locked template, with all its steps. Raises TemplateNameTaken."""
        values = {
            "name": template.name,
            "extra": dict(extra),
            "updated_at": sa.func.site_time(),
            "version": _OWN.version + 1,
        }
        with _free(template.name, template_id):
            update = t.deploy_templates.update().where(_OWN.uuid == template_id).values(**values)
            row = self._connection.execute(update.returning(t.deploy_templates)).one()
        self._connection.execute(t.deploy_template_steps.delete().where(_STEPS.template_id == row.id))
        self._insert_steps(row.id, template.steps)
        return _stored(row, template.steps)

    def delete(self, template_id: TemplateId) -> None:
        """Remove a template with its steps."""
        self._connection.execute(t.deploy_templates.delete().where(_OWN.uuid == template_id))

    def page(self, page: Page) -> Sequence[StoredTemplate]:
        """Return a page of all templates; none after a template that does not exist."""
        column = _SORTED_BY[page.sort]
        query = _WHOLE.limit(page.limit)
        keys = [column] if page.sort is SortKey.ID else [column, _OWN.id]
        query = query.order_by(*(key.desc() if page.descending else key for key in keys))
        if page.after is not None:
            here = sa.tuple_(*keys)
            last = sa.select(*keys).where(_OWN.uuid == page.after).scalar_subquery()
            query = query.where(here < last if page.descending else here > last)
        return self._matching(query)

    def of_traits(self, traits: Collection[TraitName]) -> Sequence[DeployTemplate]:
        """Return the templates of these traits, in order of name."""
        query = _WHOLE.where(_OWN.name.in_(traits)).order_by(_SORTED_BY[SortKey.NAME])
        return [entry.template for entry in self._matching(query)]

    def _matching(self, query: sa.Select[Any]) -> Sequence[StoredTemplate]:
        return [_stored(row, [_step(step) for step in row.steps]) for row in self._connection.execute(query)]

    def _insert_steps(self, template: int, steps: Sequence[DeployStep]) -> None:
        rows = [{"template_id": template, "position": place, **step.to_json()} for place, step in enumerate(steps)]
        self._connection.execute(t.deploy_template_steps.insert(), rows)


@contextmanager
def _free(name: TraitName, template_id: TemplateId) -> Iterator[None]:
    """Raise TemplateExists for what another template has already."""
    try:
        yield
    except IntegrityError as error:
        constraint = error.orig.diag.constraint_name if error.orig else ""  # type: ignore[attr-defined]  # psycopg2's own error
        if constraint == t.ONE_TEMPLATE_FOR_EACH_NAME:
            raise TemplateExists(name) from error
        if constraint == t.ONE_TEMPLATE_FOR_EACH_ID:
            raise TemplateExists(template_id, by_id=True) from error
        raise


def _is(identity: TemplateId | TraitName) -> sa.ColumnElement[bool]:
    try:
        return _OWN.uuid == str(UUID(identity))
    except ValueError:
        return _OWN.name == identity


def _step(stored: JsonObject) -> DeployStep:
    return DeployStep(**{**stored, "interface": Interface(stored["interface"])})


def _stored(row: sa.Row[Any], steps: Sequence[DeployStep]) -> StoredTemplate:
    template = DeployTemplate(TraitName(row.name), tuple(steps))
    return StoredTemplate(TemplateId(row.uuid), template, row.extra, row.created_at, row.updated_at, row.version)
