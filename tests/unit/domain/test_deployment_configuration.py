"""Intervals, time limits and the strategy's name (design: Deployment Configuration Document, Notes)."""

import pytest

from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, Patience, parse_configuration
from shipyard_api.domain.strategy import DEFAULT_STRATEGY_NAME


def test_the_configuration_names_the_strategy_document() -> None:
    data = {"physical_provisioner": {"deployment_strategy": "in-two-waves"}}

    assert parse_configuration(data).strategy_name == "in-two-waves"


def test_the_default_name_of_the_strategy_document_is_deployment_strategy() -> None:
    assert DEFAULT_STRATEGY_NAME == "deployment-strategy"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="no section"),
        pytest.param({"physical_provisioner": None}, id="empty section"),
        pytest.param({"physical_provisioner": {}}, id="no key"),
        pytest.param({"physical_provisioner": {"deployment_strategy": ""}}, id="empty text"),
    ],
)
def test_a_configuration_without_a_name_names_no_strategy(data: dict[str, object]) -> None:
    assert parse_configuration(data).strategy_name is None


def test_the_time_limits_of_prepare_and_deploy_are_those_of_the_document() -> None:
    configuration = parse_configuration(
        {
            "physical_provisioner": {
                "prepare_node_interval": 1,
                "prepare_node_timeout": 2,
                "deploy_interval": 3,
                "deploy_timeout": 4,
                "verify_interval": 5,
                "verify_timeout": 6,
                "prepare_site_interval": 7,
                "prepare_site_timeout": 8,
            }
        }
    )

    assert configuration.prepare_nodes == Patience(1, 2)
    assert configuration.deploy_nodes == Patience(3, 4)
    assert configuration.verify_site == Patience(5, 6)
    assert configuration.prepare_site == Patience(7, 8)


@pytest.mark.parametrize(
    "section",
    [
        pytest.param({}, id="nothing given"),
        pytest.param({"deploy_timeout": 0, "prepare_node_interval": 0}, id="zero means the default"),
    ],
)
def test_what_is_not_given_has_its_default(section: dict[str, int]) -> None:
    configuration = parse_configuration({"physical_provisioner": section})

    assert configuration.prepare_nodes == Patience(30, 1800)
    assert configuration.deploy_nodes == Patience(30, 3600)
    assert configuration.verify_site == Patience(10, 60)
    assert configuration.prepare_site == Patience(10, 300)


def test_a_faster_world_scales_every_interval_and_limit_and_keeps_the_name() -> None:
    configuration = DeploymentConfiguration(strategy_name="s").scaled(0.5)

    assert configuration.strategy_name == "s"
    assert configuration.verify_site == Patience(5, 30)
    assert configuration.prepare_site == Patience(5, 150)
    assert configuration.prepare_nodes == Patience(15, 900)
    assert configuration.deploy_nodes == Patience(15, 1800)
    assert configuration.queue_limit == 43_200
