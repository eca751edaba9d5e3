"""Chapter 5.1: GET /configdocs, two versions compared collection by collection."""

from itertools import permutations
from typing import Any

from tests.integration.api.contract.case import Who, asked, error
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
    asked("5.1", "nothing at all", "GET configdocs", 200, []),
    asked(
        "5.1",
        "nothing at all, versions given",
        "GET configdocs?versions=committed&versions=buffer",
        200,
        [],
        who=Who.VIEWER,
    ),
    asked(
        "5.1",
        "with nothing committed the base revision is 0",
        "GET configdocs",
        200,
        [entry("design", "created", base=("committed", 0), new=NEW, present=False)],
        given="buffered",
    ),
    asked(
        "5.1",
        "with an empty buffer both are the committed revision and nothing differs",
        "GET configdocs",
        200,
        [entry("design", "unmodified", base=BASE, new=("buffer", "committed"))],
        given="committed",
    ),
    asked("5.1", "every status, by name", "GET configdocs", 200, CHANGED, given="changed"),
    asked("5.1", "a viewer may compare", "GET configdocs", 200, CHANGED, given="changed", who=Who.VIEWER),
    # 15: the manual's name of the parameter is not the code's.
    asked("5.1", "version is not versions", "GET configdocs?version=nonsense", 200, CHANGED, given="changed"),
    *(
        asked(
            "5.1",
            f"{one} and {other}",
            f"GET configdocs?versions={one}&versions={other}",
            200,
            compared(one, other),
            given="acted",
        )
        for one, other in permutations(RANKED, 2)
    ),
    *(
        asked("5.1", f"{what} instead of two", f"GET configdocs?{query}", 400, COUNT_OF_VERSIONS, given="acted")
        for what, query in {
            "one version": "versions=committed",
            "two versions with a comma": "versions=committed,buffer",
            "three versions": "versions=committed&versions=buffer&versions=last_site_action",
            "one version and an empty one": "versions=committed&versions=",
        }.items()
    ),
    *(
        asked(
            "5.1",
            f"{version} with itself",
            f"GET configdocs?versions={version}&versions={version}",
            400,
            SAME,
            given="acted",
        )
        for version in RANKED
    ),
    *(
        asked(
            "5.1",
            f"{version!r} is no version",
            f"GET configdocs?versions={version}&versions=buffer",
            400,
            invalid(version),
            given="acted",
        )
        for version in ("nonsense", "site_action", "successful-site", "7")
    ),
    asked(
        "5.1",
        "what is no version with itself: that they differ is looked at first",
        "GET configdocs?versions=nonsense&versions=nonsense",
        400,
        SAME,
        given="acted",
    ),
    asked(
        "5.1",
        "two that are no versions: the first is named",
        "GET configdocs?versions=nonsense&versions=more",
        400,
        invalid("nonsense"),
        given="acted",
    ),
    *(
        asked(
            "5.1",
            f"{version} does not exist yet, beside {other}",
            f"GET configdocs?versions={other}&versions={version}",
            404,
            absent(version),
            given="committed",
        )
        for version in ("successful_site_action", "last_site_action")
        for other in ("committed", "buffer")
    ),
    asked(
        "5.1",
        "after a failure there is a last action, and no successful one",
        "GET configdocs?versions=last_site_action&versions=committed",
        200,
        [
            entry("design", "unmodified", base=("last_site_action", "first"), new=("committed", "committed")),
            entry(
                "second", "created", base=("last_site_action", "first"), new=("committed", "committed"), present=False
            ),
        ],
        given="acted_between",
    ),
    asked(
        "5.1",
        "a failure alone is no success",
        "GET configdocs?versions=successful_site_action&versions=committed",
        404,
        absent("successful_site_action"),
        given="acted_between",
    ),
]
