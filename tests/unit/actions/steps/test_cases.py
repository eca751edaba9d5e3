"""What is known of the nodes of an action when their failures are compared, and where each of them is."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.actions.steps.cases import FindCases, _Sent
from shipyard_api.domain.cases.features import Features
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.state.groups import PhaseRecord
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 30, tzinfo=UTC)
STEP: Any = "a step of a template"
N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def phase(name: str, nodes: list[str], at: int, ended: int | None = None) -> PhaseRecord:
    """Return a phase that was sent ``at`` seconds, and ended."""
    times = [NOW + timedelta(seconds=at), None, None if ended is None else NOW + timedelta(seconds=ended)]
    return PhaseRecord("g", name, 0, "x", "j", nodes, "", *times)


def test_a_node_is_at_work_in_the_last_phase_that_has_not_ended() -> None:
    groups: Any = [
        SimpleNamespace(phases=[phase("deploy", ["n1"], 20), phase("prepare", ["n1", "n2"], 0, ended=10)]),
        SimpleNamespace(phases=[phase("prepare", ["n3"], 5)]),
    ]
    sent = _Sent.of(groups)
    assert sent.last == {"n1": NOW + timedelta(seconds=20), "n2": NOW, "n3": NOW + timedelta(seconds=5)}
    assert sent.flight == {"n1": Phase.DEPLOY, "n3": Phase.PREPARE}
    at_work = {
        (name, status): sent.works_on(cast(Any, SimpleNamespace(name=name, status=status)))
        for name in (N1, N2, N3)
        for status in (NodeStatus.NOT_STARTED, NodeStatus.PREPARED, NodeStatus.SUCCESS)
    }
    assert {pair for pair, working in at_work.items() if working} == {
        (N1, NodeStatus.PREPARED),
        (N3, NodeStatus.NOT_STARTED),
    }


@every_row(
    [
        # the steps of templates; the templates of each node, or that the question has no meaning
        ({}, None),
        ({N1: (("bios", STEP), ("raid", STEP))}, [{"bios", "raid"}, frozenset()]),
    ]
)
def test_templates_are_a_feature_where_one_is_used(steps: Any, templates: Any) -> None:
    design = Rendering(())
    design.kept[Features] = Features([N1, N2])
    inputs = SiteInputs(3, DeploymentConfiguration(), None, deploy_steps=steps)
    nodes: Any = [SimpleNamespace(name=name, groups=["g"]) for name in (N1, N2)]
    features = FindCases(cast(Any, None), lambda _: design).features(inputs, nodes)
    expected = {"group": [{"g"}, {"g"}], **({"template": templates} if templates else {})}
    assert features == Features([N1, N2], expected)
