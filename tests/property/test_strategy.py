"""Checking a strategy: no value of any shape breaks the check, and what passes it can be deployed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.findings import errors
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import check_groups, parse_strategy
from tests.factories import group_entry, play
from tests.property.test_graphs import reachable

NAMES = [f"g{number}" for number in range(8)]

entries = st.lists(
    st.builds(
        lambda name, parents: group_entry(name, depends_on=parents),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from([*NAMES, "nowhere"]), max_size=3),
    ),
    max_size=8,
)


@given(entries)
def test_a_strategy_without_errors_can_be_run_to_its_end_and_one_with_errors_is_told_all(
    found: list[dict[str, Any]],
) -> None:
    names = [entry["name"] for entry in found]
    pairs = {(entry["name"], parent) for entry in found for parent in entry["depends_on"]}
    unknown = [parent for entry in found for parent in entry["depends_on"] if parent not in names]
    own = [parent for entry in found for parent in entry["depends_on"] if parent == entry["name"]]
    known = {(name, parent) for name, parent in pairs if parent in names and parent != name}
    circular = any(name in reachable(known, name) for name in names)

    wrong = errors(check_groups({"groups": found}))

    kinds = [finding.name for finding in wrong]
    assert kinds.count("UnknownDeploymentGroup") == len(unknown)
    assert kinds.count("DuplicateDeploymentGroup") == len(names) - len(set(names))
    assert (kinds.count("DeploymentGroupCycleError") > len(own)) == circular
    if not wrong:
        read = parse_strategy({"groups": found})
        rollout = Rollout(read, {group.name: [] for group in read.groups})
        moves, _ = play(rollout)
        assert rollout.done
        assert len(moves) == len(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["name", "critical", "depends_on", "selectors", "success_criteria", "else"])
malformed = st.dictionaries(keys, json_values | st.lists(json_values, max_size=2), max_size=6)


@given(json_values | st.fixed_dictionaries({"groups": json_values | st.lists(malformed | json_values, max_size=4)}))
def test_no_value_of_any_shape_breaks_the_check(value: object) -> None:
    for finding in check_groups(value):
        assert finding.message
        assert finding.path.startswith("/groups/")
