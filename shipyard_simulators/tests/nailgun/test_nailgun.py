"""nailgun's answers by version (contract: fuel-task-graph, 5), and the simulator as a program."""

import json
from pathlib import Path
from typing import Any

import pytest

from shipyard_simulators.nailgun.simulator import NailgunSimulator
from shipyard_simulators.nailgun.site import FuelSite, Version
from shipyard_simulators.tests.in_process import HTTP, unserved
from shipyard_simulators.tests.programs import refusal, started

ONE, TWO = {"id": "one", "type": "shell"}, {"id": "two", "type": "shell"}
OWN = {"id": "two", "type": "skipped"}


def read(site: FuelSite, *paths: str, token: str | None = None, **headers: str) -> list[Any]:
    with unserved(NailgunSimulator(site, token=token)) as nailgun:
        answers = [HTTP.get(f"{nailgun.url}/api/v1/{path}", headers=headers) for path in paths]
    return [answer.json() if answer.ok else answer.status_code for answer in answers]


TASKS: dict[str, tuple[FuelSite, Any, list[str]]] = {
    "6.1, none": (FuelSite(Version.FIRST), None, []),
    "6.1, of the release": (FuelSite(Version.FIRST, [ONE, TWO]), [ONE, TWO], ["shell", "shell"]),
    "6.1, own ones": (FuelSite(Version.FIRST, [ONE, TWO], [OWN]), [ONE, TWO], ["skipped"]),
    "9.2, merged": (
        FuelSite(Version.TASKS, [ONE, TWO], [OWN]),
        [ONE | {"task_name": "one"}, TWO | {"task_name": "two"}],
        ["shell", "skipped"],
    ),
}


@pytest.mark.parametrize(("site", "release", "types"), TASKS.values(), ids=TASKS.keys())
def test_tasks_of_a_cluster_lie_over_those_of_its_release(site: FuelSite, release: Any, types: list[str]) -> None:
    of_release, of_cluster = read(site, "releases/2/deployment_tasks", "clusters/5/deployment_tasks/")

    assert of_release == release
    assert [task["type"] for task in of_cluster] == types


def test_tags_came_with_the_last_version() -> None:
    paths = ("releases/2/", "clusters/5/roles/", "clusters/5/tags/")

    release, roles, tags = read(FuelSite(own_tags={"swift": {"has_primary": False}}), *paths)
    assert release["tags_metadata"]["database"] == {"has_primary": True}
    assert [one["name"] for one in roles] == ["controller", "compute"]
    assert tags[-1] == {"name": "swift", "meta": {"has_primary": False}}

    release, *labels = read(FuelSite(Version.TASKS), *paths)
    assert "tags_metadata" not in release
    assert "tags" not in release["roles_metadata"]["controller"]
    assert labels == [404, 404]


def test_a_token_is_needed_for_everything_but_the_version() -> None:
    version, refused = read(FuelSite(), "version", "clusters/", token="right")
    assert (version["auth_required"], refused) == (True, 401)
    assert read(FuelSite(), "clusters/", token="right", **{"X-Auth-Token": "right"})[0][0]["id"] == 5


def test_the_program_serves_the_tasks_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([ONE]))
    with started("nailgun", tmp_path, "--tasks", file, "--fuel", "6.1") as (_, url):
        assert HTTP.get(f"{url}/api/v1/releases/2/deployment_tasks").json() == [ONE]
    file.write_text("{}")
    assert refusal("nailgun", "--tasks", str(file)) == (
        2,
        [f"shipyard simulate nailgun: --tasks {file}: it is not a list of tasks with ids"],
    )
