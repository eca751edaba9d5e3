"""``shipyard import fuel``: from a nailgun to the API, both served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
import requests
from click.testing import Result

from shipyard_simulators.nailgun.simulator import running
from shipyard_simulators.nailgun.site import FuelSite, Version
from tests.acceptance.programs import invoke
from tests.integration.api.conftest import known_tokens
from tests.integration.api.served import Server, gunicorn
from tests.integration.api.wire import Site
from tests.task_graphs import group, real_graph, stage, task
from tests.unit.tables import every_row
from tests.waiting import PATIENCE

ADMIN = known_tokens()[0][0]
GRAPH = [
    stage("deploy_start"),
    stage("deploy_end", requires=["deploy_start"]),
    group("controller", requires=["deploy_start"], required_for=["deploy_end"]),
    task("ntp", groups=["controller"]),
    task("mysql", groups=["controller"], requires=["ntp"]),
]
SITE = FuelSite(
    tasks=GRAPH,
    own_tasks=[task("ntp", groups=["controller"], role=["controller"])],
    own_tags={"swift": {"has_primary": False}},
    own_roles={"storage": {"name": "Storage", "tags": ["swift"]}},
)
FOUND = """\
release 'Ubuntu 14.04' simulated-10.0 is new: 2 role(s), 3 tag(s), 5 task(s)
cluster 'production' is the site: 1 role(s), 1 tag(s), 1 task(s) of its own
"""


@dataclass(frozen=True)
class Shipyard:
    """The API behind a port, and its command line."""

    url: str

    def run(self, nailgun: str, *words: str, **environment: str) -> Result:
        known = {"SHIPYARD_URL": self.url, "SHIPYARD_TOKEN": ADMIN, **environment}
        return invoke(["import", "fuel", "--url", nailgun, *words], known)

    @property
    def release(self) -> str:
        """The address of the release that the site uses."""
        return f"releases/{self.get('clusters/1')['release_id']}"

    def get(self, path: str) -> Any:
        answer = requests.get(f"{self.url}/api/v1/{path}", headers={"X-Auth-Token": ADMIN}, timeout=PATIENCE)
        assert answer.ok, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def server(shared_url: str) -> Iterator[Server]:
    with gunicorn(shared_url, ADMIN) as server:
        yield server


@pytest.fixture
def shipyard(site: Site, server: Server) -> Shipyard:
    """An empty site."""
    assert site
    return Shipyard(f"http://127.0.0.1:{server.port}")


def imported(shipyard: Shipyard, fuel: FuelSite, *words: str) -> Result:
    with running(fuel) as nailgun:
        return shipyard.run(nailgun.url, *words)


def ids(tasks: list[Mapping[str, Any]]) -> list[str]:
    return [one["id"] for one in tasks]


def plain(tasks: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key != "task_name"} for one in tasks]


def test_a_cluster_of_fuel_becomes_the_site(shipyard: Shipyard) -> None:
    before = shipyard.get("releases"), shipyard.get("clusters")
    with running(SITE, token="right") as nailgun:
        dry = shipyard.run(nailgun.url, "--dry-run", FUEL_TOKEN="right")
    assert (dry.exit_code, dry.stdout) == (0, f"{FOUND}nothing was changed\n")
    assert (shipyard.get("releases"), shipyard.get("clusters")) == before

    result = imported(shipyard, SITE)

    release = shipyard.get(shipyard.release)
    assert (result.exit_code, result.stdout) == (0, f"{FOUND}imported; the site uses release {release['id']}\n")
    assert (release["name"], release["version"]) == ("Ubuntu 14.04", "simulated-10.0")
    assert release["tags_metadata"] == SITE.tags
    assert release["roles_metadata"] == SITE.roles
    assert plain(shipyard.get(f"{shipyard.release}/deployment_tasks")) == GRAPH
    assert plain(shipyard.get("clusters/1/deployment_tasks/own")) == list(SITE.own_tasks)
    own = {one["name"]: one["meta"] for one in shipyard.get("clusters/1/tags") if one["owner"] == "cluster"}
    assert own == SITE.own_tags
    own = {one["name"]: one["meta"] for one in shipyard.get("clusters/1/roles") if one["owner"] == "cluster"}
    assert own == SITE.own_roles
    # A repeated import replaces what the first one stored.
    result = imported(shipyard, replace(SITE, own_tags={"swift": {"has_primary": True}}, own_tasks=()))
    assert result.exit_code == 0
    assert "release 'Ubuntu 14.04' simulated-10.0 replaces release " in result.stdout
    assert len(shipyard.get("releases")) == 2
    assert shipyard.get("clusters/1/deployment_tasks/own") == []
    assert [one["meta"] for one in shipyard.get("clusters/1/tags") if one["name"] == "swift"] == [{"has_primary": True}]


def test_an_import_goes_on_where_a_request_was_lost(shipyard: Shipyard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends after each of its requests, and is repeated."""
    from shipyard_api.cli.client import Api

    send: Callable[..., Any] = Api._send
    for allowed in (*range(0, 12, 3), 12):
        left = allowed

        def dying(*words: Any) -> Any:
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            return send(*words)

        monkeypatch.setattr(Api, "_send", dying)
        result = imported(shipyard, SITE)
    assert result.exit_code == 0
    assert len(shipyard.get("releases")) == 2
    assert ids(shipyard.get("clusters/1/deployment_tasks")) == ids(GRAPH)
    assert [one["name"] for one in shipyard.get("clusters/1/roles")][-1] == "storage"


def test_a_cluster_of_6_1_replaces_all_tasks_so_others_are_skipped(shipyard: Shipyard) -> None:
    result = imported(shipyard, FuelSite(Version.FIRST, tasks=GRAPH, own_tasks=GRAPH[:4]))

    assert result.exit_code == 0, result.output
    assert shipyard.get("clusters/1/deployment_tasks/own") == [{"id": "mysql", "type": "skipped"}]
    assert shipyard.get(shipyard.release)["roles"] == ["controller", "compute"]


def test_real_graphs_are_imported_whole(shipyard: Shipyard) -> None:
    for name, version in (("6.1", Version.FIRST), ("9.2", Version.TASKS)):
        graph = real_graph(name)

        result = imported(shipyard, FuelSite(version, tasks=graph))

        assert result.exit_code == 0, result.output
        assert plain(shipyard.get(f"{shipyard.release}/deployment_tasks")) == plain(graph)
        assert shipyard.get("clusters/1/deployment_tasks/own") == []


WRONG = {
    "another cluster": (("--cluster", "9"), {}, "There is no cluster 9; Fuel's clusters: 5 (production)."),
    "without the token": ((), {}, "Nailgun requires a token: set FUEL_TOKEN."),
    "another address": (("--url", "http://127.0.0.1:9"), {"FUEL_TOKEN": "right"}, "Connection refused"),
    "no address": (("--url", "nailgun"), {}, "--url: "),
}


def test_what_is_in_the_way_is_one_line(shipyard: Shipyard) -> None:
    """A graph with faults is refused in the words of the API."""

    @every_row(WRONG)
    def told(words: tuple[str, ...], environment: dict[str, str], text: str) -> None:
        with running(SITE, token=None if "--cluster" in words else "right") as nailgun:
            result = shipyard.run(nailgun.url, *words, **environment)
        assert (result.exit_code, result.output.count("\n")) == (1, 1)
        assert text in result.output

    told()
    result = shipyard.run(f"{shipyard.url}/dashboard/")
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert result.output.startswith("Error: Nailgun answered GET /clusters/ with ")
    result = imported(shipyard, replace(SITE, tasks=[task("a", requires=["nowhere"])], own_tasks=()))
    assert (result.exit_code, "nowhere" in result.output) == (1, True)
    assert shipyard.get("clusters/1")["release_id"] == 1
