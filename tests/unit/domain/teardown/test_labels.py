"""Which labels a teardown clears (contract: promenade, 4.2 and 4.5)."""

from shipyard_api.domain.teardown.labels import in_the_way, to_clear

LABELS = {
    "kubernetes.io/hostname": "n1",
    "beta.kubernetes.io/arch": "amd64",
    "node-role.kubernetes.io/master": "",
    "topology.k8s.io/zone": "a",
    "kubernetes-etcd": "enabled",
    "kubernetes.io": "not a namespace",
    "example.org/kubernetes.io": "not its own",
    "promenade-decomission": "enabled",
}


def test_kubernetes_keeps_its_own_labels_and_all_others_go() -> None:
    assert to_clear(LABELS) == (
        "example.org/kubernetes.io",
        "kubernetes-etcd",
        "kubernetes.io",
        "promenade-decomission",
    )
    assert to_clear({key: value for key, value in LABELS.items() if key not in to_clear(LABELS)}) == ()


def test_only_the_decommission_label_may_be_left_when_the_node_is_removed() -> None:
    assert in_the_way({"promenade-decomission": "enabled", "kubernetes.io/os": "linux"}) == ()
    assert in_the_way({"promenade-decomission": "no", "rack": "r1"}) == ("promenade-decomission", "rack")
