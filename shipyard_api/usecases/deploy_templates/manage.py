"""Create, change, delete, show and list deploy templates (seed 003, REST API impact)."""

from collections.abc import Callable, Sequence
from uuid import uuid4

from msgspec import Struct

from shipyard_api.domain.deploy_steps.errors import (
    InvalidTemplate,
    TemplateChanged,
    TemplateNotFound,
)
from shipyard_api.domain.deploy_steps.templates import DeployTemplate, read_steps
from shipyard_api.domain.deploy_steps.traits import TraitName, trait_fault
from shipyard_api.domain.findings import error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.state.deploy_templates import Page, StoredTemplate, TemplateId
from shipyard_api.storage.unit_of_work import Store


class WrittenTemplate(Struct, frozen=True):
    """What a caller writes, not yet checked. ``extra`` None: nothing."""

    name: object
    steps: object
    extra: JsonObject | None


Edit = Callable[[StoredTemplate], WrittenTemplate]
IsCurrent = Callable[[StoredTemplate], bool]


class ManageTemplates(Struct, frozen=True):
    """The use cases. A template is named by its id or its name."""

    store: Store

    def create(self, written: WrittenTemplate, template_id: TemplateId | None) -> StoredTemplate:
        """Store a template under an id, a new one if none is given. Raises InvalidTemplate and TemplateExists."""
        template, chosen = _checked(written), template_id or TemplateId(str(uuid4()))
        with self.store.begin() as tx:
            return tx.deploy_templates.create(chosen, template, written.extra or {})

    def change(self, identity: str, edit: Edit, is_current: IsCurrent) -> StoredTemplate:
        """Store what ``edit`` makes of a template. The second of two concurrent changes sees the first's.

        Raises TemplateNotFound, TemplateChanged unless the template ``is_current``, InvalidTemplate, TemplateExists.
        """
        with self.store.begin() as tx:
            stored = _found(identity, tx.deploy_templates.lock(TraitName(identity)), is_current)
            written = edit(stored)
            template, extra = _checked(written), written.extra or {}
            # In Python 1 equals True, which is another argument.
            if repr((template, extra)) == repr((stored.template, stored.extra)):
                return stored
            return tx.deploy_templates.replace(stored.id, template, extra)

    def delete(self, identity: str, is_current: IsCurrent) -> None:
        """Remove a template. Raises TemplateNotFound and TemplateChanged."""
        with self.store.begin() as tx:
            stored = _found(identity, tx.deploy_templates.lock(TraitName(identity)), is_current)
            tx.deploy_templates.delete(stored.id)

    def one(self, identity: str) -> StoredTemplate:
        """Return a template; raises TemplateNotFound."""
        return _found(identity, self.store.read(lambda tx: tx.deploy_templates.get(TraitName(identity))))

    def page(self, page: Page) -> Sequence[StoredTemplate]:
        """Return a page of all templates; raises TemplateNotFound for the one that it should follow."""
        if page.after is not None:
            self.one(page.after)
        return self.store.read(lambda tx: tx.deploy_templates.page(page))


def _checked(written: WrittenTemplate) -> DeployTemplate:
    """Return a template that follows the rules; raises InvalidTemplate with every finding."""
    steps, findings = read_steps(written.steps)
    if fault := trait_fault(written.name):
        findings = (error("InvalidName", f"name {fault}.", path="/name"), *findings)
    if findings:
        raise InvalidTemplate(findings)
    return DeployTemplate(TraitName(str(written.name)), steps)


def _found(
    identity: str, stored: StoredTemplate | None, is_current: IsCurrent = lambda _stored: True
) -> StoredTemplate:
    if stored is None:
        raise TemplateNotFound(identity)
    if not is_current(stored):
        raise TemplateChanged(identity)
    return stored
