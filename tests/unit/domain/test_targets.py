"""The nodes of a targeted action (contract: shipyard-actions, chapters 3, 8.1 and 13)."""

import pytest

from shipyard_api.domain.errors import InvalidTargets
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.targets import TARGET_GROUP, parse_targets, targeted
from tests.factories import play


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("n1,n2", id="text"),
        pytest.param(" n1 , n2 ", id="text with blanks"),
        pytest.param("n1,,n2,", id="text with empty parts"),
        pytest.param(["n1", "n2"], id="list, the form of the manual"),
        pytest.param(["n1,n2"], id="text inside a list"),
        pytest.param(["n1", "", "n2", "n1"], id="list with an empty part and a name twice"),
    ],
)
def test_targets_are_a_list_or_a_text_with_commas(written: object) -> None:
    assert parse_targets(written) == ("n1", "n2")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty text"),
        pytest.param(" , ,", id="text without names"),
        pytest.param([], id="empty list"),
        pytest.param([""], id="list without names"),
        pytest.param([1], id="number in a list"),
        pytest.param(7, id="number"),
        pytest.param({"n1": True}, id="mapping"),
        pytest.param(["n1\n"[:3] + "\x00"], id="name with a control character"),
        pytest.param("n" * 254, id="name that is too long"),
    ],
)
def test_what_names_no_node_is_refused(written: object) -> None:
    with pytest.raises(InvalidTargets):
        parse_targets(written)


@pytest.mark.parametrize(
    ("found", "failing", "status"),
    [
        pytest.param("n1 n2", "", "success", id="all succeed"),
        pytest.param("n1 n2", "deploy:n2", "failed", id="one fails"),
        pytest.param("n1", "", "failed", id="one is not in the design"),
        pytest.param("", "", "failed", id="none is in the design"),
    ],
)
def test_every_target_must_succeed(found: str, failing: str, status: str) -> None:
    strategy = targeted((NodeName("n1"), NodeName("n2")))
    rollout = Rollout(strategy, {TARGET_GROUP: [NodeName(name) for name in found.split()]})

    play(rollout, fail=failing)

    assert rollout.groups[TARGET_GROUP].value == status
    assert rollout.verdict().value == status
