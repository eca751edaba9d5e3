"""What an action freezes of a site: addresses, and the digests of the files that its tasks copy."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shipyard_api.actions.frozen_software import FrozenSoftware, freeze, plan_run
from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import remote_task
from shipyard_api.domain.task_graph.layers import SITE, Cluster, Layer, Release, ReleaseId
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, Primaries
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.ports.state.software import SoftwareSite
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.software_world import rendered
from tests.task_graphs import task

FILES = {"keys/n1": b"one", "keys/n2": b"two", "shared": b"all"}
HOSTS = {NodeName(name): Host(NodeName(name), f"10.0.0.{number}", 22) for number, name in enumerate(("n1", "n2"), 1)}


def digests(sources: Collection[str]) -> Mapping[str, str]:
    return {source: hashlib.sha256(FILES[source]).hexdigest() for source in sources if source in FILES}


def hosts(_: object, nodes: Sequence[NodeName]) -> tuple[Mapping[NodeName, Host], Sequence[Finding]]:
    return HOSTS, [error("NoAddress", f"Node {node}: none.") for node in nodes if node not in HOSTS]


ACCESS = RemoteAccess(FakeRemoteTasks(), hosts, digests=digests)


def copies(name: str, source: str, **more: Any) -> dict[str, Any]:
    files = [{"src": source, "dst": "/etc/a"}]
    return task(name, type="copy_files", parameters={"files": files, "digests": {source: "of a stranger"}}, **more)


def site(*tasks: Any) -> SoftwareSite:
    nodes = tuple(ClusterNode(NodeName(name), ("web",), ready=True) for name in ("n1", "n2", "n3"))
    return SoftwareSite(Cluster(SITE, Release(ReleaseId(1), layer=Layer(tuple(tasks)))), nodes, Primaries(), "new")


GRAPH = (
    task("make", role=["master"]),
    copies("own", "keys/{NODE}", role=["web"]),
    copies("shared", "shared", role=["web"]),
    copies("missing", "none", role=["web"]),
    copies("made", "shared", role=["web"], requires=["make"]),
)


def frozen(access: RemoteAccess | None = ACCESS) -> FrozenSoftware:
    return freeze(site(*GRAPH), rendered(["n1", "n2", "n3"]), access, {"nodes": ["n1", "n2"]})


def test_files_that_tasks_copy_are_frozen_but_not_those_that_the_run_itself_may_make() -> None:
    found = {entry["id"]: entry["parameters"].get("digests") for entry in frozen().tasks if entry["id"] != "make"}

    assert found["own"] == digests(["keys/n1", "keys/n2"])
    assert found["shared"] == digests(["shared"])
    assert found["missing"] is None
    assert found["made"] is None
    (copy,) = remote_task(frozen().tasks[2]).copies
    assert copy.digest == digests(["shared"])["shared"]


def test_what_is_frozen_is_the_same_after_it_was_stored() -> None:
    assert FrozenSoftware.from_json(frozen().to_json()) == frozen()
    assert frozen().unreachable == {"n3": "Node n3: none.", MASTER: "Node master: none."}


def test_where_the_api_has_no_ssh_the_worker_finds_the_nodes() -> None:
    alone = frozen(None)

    assert (alone.hosts, alone.unreachable) == ({}, {})
    reached = alone.reached(rendered(["n1", "n2", "n3"]), ACCESS)
    assert (reached.hosts, reached.reached(rendered(["n1"]), RemoteAccess(FakeRemoteTasks(), lambda *_: ({}, ())))) == (
        HOSTS,
        reached,
    )


def test_a_run_is_made_from_what_was_frozen_and_names_the_nodes_that_ssh_does_not_reach() -> None:
    run = plan_run(frozen(), rendered(["n1"]), {"nodes": ["n1", "n3"], "tasks": ["shared"]}, None, ACCESS)

    assert [finding.message for finding in run.findings if finding.name == "NoAddress"] == ["Node n3: none."]
    assert run.stage is not None
    assert {*run.stage.documents} == {TaskId("shared")}
