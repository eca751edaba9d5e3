"""The files of a node, and the nodes that lack a value of a task. What they hold is in tests/integration/api."""

import json
from typing import Any

import yaml

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import Facts
from shipyard_api.domain.task_graph.node_facts import SiteFacts, masked, node_faults, read_settings, setting_keys
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks
from tests.task_graphs import task
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
NOTHING = {"roles": [], "tags": [], "primary_roles": [], "primary_tags": []}
COPY = TaskId("copy")


def test_both_files_of_a_node_say_the_same_and_no_secret() -> None:
    values = RunValues.read({"all": {"ntp": "10.0.0.9", "password": "hunter22"}, "secret": ["password"]})
    first = NOTHING | {"roles": ["controller"], "primary_roles": ["controller"]}
    facts = SiteFacts({N1: first, N2: NOTHING}, {N1: {"oam": "10.0.0.1"}}, {"ceph": {"osds": 3}}, values)

    files = facts.files(N1)
    read = json.loads(files.as_json)
    assert yaml.safe_load(files.as_yaml) == read
    carriers = {"n1": {"oam": "10.0.0.1"}}
    assert read == {
        "node": {"name": "n1", **first, "addresses": {"oam": "10.0.0.1"}, "values": {"ntp": "10.0.0.9"}},
        "roles": {"controller": carriers, "primary-controller": carriers},
        "tags": {},
        "settings": {"ceph": {"osds": 3}},
    }


@every_row([((N1,), []), ((N1, N2), ["node n2"]), ((N1, N2, N3), ["node n2 and 1 more"])])
def test_a_task_needs_its_values_on_each_of_its_nodes(nodes: tuple[NodeName, ...], lacking: list[str]) -> None:
    facts = SiteFacts(dict.fromkeys(nodes, NOTHING), {N1: {"oam": "10.0.0.1"}})
    document = {"type": "shell", "parameters": {"cmd": "ping {ADDRESS.oam}"}}

    found = node_faults({COPY: document}, {COPY: nodes}, facts)
    said = [f"Task 'copy' uses {{ADDRESS.oam}}, and {who} has no fixed address in 'oam'." for who in lacking]
    assert [finding.message for finding in found] == said


def test_settings_are_inserted_where_they_have_one_value() -> None:
    settings = {"ntp": {"server": "10.0.0.9", "burst": 4, "iburst": True, "none": None, "pool": ["a"]}, "empty": {}}
    assert setting_keys({"settings": settings}) == {
        "SETTINGS.ntp.server": "10.0.0.9",
        "SETTINGS.ntp.burst": "4",
        "SETTINGS.ntp.iburst": "true",
    }
    assert setting_keys({}) == {}


@every_row(
    {
        "none": ([], {}),
        "one": (["settings:a.b.c == 1"], {"a": {"b": {"c": 1}}}),
        "one at the top": (["not settings:d"], {"d": False}),
        "of several tasks": (["settings:a.b.c == 1", "settings:a.e == 2", "true"], {"a": {"b": {"c": 1}, "e": 2}}),
        "several of one task": (["settings:d or settings:a.e == 2"], {"a": {"e": 2}, "d": False}),
        "no fact of the cluster, and none that is not there": (["cluster:net == 'x'", "settings:a.missing == 1"], {}),
    }
)
def test_the_settings_of_a_site_are_those_that_conditions_read(conditions: list[str], read: dict[str, Any]) -> None:
    facts = Facts({"settings": {"a": {"b": {"c": 1, "x": 9}, "e": 2}, "d": False}, "cluster": {"net": "x"}})
    tasks = parse_tasks([task(f"t{number}", condition=written) for number, written in enumerate(conditions)])

    assert read_settings(tasks, facts) == read


def test_secrets_are_masked_at_any_depth_and_nothing_else_changes() -> None:
    hidden = masked("hunter22", ["hunter22"])
    assert "hunter22" not in hidden

    value = {"a": ["hunter22", {"b": "hunter22"}, 1, None, True], "c": {}, "d": "open"}
    expected = {"a": [hidden, {"b": hidden}, 1, None, True], "c": {}, "d": "open"}
    assert masked(value, ["hunter22"]) == expected


@every_row([((), []), ((N1,), []), ((N1, N2, N3), ["n2"]), ((N3, N2), ["n3"])])
def test_the_first_node_on_which_a_value_cannot_be_used_is_named(
    nodes: tuple[NodeName, ...], faulty: list[str]
) -> None:
    facts = SiteFacts(dict.fromkeys(nodes, NOTHING), {N1: {"oam": "/a"}, N2: {"oam": "b"}, N3: {"oam": "c"}})
    document = {"id": "copy", "type": "shell", "parameters": {"cmd": "ls", "cwd": "{ADDRESS.oam}"}}

    found = node_faults({COPY: document}, {COPY: nodes}, facts)
    assert [finding.message.partition(" is ")[0] for finding in found] == [
        f"On node {name}: Task 'copy': cwd" for name in faulty
    ]
