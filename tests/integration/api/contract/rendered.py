"""Chapter 5.4: GET /renderedconfigdocs, the rendered design."""

from typing import Any

from tests.integration.api.contract.case import Case, Who, Yaml, error
from tests.integration.api.contract.configdocs_read import CLEAR, HIDDEN
from tests.integration.api.contract.matching import SOME, All, Among, Count, Each, Entity
from tests.integration.api.contract.texts import BAD_VERSION, FORBIDDEN, OF_DOCUMENTS, no_version

VERSIONS = ("buffer", "committed", "last_site_action", "successful_site_action")
DOCUMENT = Entity({"schema": SOME, "metadata": Entity({"name": SOME, "schema": SOME})})
# Four documents of the design; the extra ones of the later versions come on top.
SIZES = {"successful_site_action": 4, "last_site_action": 5, "committed": 6, "buffer": 7}


def rendering(name: str, query: str = "", **rest: Any) -> Case:
    """A read of the rendered design that a viewer may make."""
    fields = {"section": "5.4", "name": name, "ask": f"GET renderedconfigdocs{query}", "who": Who.VIEWER}
    return Case(**{**fields, **rest})


def documents(count: int) -> Yaml:
    """So many rendered documents."""
    return Yaml(All(Each(DOCUMENT), Count(count)))


CASES = [
    rendering("the buffer, by default", given="buffered", code=200, answer=documents(4)),
    rendering("the buffer", "?version=buffer", given="buffered", code=200, answer=documents(4)),
    rendering("an empty version is none", "?version=", given="buffered", code=200, answer=documents(4)),
    *(
        rendering(f"{version} of four", f"?version={version}", given="acted", code=200, answer=documents(size))
        for version, size in SIZES.items()
    ),
    *(
        rendering(
            f"{who.value} may read", "?version=committed", who=who, given="committed", code=200, answer=documents(4)
        )
        for who in (Who.ADMIN, Who.VIEWER, Who.PEER)
    ),
    *(
        rendering(f"there is no {version} at all", f"?version={version}", code=404, answer=no_version(version))
        for version in VERSIONS
    ),
    rendering("there is nothing in the buffer", given="committed", code=404, answer=no_version("buffer")),
    *(
        rendering(
            f"no action has used anything: {version}",
            f"?version={version}",
            given="committed",
            code=404,
            answer=no_version(version),
        )
        for version in VERSIONS[2:]
    ),
    rendering(
        "a failure is no success",
        "?version=successful_site_action",
        given="acted_between",
        code=404,
        answer=no_version("successful_site_action"),
    ),
    *(
        rendering(f"{version!r} is no version", f"?version={version}", given="committed", code=400, answer=BAD_VERSION)
        for version in ("nonsense", "site-action-success", "buffer,committed")
    ),
    # 17: the value is lowered, then compared; upstream's 400 `Invalid version` has no use then.
    rendering("COMMITTED is committed", "?version=COMMITTED", given="acted", code=200, answer=documents(6)),
    rendering(
        "Successful_Site_Action is one", "?version=Successful_Site_Action", given="acted", code=200, answer=documents(4)
    ),
    rendering(
        "documents that do not make a design",
        given="unrenderable",
        code=500,
        answer=error(
            500,
            "Deckhand indicated an error while rendering",
            SOME,
            kind=OF_DOCUMENTS,
            messages=Each(Entity({"message": SOME, "error": True}), least=1),
        ),
    ),
    rendering(
        "a secret is redacted",
        "?version=committed",
        given="secret",
        code=200,
        answer=Yaml(Among(Entity({"metadata": Entity({"name": "password"}), "data": HIDDEN.fields["data"]}))),
    ),
    rendering(
        "a secret in clear",
        "?version=committed&cleartext-secrets=true",
        who=Who.ADMIN,
        given="secret",
        code=200,
        answer=Yaml(Among(Entity({"metadata": Entity({"name": "password"}), "data": CLEAR.fields["data"]}))),
    ),
    rendering(
        "a viewer may not ask for clear text",
        "?version=committed&cleartext-secrets=true",
        given="secret",
        code=403,
        answer=FORBIDDEN,
    ),
    rendering("nor where there is nothing", "?cleartext-secrets=true", code=403, answer=FORBIDDEN),
]
