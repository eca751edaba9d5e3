"""Deploy templates (seed 003, Data model impact)."""

from datetime import datetime
from enum import Enum
from typing import NewType

from msgspec import Struct

from shipyard_api.domain.deploy_steps.templates import DeployTemplate
from shipyard_api.domain.json_types import JsonObject

TemplateId = NewType("TemplateId", str)
"""A UUID in lower case, with dashes."""


class StoredTemplate(Struct, frozen=True):
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


class Page(Struct, frozen=True):
    """Which part of a list, and in which order; ``after``: the last template of the page before."""

    limit: int
    sort: SortKey = SortKey.ID
    descending: bool = False
    after: TemplateId | None = None
