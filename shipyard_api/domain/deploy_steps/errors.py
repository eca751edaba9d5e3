"""The errors of requests about deploy templates, in the sentences of Ironic's API."""

from shipyard_api.domain.error_kinds import Conflict, ErrorKind, Invalid, NotFound, Outdated, in_a_row

InvalidTemplate = ErrorKind(Invalid, "InvalidTemplate", "Invalid deploy template", in_a_row)
TemplateNotFound = ErrorKind(
    NotFound,
    "TemplateNotFound",
    "Deploy template not found",
    lambda template: f"Deploy template {template} could not be found.",
)
TemplateExists = ErrorKind(
    Conflict,
    "TemplateExists",
    "Deploy template exists",
    lambda value, by_id=False: f"A deploy template with {'UUID' if by_id else 'name'} {value} already exists.",
)
TemplateChanged = ErrorKind(
    Outdated,
    "TemplateChanged",
    "Deploy template has changed",
    lambda template: f"Deploy template {template} has changed: get it again, and use its new ETag.",
)
