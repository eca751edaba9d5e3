"""Deploy steps of nodes with an agent, and the steps that a deploying node shows."""

from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic, said, step


def test_a_step_without_a_required_argument_is_refused_unless_it_is_off(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available", driver="fake-hardware")

    answer = ironic.verb("n1", "active", deploy_steps=[step("bios.apply_configuration", 150)])
    assert (answer.status_code, "missing these required arguments: settings" in said(answer)) == (400, True)
    assert ironic.verb("n1", "active", deploy_steps=[step("bios.apply_configuration", 0)]).status_code == 202


def test_while_deploying_the_node_says_which_steps_run(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {agent: never}}")
    ironic.at("n1", "available")
    asked = [step("bios.factory_reset", 150), step("deploy.polish", 50)]

    node = ironic.run("n1", "active", "wait call-back", deploy_steps=asked)

    noted = node["driver_internal_info"]
    assert noted["user_deploy_steps"] == asked
    assert [each["step"] for each in noted["deploy_steps"]][:2] == ["factory_reset", "deploy"]
    assert "polish" not in [each["step"] for each in noted["deploy_steps"]]
    assert noted["deploy_step_index"] == 1
    assert node["reservation"] is None


def test_with_an_agent_an_unknown_step_fails_the_node(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    node = shared.run(name, "active", "deploy failed", "active", deploy_steps=[step("deploy.polish", 50)])

    assert node["provision_state"] == "deploy failed"
    assert "Failed to validate the final deploy steps list" in node["last_error"]
    assert "wait call-back" in shared.states(name)


def test_steps_of_the_agent_are_known_once_it_runs(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    shared.run(name, "active", "active", deploy_steps=[step("deploy.inject_files", 50, files=[])])

    assert shared.steps(name) == [*DEFAULTS[:3], "deploy.inject_files", *DEFAULTS[3:]]
