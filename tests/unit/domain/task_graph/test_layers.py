"""Layers: what a cluster declares lies over what its release declares."""

from shipyard_api.domain.task_graph.layers import SITE, Cluster, Label, Layer, Owner, OwnerKind, Release, ReleaseId
from shipyard_api.domain.task_graph.tasks import Domain
from tests.unit.tables import every_row


def test_an_owner_is_named_in_the_singular() -> None:
    assert (str(Owner(OwnerKind.RELEASE, 2)), str(Owner(OwnerKind.CLUSTER, 1))) == ("release 2", "cluster 1")


@every_row(
    [
        (Domain.TAGS, "mysql", True),
        (Domain.TAGS, "mysql:2", True),
        (Domain.TAGS, "redis:2", False),
        (Domain.TAGS, "db", False),
        (Domain.ROLES, "db", True),
        (Domain.ROLES, "db:2", False),
        (Domain.ROLES, "mysql", False),
    ],
)
def test_a_tag_has_instances_and_a_role_has_none(domain: Domain, name: str, is_known: bool) -> None:
    assert Layer(roles={"db": Label()}, tags={"mysql": Label()}).knows(domain, name) is is_known


def test_a_cluster_replaces_whole_tasks_roles_and_tags_of_its_release() -> None:
    below = Layer(
        ({"id": "a", "type": "stage", "mine": 1}, {"id": "b", "type": "stage"}),
        {"controller": Label({"tags": ["mysql"]})},
        {"mysql": Label(predefined=True)},
    )
    own = Layer(
        ({"id": "c", "type": "stage"}, {"id": "a", "type": "skipped"}),
        {"controller": Label({"tags": ["rabbitmq"]}), "db": Label()},
        {"mysql": Label({"has_primary": True})},
    )

    layer = Cluster(SITE, Release(ReleaseId(1), layer=below), own_layer=own).layer

    assert layer.tasks == ({"id": "a", "type": "skipped"}, {"id": "b", "type": "stage"}, {"id": "c", "type": "stage"})
    assert layer.tags_by_role() == {"controller": ("rabbitmq",), "db": ()}
    assert [(name, tag.has_primary, tag.predefined) for name, tag in layer.tags.items()] == [("mysql", True, False)]


def test_a_layer_gets_other_roles_or_other_tags() -> None:
    old, new = {"old": Label()}, {"new": Label()}
    layer = Layer(({"id": "a", "type": "stage"},), old, old)

    assert layer.with_labels(Domain.ROLES, new) == Layer(layer.tasks, new, old)
    assert layer.with_labels(Domain.TAGS, new) == Layer(layer.tasks, old, new)


def test_a_layer_changes_the_cluster_of_its_owner_only() -> None:
    layer = Layer(roles={"db": Label()})
    cluster = Cluster(SITE, Release(ReleaseId(1)))

    own, below = (cluster.with_layer(owner, layer) for owner in (cluster.owner, cluster.release.owner))

    assert (own.own_layer, own.release) == (layer, cluster.release)
    assert (below.own_layer, below.release.layer) == (cluster.own_layer, layer)
    assert cluster.with_layer(Owner(OwnerKind.RELEASE, 2), layer) == cluster
