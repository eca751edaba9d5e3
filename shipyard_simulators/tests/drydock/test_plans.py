"""How tasks go: their trees, their lists, and what becomes of the machines, all laid out without waiting."""

from collections.abc import Mapping
from math import inf

import pytest

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.other_actions import plan_action
from shipyard_simulators.drydock.plan import Plan
from shipyard_simulators.drydock.site import Site
from shipyard_simulators.drydock.task_views import error_views, levels, result_view, task_view
from shipyard_simulators.drydock.tasks import Task
from shipyard_simulators.scenario import parse_scenario

START = 1_000.0
EVER = 10.0**9


class Played:
    """One task over a site of its own; durations are as short as they are round."""

    def __init__(
        self, action: str, nodes: str, scenario: str = "", *, machines: Mapping[str, str] | None = None
    ) -> None:
        self.scenario = parse_scenario(scenario)
        self.site = Site(machines or {})
        self.play(action, nodes, START)

    def play(self, action: str, nodes: str, start: float) -> None:
        """Run a task that starts then."""
        self.root = Task(action, created=start, design_ref="d", started=start)
        self.plan = Plan(self.root, self.scenario, self.site, Clock(1))
        plan_action(self.plan, nodes.split())

    @property
    def lists(self) -> tuple[str, str, str]:
        """The outcome, the successes and the failures of the root."""
        return self.root.outcome(), " ".join(self.root.successes), " ".join(self.root.failures)

    @property
    def steps(self) -> list[str]:
        """The actions right below the root."""
        return [child.action for child in self.root.children]

    def events(self, event: str) -> list[str]:
        """The nodes of the events of a kind."""
        return [each.fields["node"] for each in self.plan.happenings if each.event == event]

    def status(self, node: str, moment: float = EVER) -> str | None:
        return self.site.status(node, moment)


def test_preparing_one_unknown_node_has_its_steps_right_below_the_root():
    played = Played("prepare_nodes", "n1")
    assert played.steps == ["set_node_boot", "power_cycle_node", "identify_node", "configure_hardware"]
    assert [len(step.children) for step in played.root.children] == [1, 1, 1, 1]
    assert played.lists == ("success", "n1", "")
    assert played.root.ended == pytest.approx(START + 60)
    assert played.events("node_started") == played.events("node_prepared") == ["n1"]


def test_a_machine_appears_in_maas_and_is_commissioned_while_it_is_prepared():
    played = Played("prepare_nodes", "n1")
    moments = [START + 1, START + 30, START + 61]
    assert [played.status("n1", moment) for moment in moments] == [None, "Commissioning", "Ready"]


def test_preparing_several_nodes_has_a_task_for_each():
    played = Played("prepare_nodes", "n1 n2")
    assert played.steps == ["prepare_nodes", "prepare_nodes"]
    assert played.root.children[1].children[0].action == "set_node_boot"
    assert played.lists == ("success", "n1 n2", "")


def test_a_node_that_fails_prepare_is_in_failures_only_and_stays_unknown():
    played = Played("prepare_nodes", "n1 n2", "nodes: {n1: {prepare: fail, reason: no power}}")
    assert played.lists == ("partial_success", "n2", "n1")
    assert played.status("n1") is None
    (reason,) = [each.fields["reason"] for each in played.plan.happenings if each.event == "node_failed"]
    assert reason == "no power"


BOTH = {
    "outcome": "nodes: {n1: {prepare: both_lists}}",
    "quirk": "{nodes: {n1: {prepare: fail}}, quirks: {both_lists: true}}",
}


@pytest.mark.parametrize("scenario", BOTH.values(), ids=BOTH)
def test_a_node_that_never_appears_in_maas_is_in_both_lists(scenario: str):
    played = Played("prepare_nodes", "n1", scenario)
    assert played.lists == ("partial_success", "n1", "n1")
    assert played.steps == ["set_node_boot", "power_cycle_node", "identify_node"]
    identify = played.root.children[-1]
    assert (identify.retry, [child.outcome() for child in identify.children]) == (60, ["failure"] * 61)
    assert played.status("n1") is None


FALSE = {
    "outcome": "nodes: {n1: {prepare: false_success}}",
    "quirk": "{nodes: {n1: {prepare: fail}}, quirks: {failed_commissioning_is_success: true}}",
}


@pytest.mark.parametrize("scenario", FALSE.values(), ids=FALSE)
def test_failed_commissioning_may_be_called_a_success(scenario: str):
    played = Played("prepare_nodes", "n1", scenario)
    assert played.lists == ("success", "n1", "")
    assert played.status("n1", played.root.ended) == "Commissioning"
    assert played.status("n1") == "Failed commissioning"
    assert played.events("node_falsely_prepared") == ["n1"]


PREPARED_AGAIN = [
    *((status, "success", False, status) for status in ("Ready", "Allocated", "Deploying", "Deployed")),
    *((status, "success", False, status) for status in ("Commissioning", "Testing")),
    *((status, "success", True, "Ready") for status in ("New", "Broken", "Failed commissioning", "Failed testing")),
    ("Releasing", "partial_success", False, "Releasing"),
]


@pytest.mark.parametrize(("status", "outcome", "worked_on", "after"), PREPARED_AGAIN)
def test_preparing_a_node_that_maas_knows(status: str, outcome: str, worked_on: bool, after: str):
    played = Played("prepare_nodes", "n1", machines={"n1": status})
    assert played.steps == ["identify_node", "configure_hardware"]
    assert [len(step.children) for step in played.root.children] == [0, 1]
    assert played.root.outcome() == outcome
    assert bool(played.events("node_started")) is worked_on
    assert played.status("n1") == after
    assert (played.root.ended > START) is worked_on


def test_deploying_goes_through_the_steps_and_the_storage_step_is_not_linked():
    played = Played("deploy_nodes", "n1 n2", machines={"n1": "Ready", "n2": "Ready"})
    assert played.steps == ["apply_node_networking", "apply_node_platform", "deploy_node", "bootaction_report"]
    assert played.lists == ("success", "n1 n2", "")
    assert played.root.ended == pytest.approx(START + 90)
    assert [played.status("n1", START + seconds) for seconds in (1, 40, 91)] == ["Ready", "Deploying", "Deployed"]
    assert played.events("node_started") == played.events("node_deployed") == ["n1", "n2"]


def test_a_node_that_fails_deploy_is_tried_four_times_and_the_attempts_are_in_order_of_start():
    played = Played("deploy_nodes", "n1 n2", "nodes: {n1: {deploy: fail}}", machines={"n1": "Ready", "n2": "Ready"})
    assert played.lists == ("partial_success", "n2", "n1")
    step = played.root.children[2]
    assert (step.retry, step.outcome()) == (3, "partial_success")
    assert [(child.retry, child.outcome()) for child in step.children] == [
        (0, "failure"),
        (0, "success"),
        (1, "failure"),
        (2, "failure"),
        (3, "failure"),
    ]
    assert played.status("n1") == "Failed deployment"
    assert played.root.children[3].successes == ("n2",)


def test_no_boot_actions_are_awaited_if_no_node_was_deployed():
    played = Played("deploy_nodes", "n1", "nodes: {n1: {deploy: fail}}", machines={"n1": "Ready"})
    assert played.steps == ["apply_node_networking", "apply_node_platform", "deploy_node"]
    assert played.lists == ("failure", "", "n1")


NEITHER = {
    "outcome": "nodes: {n1: {deploy: neither_list}}",
    "quirk": "{nodes: {n1: {deploy: fail}}, quirks: {neither_list: true}}",
}


@pytest.mark.parametrize("scenario", NEITHER.values(), ids=NEITHER)
def test_a_node_whose_storage_fails_is_in_neither_list_and_its_message_cannot_be_reached(scenario: str):
    played = Played("deploy_nodes", "n1 n2", scenario, machines={"n1": "Ready", "n2": "Ready"})
    assert played.lists == ("success", "n2", "")
    assert error_views(played.root, EVER) == {}
    assert played.events("node_failed") == ["n1"]


def test_a_node_whose_boot_action_stays_silent_is_in_failures_only_though_it_is_deployed():
    played = Played("deploy_nodes", "n1", "nodes: {n1: {deploy: silent_boot_action}}", machines={"n1": "Ready"})
    assert played.lists == ("failure", "", "n1")
    (error,) = error_views(played.root, EVER).values()
    assert error["details"]["messageList"][0]["context"] == "n1"
    assert played.status("n1") == "Deployed"


def test_a_silent_boot_action_fails_later_deployments_of_the_node_too():
    scenario = "nodes: {n1: {deploy: silent_boot_action, times: 1}}"
    played = Played("deploy_nodes", "n1", scenario, machines={"n1": "Ready"})
    for action, outcome in (("destroy_nodes", "success"), ("prepare_nodes", "success"), ("deploy_nodes", "failure")):
        played.play(action, "n1", played.root.ended + 1)
        assert played.root.outcome() == outcome
    assert (played.steps[-1], played.status("n1")) == ("bootaction_report", "Deployed")


def test_a_deployed_node_is_not_reinstalled():
    played = Played("deploy_nodes", "n1", machines={"n1": "Deployed"})
    assert played.lists == ("success", "n1", "")
    assert (played.events("node_started"), played.events("node_skipped")) == ([], ["n1"])
    assert played.root.ended == START


@pytest.mark.parametrize("status", [None, "New", "Allocated", "Deploying", "Broken"])
def test_a_node_that_is_not_ready_fails_at_the_networking_step(status: str | None):
    played = Played("deploy_nodes", "n1", machines={"n1": status} if status else {})
    assert played.lists == ("failure", "", "n1")
    assert played.steps == ["apply_node_networking"]
    assert played.status("n1") == status


def test_a_node_whose_deployment_failed_is_released_and_can_be_deployed_by_the_next_task():
    played = Played("deploy_nodes", "n1", machines={"n1": "Failed deployment"})
    assert played.lists == ("failure", "", "n1")
    played.play("deploy_nodes", "n1", START + 50)
    assert played.lists == ("success", "n1", "")


def test_destroying_erases_and_forgets_machines_and_unknown_ones_count_as_destroyed():
    played = Played("destroy_nodes", "n1 n2", machines={"n1": "Deployed"})
    assert played.lists == ("success", "n1 n2", "")
    assert [played.status("n1", START + seconds) for seconds in (1, 31)] == ["Releasing", None]
    assert played.events("node_destroyed") == ["n1"]


def test_a_failed_erase_keeps_the_machine_unless_drydock_calls_it_a_success():
    played = Played("destroy_nodes", "n1", "nodes: {n1: {destroy: fail}}", machines={"n1": "Deployed"})
    assert (played.lists, played.status("n1")) == (("failure", "", "n1"), "Failed disk erasing")
    quirky = "{nodes: {n1: {destroy: fail}}, quirks: {failed_erase_is_success: true}}"
    for scenario in (quirky, "nodes: {n1: {destroy: false_success}}"):
        played = Played("destroy_nodes", "n1", scenario, machines={"n1": "Deployed"})
        assert (played.lists, played.status("n1")) == (("success", "n1", ""), None)
        assert [child.outcome() for child in played.root.children[0].children] == ["failure", "success"]
        (error,) = error_views(played.root, EVER).values()
        assert [message["context"] for message in error["details"]["messageList"]] == ["n1"]


@pytest.mark.parametrize(("status", "after"), [("Deployed", "Failed disk erasing"), ("Ready", "Ready")])
def test_only_a_released_machine_fails_to_erase(status: str, after: str):
    played = Played("destroy_nodes", "n1", "nodes: {n1: {destroy: fail}}", machines={"n1": status})
    assert (played.lists, played.status("n1")) == (("failure", "", "n1"), after)


def test_a_machine_can_be_prepared_and_deployed_again_after_it_was_destroyed():
    played = Played("destroy_nodes", "n1", machines={"n1": "Deployed"})
    played.play("prepare_nodes", "n1", START + 40)
    played.play("deploy_nodes", "n1", START + 110)
    assert played.events("node_deployed") == ["n1"]


def test_at_most_64_nodes_are_worked_on_at_once():
    played = Played("prepare_nodes", " ".join(f"n{number}" for number in range(65)))
    starts = [child.started for child in played.root.children]
    assert (starts.count(START), max(starts)) == (64, pytest.approx(START + 60))
    assert played.root.ended == pytest.approx(START + 120)


def test_a_slow_node_takes_ten_times_as_long_and_seconds_say_how_long_exactly():
    assert Played("prepare_nodes", "n1-slow-prepare").root.ended == pytest.approx(START + 600)
    exactly = "nodes: {n1: {prepare: slow, seconds: 5}}"
    assert Played("prepare_nodes", "n1", exactly).root.ended == pytest.approx(START + 5)


def test_a_node_that_never_gets_ready_keeps_the_task_running_and_the_others_are_listed():
    played = Played("prepare_nodes", "n1-never-prepare n2 n3-fails-prepare")
    assert played.root.ended == inf
    view = task_view(played.root, START + 1_000)
    assert (view["status"], view["result"]["status"]) == ("running", "incomplete")
    assert view["result"]["successes"] == ["n2"]
    assert view["result"]["failures"] == ["n3-fails-prepare"]
    assert played.status("n1-never-prepare") == "Commissioning"


def test_a_node_that_never_gets_deployed_keeps_the_task_running():
    nodes = "n1-never-deploy n2"
    played = Played("deploy_nodes", nodes, machines=dict.fromkeys(nodes.split(), "Ready"))
    view = task_view(played.root, EVER)
    assert (view["status"], view["result"]["successes"]) == ("running", [])
    assert played.status("n2") == "Deployed"


def test_nodes_behind_64_that_never_end_never_start():
    names = [f"n{number}-never-prepare" for number in range(64)]
    played = Played("prepare_nodes", " ".join([*names, "n64"]))
    assert played.events("node_started") == names


def test_an_outcome_may_hold_for_the_first_attempts_only():
    played = Played("prepare_nodes", "n1", "nodes: {n1: {prepare: fail, times: 1}}")
    assert played.lists == ("failure", "", "n1")
    played.play("prepare_nodes", "n1", START + 100)
    assert played.lists == ("success", "n1", "")


def test_the_outcome_of_a_task_goes_before_those_of_its_nodes():
    played = Played("prepare_nodes", "n1 n2", "tasks: {prepare_nodes: {outcome: fail, reason: MAAS is down}}")
    assert played.lists == ("failure", "", "n1 n2")
    assert Played("deploy_nodes", "n1", "tasks: {deploy_nodes: never}", machines={"n1": "Ready"}).root.ended == inf


SITE_STEPS = {
    "verify_site": ["validate_node_services"],
    "prepare_site": ["create_network_template", "configure_user_credentials", "configure_node_provisioner"],
}


@pytest.mark.parametrize("action", SITE_STEPS)
def test_a_site_step_has_no_nodes_and_succeeds_or_fails(action: str):
    played = Played(action, "")
    assert (played.lists, played.steps) == (("success", "", ""), SITE_STEPS[action])
    assert Played(action, "", f"tasks: {{{action}: fail}}").lists == ("failure", "", "")
    assert Played(action, "", f"tasks: {{{action}: never}}").root.ended == inf


def test_preparing_the_site_without_its_networks_is_a_partial_success():
    played = Played("prepare_site", "", "tasks: {prepare_site: partial}")
    assert played.root.outcome() == "partial_success"
    assert [child.outcome() for child in played.root.children] == ["failure", "success", "success"]


def test_validating_a_design_by_a_task_always_fails():
    assert Played("validate_design", "").lists == ("failure", "", "")


def test_verifying_nodes_leaves_the_lists_of_the_root_empty():
    played = Played("verify_nodes", "n1 n2")
    assert played.lists == ("success", "", "")
    assert played.root.children[0].successes == ("n1", "n2")


def test_relabelling_lists_its_nodes():
    assert Played("relabel_nodes", "n1 n2").lists == ("success", "n1 n2", "")
    assert Played("relabel_nodes", "n1", "tasks: {relabel_nodes: fail}").lists == ("failure", "", "n1")


@pytest.mark.parametrize("action", ["verify_nodes", "prepare_nodes", "deploy_nodes", "destroy_nodes", "relabel_nodes"])
def test_no_nodes_are_a_success_at_once(action: str):
    played = Played(action, "")
    assert (played.lists, played.root.ended) == (("success", "", ""), START)


def test_future_events_are_not_shown():
    played = Played("deploy_nodes", "n1", machines={"n1": "Ready"})
    assert len(task_view(played.root, START + 1)["subtask_id_list"]) == 1
    assert len(task_view(played.root, START + 50)["subtask_id_list"]) == 3
    assert [len(levels(played.root, depth, EVER)) for depth in (1, 2, 3, -1)] == [1, 5, 8, 8]
    running = result_view(played.root.children[2], START + 50)
    assert (running["status"], running["successes"]) == ("incomplete", [])


def test_long_names_and_messages_are_cut():
    name, reason = "n" * 40, "x" * 200
    played = Played("prepare_nodes", name, f"nodes: {{'n*': {{prepare: fail, reason: {reason}}}}}")
    assert result_view(played.root, EVER)["failures"] == ["n" * 32]
    (error,) = error_views(played.root, EVER).values()
    (message,) = error["details"]["messageList"]
    assert (len(message["message"]), message["context"], message["extra"]) == (127, name, "{}")
    assert result_view(played.root, EVER)["details"]["errorCount"] == 0
