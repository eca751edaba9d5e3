"""Deploy templates (seed 003, Data model impact)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NewType, Protocol

from shipyard_api.domain.deploy_steps.templates import DeployTemplate
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.json_types import JsonObject

TemplateId = NewType("TemplateId", str)
"""A UUID in lower case, with dashes."""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template with the data kept beside it. ``extra``: the operator's own notes.

    ``updated_at``: None until it changes. ``version``: number of the change that it is the result of.
    """

    id: TemplateId
    template: DeployTemplate
    extra: JsonObject
    created_at: datetime
    updated_at: datetime | None
    version: int


class SortKey(Enum):
    """What a list can be sorted by, as a word on the wire. ``id``: the order of creation."""

    ID = "id"
    UUID = "uuid"
    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list, and in which order; ``after``: the last template of the page before."""

    limit: int
    sort: SortKey = SortKey.ID
    descending: bool = False
    after: TemplateId | None = None


class DeployTemplates(Protocol):
    """Deploy templates. A template and its steps change together."""

    def create(self, template_id: TemplateId, template: DeployTemplate, extra: JsonObject) -> StoredTemplate:
        """Store a template. Raises TemplateNameTaken and TemplateIdTaken."""

    def get(self, identity: TemplateId | TraitName) -> StoredTemplate | None:
        """Return a template by its id or its name."""

    def lock(self, identity: TemplateId | TraitName) -> StoredTemplate | None:
        """Return a template, locked until the transaction ends."""

    def replace(self, template_id: TemplateId, template: DeployTemplate, extra: JsonObject) -> StoredTemplate:
        """Store what has become of a locked template, with all its steps. Raises TemplateNameTaken."""

    def delete(self, template_id: TemplateId) -> None:
        """Remove a template with its steps."""

    def page(self, page: Page) -> Sequence[StoredTemplate]:
        """Return a page of all templates; none after a template that does not exist."""

    def of_traits(self, traits: Collection[TraitName]) -> Sequence[DeployTemplate]:
        """Return the templates of these traits, in order of name."""
