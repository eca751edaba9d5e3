"""Conditions in both forms of seed 001 (contract: fuel-task-graph, 1.4)."""

import pytest

from shipyard_api.domain.task_graph.conditions import ConditionError, Facts, UnknownPath, is_true, parse_condition
from tests.unit.tables import every_row

FACTS = Facts(
    models={
        "settings": {
            "storage": {"volumes_ceph": {"value": True}, "size": 0, "names": ["x", "y"], "map": {"k": 1}},
            "text": "hello",
            "murano-cfapi": {"enabled": False},
        },
        "cluster": {"net_provider": "neutron"},
    },
    cluster_status="new",
    run_roles=frozenset({"controller", "ceph-osd"}),
    cluster_roles=frozenset({"controller", "ceph-osd", "zabbix-server"}),
    nodes_count=12,
)

HOLD = [
    "settings:storage.volumes_ceph.value == true",
    'cluster:net_provider != "nova"',
    "settings:storage.size == false",  # comparison is Python's
    "'x' in settings:storage.names",
    "'k' in settings:storage.map",
    "'ell' in settings:text",
    "false in settings:storage.names == false",
    "not false",
    "1 == 1 == true",
    "settings:storage.size or 'operand'",
    "api.cluster_status == 'new' and api.nodes_count() > 10",
    "api.role_in_deployment('ceph-osd')",
    'api.role_in_cluster("zabbix-server")',
    "not api.role_in_deployment('zabbix-server')",
    "(not api.role_in_cluster('x')) == true",
    "api.nodes_count() >= 12 and 12 <= api.nodes_count()",
]

FAIL = [
    "1 == '1'",
    "null == false",
    "not 'x' in settings:storage.names",  # reads (not 'x') in the list
    "settings:storage.size and 1",
    "api.role_in_deployment('zabbix-server')",
    "api.nodes_count() < 9",
]


@every_row(["settings:missing.path == null", "'x' in settings:missing", "not settings:text.deeper.still"])
def test_a_value_that_is_not_there_is_no_null(text: str) -> None:
    with pytest.raises(UnknownPath, match=r"there is no settings:[a-z.]+"):
        is_true(parse_condition(text), FACTS)


@every_row(HOLD)
def test_a_condition_holds(text: str) -> None:
    assert is_true(parse_condition(text), FACTS) is True


@every_row(FAIL)
def test_a_condition_does_not_hold(text: str) -> None:
    assert is_true(parse_condition(text), FACTS) is False


@every_row(
    {
        "parentheses": "(" * 32 + "true" + ")" * 32,
        "negations": "not " * 32 + "true",
        "parentheses beside each other": " and ".join(["(not false)"] * 40),
        "operators": " and ".join(["true"] * 129),
        "digits": f"api.nodes_count() < {'1' * 18}",
        "characters": "true" + " " * 4092,
    }
)
def test_a_condition_with_just_the_size_that_is_possible_holds(text: str) -> None:
    assert is_true(parse_condition(text), FACTS) is True


BAD_CONDITIONS = {
    "empty": ("", "empty"),
    "unknown character": ("true & false", "'&' at character 5"),
    "order without api": ("1 < 2", "api.nodes_count"),
    "operand missing": ("1 +", "'+' at character 2"),
    "right side missing": ("settings:a ==", "ends where a value"),
    "operator missing": ("true false", "operator is missing before 'false'"),
    "open parenthesis": ("(true", "')' is missing before the end"),
    "closing parenthesis": ("true)", "operator is missing before ')'"),
    "open string": ("'abc", "has no end"),
    "word": ("storage == 1", "a value is missing before 'storage'"),
    "unknown model": ("release:name == 'x'", "'release'"),
    "empty step": ("settings:a..b", "empty step"),
    "float": ("1.5 == 1", "'1' at character 0"),
    "long number": ("1" * 30, "too long"),
    "unknown api": ("api.delete('x')", "api.delete"),
    "deep api": ("api.cluster.status == 'new'", "'.' at character 11"),
    "role without quotes": ("api.role_in_cluster(x)", "in quotes"),
    "role missing": ("api.role_in_cluster()", "in quotes"),
    "count with an argument": ("api.nodes_count(1)", "')' is missing"),
    "ambiguous not": ("not api.cluster_status == 'new'", "ambiguous"),
    "too deep": ("(" * 40 + "true" + ")" * 40, "more than 32 deep"),
    "too many operators": (" or ".join(["true"] * 200), "more than 128 operators"),
    "too long": ("true" + " " * 5000, "at most 4096"),
    "one deeper": ("(" * 33 + "true" + ")" * 33, "more than 32 deep"),
    "one deeper behind others": ("(true) and " * 9 + "(" * 33 + "true" + ")" * 33, "more than 32 deep"),
    "one operator more": (" or ".join(["true"] * 130), "more than 128 operators"),
    "one digit more": ("api.nodes_count() > " + "1" * 19, "the number at character 20 is too long"),
    "one character more": ("true" + " " * 4093, "it has 4097 characters; at most 4096"),
    "control character": ("true\x00", "'\\x00'"),
}


@every_row(BAD_CONDITIONS)
def test_a_condition_outside_of_the_language_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as refused:
        parse_condition(text)

    assert message in str(refused.value)


@every_row(
    [
        ("1 in 2", "a number in a number"),
        ("settings:storage in 'text'", "an object in a string"),
        ("1 in settings:storage.map", "a number in an object"),
        ("api.nodes_count() > 'x'", "a number with a string"),
        ("3 > not api.nodes_count()", "with a number, and nothing else"),
    ],
)
def test_values_that_do_not_fit_their_operator_have_no_result(text: str, values: str) -> None:
    with pytest.raises(ConditionError, match=values):
        is_true(parse_condition(text), FACTS)
