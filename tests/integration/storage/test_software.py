"""Releases, clusters and their nodes in rows."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import ReleaseExists
from shipyard_api.domain.task_graph.layers import SITE, ClusterId, Label, Layer, ReleaseId
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store
from tests.integration.storage.rows import counts
from tests.refusals import refuses

N1, N2, N3 = NodeName("n1"), NodeName("n2"), NodeName("n3")
LAYER = Layer(
    ({"z": [1, {"a": None}], "id": "a", "type": "stage", "odd": 1.50},),
    {"controller": Label({"tags": ["mysql"], "x": 1}, predefined=True)},
    {"mysql": Label({"has_primary": True}, predefined=True), "plain": Label()},
)


def put(store: Store, layer: Layer = LAYER) -> None:
    with store.begin() as tx:
        tx.software.lock()
        release = tx.software.release(ReleaseId(1))
        assert release
        tx.software.save_release(replace(release, layer=layer))


def assign(store: Store, node: NodeName, roles: str, tags: str) -> None:
    with store.begin() as tx:
        tx.software.add_nodes(SITE, [node])
        (stored,) = [one for one in tx.software.nodes(SITE) if one.name == node]
        tx.software.save_node(replace(stored, roles=tuple(roles.split()), tags=tuple(tags.split()), assigned=("own",)))


def test_release_1_and_cluster_1_are_there_before_anybody_writes(store: Store, engine: sa.Engine) -> None:
    before = counts(engine)
    with store.begin() as tx:
        releases, clusters = tx.software.releases(), tx.software.clusters()
        assert (tx.software.release(ReleaseId(1)), tx.software.cluster(SITE)) == (releases[0], clusters[0])
        assert (tx.software.release(ReleaseId(2)), tx.software.cluster(ClusterId(2))) == (None, None)
        assert tx.software.site(SITE, [N2, N1]).nodes == (ClusterNode(N2), ClusterNode(N1))

    assert ([one.id for one in releases], [one.id for one in clusters]) == ([1], [1])
    assert counts(engine) == before


def test_what_is_declared_is_kept_as_it_was_written(store: Store) -> None:
    put(store)

    with store.begin() as tx:
        cluster = tx.software.cluster(SITE)
        assert cluster
        tx.software.save_cluster(
            replace(cluster, own_layer=Layer(tags={"own": Label()}), settings={"a": {"value": True}})
        )
    with store.begin() as tx:
        found = tx.software.cluster(SITE)
    assert found
    assert found.release.layer == LAYER
    assert list(found.release.layer.tasks[0]) == ["z", "id", "type", "odd"]
    assert (list(found.layer.tags), found.settings) == (["mysql", "plain", "own"], {"a": {"value": True}})


def test_a_name_and_version_is_of_one_release(store: Store) -> None:
    with store.begin() as tx:
        made = tx.software.add_release("Ubuntu", "9.2", "Ubuntu")
    assert made.id == 2

    with refuses(ReleaseExists), store.begin() as tx:
        tx.software.add_release("Ubuntu", "9.2", "Debian")
    with refuses(ReleaseExists), store.begin() as tx:
        tx.software.save_release(replace(made, name="Shipyard", version="1.0"))


def test_a_node_keeps_its_id_and_its_tags_while_the_design_lacks_it(store: Store) -> None:
    assign(store, N2, "controller", "mysql")
    assign(store, N1, "", "")
    with store.begin() as tx:
        before = tx.software.nodes(SITE)

        assert [one.name for one in tx.software.site(SITE, [N1]).nodes] == [N1]
        tx.software.add_nodes(SITE, [N3, N2, N1])
        after = tx.software.nodes(SITE)

    assert [one.name for one in after] == [N2, N1, N3]
    assert after[:2] == before
    assert (after[0].tags, after[0].assigned) == (("mysql",), ("own",))


def test_a_site_has_its_primaries_and_keeps_those_of_a_run(store: Store) -> None:
    put(store)
    assign(store, N2, "controller", "mysql plain")
    assign(store, N1, "controller", "mysql")
    with store.begin() as tx:
        site = tx.software.site(SITE, [N1, N2])
        assert site.primaries == Primaries(tags={"mysql": N2})
        tx.software.keep_primaries(SITE, Primaries(tags={"mysql": N1}))
    with store.begin() as tx:
        assert tx.software.site(SITE, [N1, N2]).primaries == Primaries(tags={"mysql": N1})

    assign(store, N1, "controller", "plain")
    with store.begin() as tx:
        assert tx.software.primaries(SITE) == Primaries()
    assert site.tasks == LAYER.tasks
    assert (site.status, site.models["settings"], site.models["cluster"]["id"]) == ("new", {}, 1)


@pytest.mark.parametrize(
    ("state", "status"),
    [pytest.param("success", "operational", id="deployed"), pytest.param("failed", "error", id="failed")],
)
def test_the_last_deployment_says_the_status_and_who_is_ready(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId], state: str, status: str
) -> None:
    action = create("s")
    for node in (N1, N2):
        assign(store, node, "controller", "")
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state=state, ended_at=sa.func.now()))
        row = {"action_id": action, "name": N2, "status": "success", "groups": [], "updated_at": sa.func.now()}
        connection.execute(t.action_nodes.insert().values(**row))

    with store.begin() as tx:
        site = tx.software.site(SITE, [N1, N2])

    assert (site.status, [node.ready for node in site.nodes]) == (status, [False, True])
