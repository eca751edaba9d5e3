"""Why a request about deploy templates is refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import Conflict, Invalid, NotFound, Precondition
from shipyard_api.domain.findings import Finding


@dataclass(eq=False)
class InvalidTemplate(Invalid):
    """The name or a step of a deploy template breaks a rule."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class TemplateNotFound(NotFound):
    """There is no deploy template with this id or name."""

    template: str


@dataclass(eq=False)
class TemplateExists(Conflict):
    """Another deploy template has this name, or, if ``by_id``, this id."""

    value: str
    by_id: bool = False


@dataclass(eq=False)
class TemplateChanged(Precondition):
    """The deploy template is not in the version that the request is for."""

    template: str
