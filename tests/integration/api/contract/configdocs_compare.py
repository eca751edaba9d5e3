"""Chapter 5.1: GET /configdocs, two versions compared collection by collection."""

from itertools import permutations
from typing import Any

from tests.integration.api.contract.case import Case, Who, error
from tests.integration.api.contract.matching import Named
from tests.integration.api.contract.texts import COUNT_OF_VERSIONS

# The order of the contract: whatever comes first here is the base.
RANKED = ("successful_site_action", "last_site_action", "committed", "buffer")
# What the state ``acted`` calls its revisions, and which collections each has.
REVISIONS = dict(zip(RANKED, ("successful", "last", "committed", "buffer"), strict=True))
COLLECTIONS = dict(
    zip(
        RANKED,
        (("design",), ("design", "second"), ("design", "second", "third"), ("design", "fourth", "second", "third")),
        strict=True,
    )
)


def entry(
    collection: str, status: str, *, base: tuple[str, Any], new: tuple[str, Any], present: bool = True
) -> dict[str, Any]:
    """One collection, complete; the versions with their revisions."""
    return {
        "collection_name": collection,
        "base_version": base[0],
        "base_revision": Named(base[1]) if isinstance(base[1], str) else base[1],
        "new_version": new[0],
        "new_revision": Named(new[1]) if isinstance(new[1], str) else new[1],
        "new_status": status,
        "base_status": "present" if present else "not present",
    }


def compared(one: str, other: str) -> list[dict[str, Any]]:
    """What comparing two versions of the state ``acted`` shows, in whichever order they are named."""
    base, new = sorted((one, other), key=RANKED.index)
    return [
        entry(
            collection,
            "unmodified" if collection in COLLECTIONS[base] else "created",
            base=(base, REVISIONS[base]),
            new=(new, REVISIONS[new]),
            present=collection in COLLECTIONS[base],
        )
        for collection in COLLECTIONS[new]
    ]


BASE, NEW = ("committed", "committed"), ("buffer", "buffer")
CHANGED = [
    entry("arriving", "created", base=BASE, new=NEW, present=False),
    entry("design", "modified", base=BASE, new=NEW),
    entry("kept", "unmodified", base=BASE, new=NEW),
    entry("leaving", "deleted", base=BASE, new=NEW),
]
SAME = error(
    400,
    "Versions must be different for comparison",
    "Versions must be unique in order to perform comparison",
    kind="AppError",
)


def invalid(version: str) -> dict[str, Any]:
    """400: no such word."""
    return error(
        400,
        "Invalid version detected",
        f"{version} is not a valid version, which include: successful_site_action, last_site_action, committed, buffer",
        kind="AppError",
    )


def absent(version: str) -> dict[str, Any]:
    """404: no action has been there."""
    return error(
        404,
        "Version does not exist",
        f"{version} version does not exist",
        kind="AppError",
        cause="No site action has .+",
    )


CASES = [
    Case(section="5.1", name="nothing at all", ask="GET configdocs", code=200, answer=[]),
    Case(
        section="5.1",
        name="nothing at all, versions given",
        ask="GET configdocs?versions=committed&versions=buffer",
        who=Who.VIEWER,
        code=200,
        answer=[],
    ),
    Case(
        section="5.1",
        name="with nothing committed the base revision is 0",
        given="buffered",
        ask="GET configdocs",
        code=200,
        answer=[entry("design", "created", base=("committed", 0), new=NEW, present=False)],
    ),
    Case(
        section="5.1",
        name="with an empty buffer both are the committed revision and nothing differs",
        given="committed",
        ask="GET configdocs",
        code=200,
        answer=[entry("design", "unmodified", base=BASE, new=("buffer", "committed"))],
    ),
    Case(section="5.1", name="every status, by name", given="changed", ask="GET configdocs", code=200, answer=CHANGED),
    Case(
        section="5.1",
        name="a viewer may compare",
        given="changed",
        ask="GET configdocs",
        who=Who.VIEWER,
        code=200,
        answer=CHANGED,
    ),
    # 15: the manual's name of the parameter is not the code's.
    Case(
        section="5.1",
        name="version is not versions",
        given="changed",
        ask="GET configdocs?version=nonsense",
        code=200,
        answer=CHANGED,
    ),
    *(
        Case(
            section="5.1",
            name=f"{one} and {other}",
            given="acted",
            ask=f"GET configdocs?versions={one}&versions={other}",
            code=200,
            answer=compared(one, other),
        )
        for one, other in permutations(RANKED, 2)
    ),
    *(
        Case(
            section="5.1",
            name=f"{what} instead of two",
            given="acted",
            ask=f"GET configdocs?{query}",
            code=400,
            answer=COUNT_OF_VERSIONS,
        )
        for what, query in {
            "one version": "versions=committed",
            "two versions with a comma": "versions=committed,buffer",
            "three versions": "versions=committed&versions=buffer&versions=last_site_action",
            "one version and an empty one": "versions=committed&versions=",
        }.items()
    ),
    *(
        Case(
            section="5.1",
            name=f"{version} with itself",
            given="acted",
            ask=f"GET configdocs?versions={version}&versions={version}",
            code=400,
            answer=SAME,
        )
        for version in RANKED
    ),
    *(
        Case(
            section="5.1",
            name=f"{version!r} is no version",
            given="acted",
            ask=f"GET configdocs?versions={version}&versions=buffer",
            code=400,
            answer=invalid(version),
        )
        for version in ("nonsense", "site_action", "successful-site", "7")
    ),
    Case(
        section="5.1",
        name="what is no version with itself: that they differ is looked at first",
        given="acted",
        ask="GET configdocs?versions=nonsense&versions=nonsense",
        code=400,
        answer=SAME,
    ),
    Case(
        section="5.1",
        name="two that are no versions: the first is named",
        given="acted",
        ask="GET configdocs?versions=nonsense&versions=more",
        code=400,
        answer=invalid("nonsense"),
    ),
    *(
        Case(
            section="5.1",
            name=f"{version} does not exist yet, beside {other}",
            given="committed",
            ask=f"GET configdocs?versions={other}&versions={version}",
            code=404,
            answer=absent(version),
        )
        for version in ("successful_site_action", "last_site_action")
        for other in ("committed", "buffer")
    ),
    Case(
        section="5.1",
        name="after a failure there is a last action, and no successful one",
        given="acted_between",
        ask="GET configdocs?versions=last_site_action&versions=committed",
        code=200,
        answer=[
            entry("design", "unmodified", base=("last_site_action", "first"), new=("committed", "committed")),
            entry(
                "second", "created", base=("last_site_action", "first"), new=("committed", "committed"), present=False
            ),
        ],
    ),
    Case(
        section="5.1",
        name="a failure alone is no success",
        given="acted_between",
        ask="GET configdocs?versions=successful_site_action&versions=committed",
        code=404,
        answer=absent("successful_site_action"),
    ),
]
