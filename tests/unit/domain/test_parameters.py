"""What the parameters of actions mean, and what their authors are told."""

from itertools import product
from typing import Any

import pytest
import yaml

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.errors import InvalidParameters, InvalidTargets
from shipyard_api.domain.findings import Level
from shipyard_api.domain.parameters import Parameters, TargetRevision, misplaced
from tests.conftest import ROOT
from tests.refusals import refuses
from tests.unit.tables import every_row

parse_parameters = ACTIONS.parse

DEPLOY, UPDATE, SOFTWARE = ActionName("deploy_site"), ActionName("update_site"), ActionName("update_software")
REDEPLOY, RELABEL, TEST = ActionName("redeploy_server"), ActionName("relabel_nodes"), ActionName("test_site")


def meaning(name: ActionName, **written: Any) -> Parameters:
    parameters, warnings = parse_parameters(name, {key.replace("__", "-"): value for key, value in written.items()})
    assert warnings == ()
    return parameters


@pytest.mark.parametrize(
    ("written", "meant"),
    [("true", True), ("True", True), ("TRUE", True), (True, True), ("false", False), ("FALSE", False), (False, False)],
    ids=repr,
)
@pytest.mark.parametrize("name", [DEPLOY, UPDATE, SOFTWARE, REDEPLOY, RELABEL], ids=lambda name: name)
def test_continue_on_fail_is_a_boolean_or_its_text_in_any_case(name: ActionName, written: object, meant: bool) -> None:
    nodes = {"target_nodes": "n1"} if "target_nodes" in ACTIONS[name].knows else {}

    assert meaning(name, continue__on__fail=written, **nodes).continues_on_fail is meant


@every_row(
    product(
        ["continue-on-fail", "allow-intermediate-commits"], ["yes", "", " true", "truee", 1, 0, None, [], {}, ["true"]]
    )
)
def test_what_is_neither_counts_as_false_and_is_told(key: str, written: object) -> None:
    parameters, (warning,) = parse_parameters(DEPLOY, {key: written})

    assert (parameters.continues_on_fail, bool(parameters.allows_intermediate_commits)) == (False, False)
    assert (warning.name, warning.level, warning.path) == (
        "ParameterNotUnderstood",
        Level.WARNING,
        f"/parameters/{key}",
    )
    assert f"The parameter {key} is {written!r}, which counts as false" in warning.message


@every_row(product(["force", "preserve-local-storage"], ["yes", "", 1, None, []]))
def test_where_a_misunderstanding_could_cost_data_it_is_refused(key: str, written: object) -> None:
    with refuses(InvalidParameters) as caught:
        parse_parameters(REDEPLOY, {"target_nodes": "n1", key: written})

    (finding,) = caught.value.findings
    assert finding.message == f"The parameter {key} is wrong: it is either true or false, not {written!r}."
    assert finding.path == f"/parameters/{key}"


def test_without_parameters_everything_stands_at_its_default() -> None:
    assert meaning(DEPLOY) == Parameters()
    assert meaning(DEPLOY).allows_intermediate_commits is None
    assert meaning(DEPLOY, allow__intermediate__commits="False").allows_intermediate_commits is False


@every_row(
    {
        "a text with commas": ({"target_nodes": "n1, n2"}, ("n1", "n2")),
        "a list": ({"target_nodes": ["n1", "n2"]}, ("n1", "n2")),
        "the name of one server": ({"server-name": "n3"}, ("n3",)),
    },
)
def test_targets_are_named_in_either_way(written: dict[str, Any], nodes: tuple[str, ...]) -> None:
    assert parse_parameters(REDEPLOY, written)[0].targets == nodes


@every_row(
    {
        "none": (REDEPLOY, {}),
        "a name that relabel_nodes does not know": (RELABEL, {"server-name": "n1"}),
    },
)
def test_a_targeted_action_without_targets_is_refused(name: ActionName, written: dict[str, Any]) -> None:
    with refuses(InvalidTargets):
        parse_parameters(name, written)


@every_row([REDEPLOY, ActionName("remove_server")])
def test_the_name_of_one_server_is_not_a_list_of_servers(name: ActionName) -> None:
    with refuses(InvalidParameters) as caught:
        parse_parameters(name, {"server-name": "c1,c2"})

    assert caught.value.findings[0].message == (
        "The parameter server-name is wrong: it names one server, not 'c1,c2'; target_nodes names several."
    )


def test_two_ways_to_name_the_targets_at_once_are_refused() -> None:
    with refuses(InvalidParameters, match="give either server-name or target_nodes"):
        parse_parameters(REDEPLOY, {"server-name": "n1", "target_nodes": "n1"})


@every_row([(one.value, one) for one in TargetRevision])
def test_a_server_is_deployed_from_the_revision_that_is_named(written: str, meant: TargetRevision) -> None:
    assert parse_parameters(REDEPLOY, {"target_nodes": "n1", "target-revision": written})[0].target_revision is meant


def test_a_server_is_deployed_from_the_last_good_revision_unless_another_is_named() -> None:
    assert meaning(REDEPLOY, target_nodes="n1").target_revision is TargetRevision.SUCCESSFUL_SITE_ACTION
    with refuses(InvalidParameters, match="'buffer' is none of committed, successful-site"):
        parse_parameters(REDEPLOY, {"target_nodes": "n1", "target-revision": "buffer"})


def test_a_server_is_replaced_unless_it_is_to_be_rebuilt() -> None:
    modes = [
        parse_parameters(REDEPLOY, {"target_nodes": "n1", **mode})[0].mode.value for mode in ({}, {"mode": "rebuild"})
    ]
    assert modes == ["replace", "rebuild"]
    with refuses(InvalidParameters):
        parse_parameters(REDEPLOY, {"target_nodes": "n1", "mode": "Rebuild"})


@every_row(["nodes", "tasks", "skip"])
def test_a_run_of_tasks_is_limited_by_lists_or_by_texts_with_commas(key: str) -> None:
    for written in (["a", "b", "a"], "a, b,,a"):
        assert meaning(SOFTWARE, **{key: written}).software == {key: ["a", "b"]}
    for wrong in ("", " , ", [], [""], ["a", 1], 5, None, {"a": 1}):
        with refuses(InvalidParameters, match="or a text with commas"):
            parse_parameters(SOFTWARE, {key: wrong})


NO_COMMANDS = {
    "no text": ({"command": ["true"], "nodes": "n1"}, "it is a command for the shell"),
    "blank": ({"command": "  ", "nodes": "n1"}, "it is a command for the shell"),
    "no nodes": ({"command": "true"}, "it runs on the nodes that nodes names"),
    "tasks, too": ({"command": "true", "nodes": "n1", "tasks": "a"}, "command runs none of the site's"),
    "no forks": ({"command": "true", "nodes": "n1", "forks": 0}, "it is a whole number from 1"),
    "forks of nothing": ({"forks": 2}, "it belongs to command"),
}


@every_row(NO_COMMANDS)
def test_a_command_runs_on_named_nodes_and_with_no_tasks(written: dict[str, Any], said: str) -> None:
    with refuses(InvalidParameters, match=said):
        parse_parameters(SOFTWARE, written)
    right = {"command": "true", "nodes": "n1", "forks": 2, "connect_timeout": 5}
    assert meaning(SOFTWARE, **right).software == {**right, "nodes": ["n1"]}


def test_a_service_needs_a_template_and_may_name_its_nodes() -> None:
    everywhere = meaning(ActionName("service_server"), template="CUSTOM_BIOS")
    assert (everywhere.template, everywhere.targets) == ("CUSTOM_BIOS", ())
    assert meaning(ActionName("service_server"), template="CUSTOM_BIOS", target_nodes="n1").targets == ("n1",)
    with refuses(InvalidParameters, match="it is the name of a deploy template, not None"):
        parse_parameters(ActionName("service_server"), {"target_nodes": "n1"})


def test_the_tests_of_a_site_may_be_those_of_one_release() -> None:
    assert meaning(TEST, release="mariadb").release == "mariadb"
    for wrong in (5, "", None):
        with refuses(InvalidParameters, match="it is the name of a release, not "):
            parse_parameters(TEST, {"release": wrong})


@every_row(
    {
        "underscores": (DEPLOY, "continue_on_fail", "Did you mean continue-on-fail?"),
        "a letter": (DEPLOY, "allow-intermediate-commit", "Did you mean allow-intermediate-commits?"),
        "another action's": (DEPLOY, "release", "It belongs to test_site."),
        "of others": (
            UPDATE,
            "target_nodes",
            "It belongs to power_cycle, redeploy_server, relabel_nodes, remove_server, service_server.",
        ),
        "nothing like it": (TEST, "colour", "test_site knows force, release."),
    },
)
def test_a_parameter_that_means_nothing_is_told_with_what_may_have_been_meant(
    name: ActionName, key: str, hint: str
) -> None:
    nodes = {"target_nodes": "n1"} if "target_nodes" in ACTIONS[name].knows else {}

    _, (warning,) = parse_parameters(name, {key: "x", **nodes})

    assert warning.name in ("UnknownParameter", "MisplacedParameter")
    assert warning.message == f"The parameter {key!r} means nothing to {name}. {hint}"


@every_row(
    {
        "misspelled, of this action": (REDEPLOY, "preserve_local_storage", True),
        "lifts a check, of another action": (REDEPLOY, "allow-intermediate-commits", False),
        "lifts a check, as scripts send it": (TEST, "continue-on-fail", False),
        "lifts a check, misspelled": (DEPLOY, "continue_on_fail", False),
    },
)
def test_only_what_would_have_narrowed_an_action_refuses_it(name: ActionName, key: str, refused: bool) -> None:
    nodes = {"target_nodes": "n1"} if "target_nodes" in ACTIONS[name].knows else {}

    _, warnings = parse_parameters(name, {key: "x", **nodes})

    assert [warning.level for warning in warnings] == [Level.WARNING]
    errors = misplaced(warnings)
    assert bool(errors) is refused
    assert all(one.level is Level.ERROR and "With force=true the action ignores it." in one.message for one in errors)


def test_a_key_is_told_as_a_pointer_and_in_few_letters() -> None:
    _, (warning,) = parse_parameters(TEST, {"a/b~c" + "x" * 500: 1})

    assert warning.path.startswith("/parameters/a~1b~0cxxx")
    assert len(warning.message) < 200


@every_row(ACTIONS.listed)
def test_the_schema_of_an_action_describes_what_it_knows(name: ActionName) -> None:
    schema = yaml.safe_load((ROOT / "schemas" / "actions" / f"{name}.yaml").read_text(encoding="utf-8"))

    assert set(schema["properties"]) == ACTIONS[name].knows
