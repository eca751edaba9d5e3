"""The route table of the dialect; each resource declares its methods and rights."""

from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect, UseCases
from shipyard_api.api.http.problems import Problems
from shipyard_api.api.ironic import error_answers
from shipyard_api.api.ironic.discovery import Root, Version1
from shipyard_api.api.ironic.templates import IRONIC, SEED, Template, Templates
from shipyard_api.api.ironic.versions import Microversions, VersionCheck


def routes(use_cases: UseCases) -> dict[str, Guarded]:
    """Return every address with its resource."""
    resources: dict[str, Guarded] = {"/": Root(), "/v1": Version1()}
    for face in (IRONIC, SEED):
        resources[face.path] = Templates(use_cases.templates, face, use_cases.json_bytes)
        resources[f"{face.path}/{{template_ident}}"] = Template(use_cases.templates, use_cases.json_bytes)
    return resources


DIALECT = Dialect(
    routes,
    error_answers.install,
    prefixes=("/", "/v1"),  # the root itself, and everything below its version
    middleware=[Problems(error_answers.problem), Microversions()],
    ignores_trailing_slash=True,
    for_known_callers=[VersionCheck()],
)
