"""Commands that import from other systems."""

import json
import os
from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING

import click

from shipyard_api.cli.client import SOFTWARE, Api, json_content
from shipyard_api.cli.commands.programs import become
from shipyard_api.cli.commands.request import fail, path_segment
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.shapes import JsonObject
from shipyard_api.cli.output.wording import printable_lines

if TYPE_CHECKING:
    from shipyard_api.cli.nailgun import FuelDesign

_TOKEN = "FUEL_TOKEN"  # noqa: S105 - the name of a variable
_SITE = "clusters/1"


@click.group(
    "import",
    short_help="Import designs and task graphs of other systems.",
    epilog=examples(
        "shipyard import deckhand --url http://deckhand:9000/api/v1.0 --dry-run",
        "shipyard import fuel --url http://nailgun:8000",
    ),
)
def import_() -> None:
    """Import what another system holds, when you come from Airship or Fuel."""


@import_.command(
    "deckhand",
    short_help="Import revisions, buckets and tags of a Deckhand.",
    epilog=examples(
        "shipyard import deckhand --url http://deckhand:9000/api/v1.0 --dry-run",
        "shipyard import deckhand --url http://deckhand:9000/api/v1.0",
    ),
)
@click.option("--url", required=True, help="Deckhand's address, ending in /api/v1.0.")
@click.option("--dry-run", is_flag=True, help="Only read, compare and show what would be imported.")
def deckhand(**_: object) -> None:
    """Import revisions, buckets and tags of a Deckhand into the embedded document store, with their numbers.

    Compares what both render, and exits 1 if a revision differs or is left out. A repeated import goes on where the
    last one stopped. A store with other revisions is refused. Works on the database that DATABASE_URL names; the token
    for Deckhand is in the settings.
    """
    become("shipyard_api.programs.imports", "deckhand")


@import_.command(
    "fuel",
    short_help="Import release, roles, tags and task graphs of a nailgun.",
    epilog=examples(
        "shipyard import fuel --url http://nailgun:8000 --dry-run",
        "shipyard import fuel --url http://nailgun:8000 --cluster 3",
    ),
)
@click.option("--url", required=True, help="Nailgun's address.")
@click.option("--cluster", type=click.IntRange(1), help="The cluster of Fuel. (default: the only one)")
@click.option("--dry-run", is_flag=True, help="Only read, and show what would be imported.")
@click.pass_obj
def fuel(options: GlobalOptions, /, url: str, cluster: int | None, dry_run: bool) -> None:
    """Import a cluster of Fuel: its release with roles, tags and task graph, and what the cluster has of its own.

    The site then uses the imported release. May be repeated: existing entries are replaced, and no role, tag or release
    is deleted. Settings and nodes of the cluster are not imported. FUEL_TOKEN is the token for nailgun.
    """
    from shipyard_api.cli.nailgun import Nailgun

    try:
        design = Nailgun(url, os.environ.get(_TOKEN, "")).design(cluster)
        api = Api(options, base=SOFTWARE)
        release = design.release
        known = _known_release(api, release)
        content = _counts(release["roles_metadata"], release["tags_metadata"], design.tasks)
        fate = f"replaces release {known}" if known else "is new"
        click.echo(printable_lines(f"release '{release['name']}' {release['version']} {fate}: {content}"))
        counts = _counts(design.own_roles, design.own_tags, design.own_tasks)
        click.echo(printable_lines(f"cluster '{design.cluster}' is the site: {counts} of its own"))
        if dry_run:
            click.echo("nothing was changed")
            return
        number = _put_release(api, design, known)
        _put_cluster(api, design, number)
        click.echo(f"imported; the site uses release {number}")
    except ApiError as error:
        fail(options, error)


def _counts(roles: Sized, tags: Sized, tasks: Sized) -> str:
    return f"{len(roles)} role(s), {len(tags)} tag(s), {len(tasks)} task(s)"


def _known_release(api: Api, release: JsonObject) -> int | None:
    """Return the id of the release with this name and version, if there is one."""
    for listed in json_content(api.get("releases")):
        if (listed["name"], listed["version"]) == (release["name"], release["version"]):
            return int(listed["id"])
    return None


def _put_release(api: Api, design: "FuelDesign", known: int | None) -> int:
    body = dict(design.release)
    release = json_content(api.put(f"releases/{known}", body)) if known else None
    release = release or json_content(api.post("releases", json=body), expected=201)
    number = int(release["id"])
    _put_tasks(api, f"releases/{number}", design.tasks)
    return number


def _put_cluster(api: Api, design: "FuelDesign", release: int) -> None:
    json_content(api.put(_SITE, {"release_id": release}))
    # A role may only give tags that exist.
    _put_labels(api, "tags", design.own_tags)
    _put_labels(api, "roles", design.own_roles)
    _put_tasks(api, _SITE, design.own_tasks)


def _put_labels(api: Api, word: str, labels: Mapping[str, JsonObject]) -> None:
    labels_there = json_content(api.get(f"{_SITE}/{word}")) if labels else []
    names = {label["name"] for label in labels_there if label["owner"] == "cluster"}
    for name, meta in labels.items():
        if name in names:
            json_content(api.put(f"{_SITE}/{word}/{path_segment(name)}", {"meta": meta}))
        else:
            json_content(api.post(f"{_SITE}/{word}", json={"name": name, "meta": meta}), expected=201)


def _put_tasks(api: Api, owner: str, tasks: Sequence[JsonObject]) -> None:
    answer = api.put(f"{owner}/deployment_tasks", list(tasks))
    json_content(answer)
    for warning in json.loads(answer.warnings or "[]"):
        click.echo(f"Warning: {printable_lines(str(warning))}", err=True)
