"""The tag check before a deployment (seed 002): it names what is missing, and it never blocks."""

import pytest

from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import Label, Layer
from shipyard_api.domain.task_graph.roles import ClusterNode
from shipyard_api.domain.task_graph.tag_check import check_tags

LAYER = Layer(
    roles={
        "controller": Label({"tags": ["mysql", "rabbitmq", "own"]}),
        "mongo": Label({"tags": ["mongo", "rabbitmq"]}),
    },
    tags={
        "mysql": Label(predefined=True),
        "rabbitmq": Label(predefined=True),
        "mongo": Label(predefined=True),
        "own": Label(),
    },
)


def node(name: str, roles: str, tags: str, *, leaving: bool = False) -> ClusterNode:
    return ClusterNode(NodeName(name), tuple(roles.split()), tuple(tags.split()), leaving=leaving)


@pytest.mark.parametrize(
    ("nodes", "warned", "informed"),
    [
        pytest.param([node("n1", "controller mongo", "mysql rabbitmq mongo")], "", "", id="every tag has a node"),
        pytest.param([node("n1", "controller", "rabbitmq")], "mysql", "mongo", id="a role in use and one that is not"),
        pytest.param([node("n1", "controller", "own")], "mysql, rabbitmq", "mongo", id="several at once"),
        pytest.param([node("n1", "", "mysql")], "", "rabbitmq, mongo", id="a tag without its role counts"),
        pytest.param(
            [node("n1", "controller", "mysql rabbitmq"), node("n2", "mongo", "mongo", leaving=True)],
            "",
            "mongo",
            id="a node that is to be removed does not count",
        ),
        pytest.param(
            [node("n1", "controller", "mysql:2 rabbitmq mongo")], "mysql", "", id="an instance is another tag"
        ),
        pytest.param([], "", "mysql, rabbitmq, mongo", id="no node"),
    ],
)
def test_predefined_tags_without_a_node_are_named(nodes: list[ClusterNode], warned: str, informed: str) -> None:
    findings = check_tags(LAYER, nodes)

    texts = {finding.level: finding.message for finding in findings}
    assert len(texts) == len(findings)
    assert Level.ERROR not in texts
    for level, expected in ((Level.WARNING, warned), (Level.INFO, informed)):
        assert (f": {expected}." in texts[level]) if expected else level not in texts
