"""The route table of the dialect; what a resource may be asked, and by whom, it says itself."""

from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect
from shipyard_api.api.ironic import error_answers
from shipyard_api.api.ironic.discovery import Root, Version1
from shipyard_api.api.ironic.templates import IRONIC, SEED, Template, Templates
from shipyard_api.api.ironic.versions import Microversions, VersionCheck
from shipyard_api.usecases.deploy_templates.manage import ManageTemplates

PREFIXES = ("/", "/v1")
"""Where the dialect is mounted: the root itself, and everything below its version."""


def routes(templates: ManageTemplates, json_bytes: int) -> dict[str, Guarded]:
    """Return every address with its resource. ``json_bytes``: the largest body."""
    found: dict[str, Guarded] = {"/": Root(), "/v1": Version1()}
    for face in (IRONIC, SEED):
        found[face.path] = Templates(templates, face, json_bytes)
        found[f"{face.path}/{{template_ident}}"] = Template(templates, json_bytes)
    return found


def dialect(templates: ManageTemplates, json_bytes: int) -> Dialect:
    """Return the dialect: its routes, its microversions, its form of errors."""
    made = routes(templates, json_bytes)
    return Dialect(made, error_answers.install, [Microversions()], True, [VersionCheck()])
