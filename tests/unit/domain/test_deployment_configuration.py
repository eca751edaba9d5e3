"""Intervals, time limits and the strategy's name (design: Deployment Configuration Document, Notes)."""

from collections.abc import Callable

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits, parse_configuration
from tests.conftest import ROOT
from tests.unit.tables import every_row


def test_the_configuration_names_the_strategy_document() -> None:
    data = {"physical_provisioner": {"deployment_strategy": "in-two-waves"}}

    assert parse_configuration(data).strategy_name == "in-two-waves"


@every_row(
    {
        "no section": {},
        "empty section": {"physical_provisioner": None},
        "no key": {"physical_provisioner": {}},
        "empty text": {"physical_provisioner": {"deployment_strategy": ""}},
    },
)
def test_a_configuration_without_a_name_names_no_strategy(data: dict[str, object]) -> None:
    assert parse_configuration(data).strategy_name is None


@every_row(
    {
        "nothing given": {},
        "zero means the default": {"deploy_timeout": 0, "prepare_node_interval": 0},
    },
)
def test_what_is_not_given_has_its_default(section: dict[str, int]) -> None:
    configuration = parse_configuration({"physical_provisioner": section})

    assert configuration.prepare_nodes == PhaseLimits(30, 1800)
    assert configuration.deploy_nodes == PhaseLimits(30, 3600)
    assert configuration.verify_site == PhaseLimits(10, 60)
    assert configuration.prepare_site == PhaseLimits(10, 300)


# Where each integer of the document is found; what is not here is not used by this release.
WHOLE: dict[tuple[str, str], Callable[[DeploymentConfiguration], float | None]] = {
    ("physical_provisioner", "verify_interval"): lambda c: c.verify_site.interval,
    ("physical_provisioner", "verify_timeout"): lambda c: c.verify_site.timeout,
    ("physical_provisioner", "prepare_site_interval"): lambda c: c.prepare_site.interval,
    ("physical_provisioner", "prepare_site_timeout"): lambda c: c.prepare_site.timeout,
    ("physical_provisioner", "prepare_node_interval"): lambda c: c.prepare_nodes.interval,
    ("physical_provisioner", "prepare_node_timeout"): lambda c: c.prepare_nodes.timeout,
    ("physical_provisioner", "deploy_interval"): lambda c: c.deploy_nodes.interval,
    ("physical_provisioner", "deploy_timeout"): lambda c: c.deploy_nodes.timeout,
    ("physical_provisioner", "queue_timeout"): lambda c: c.queue_limit,
    ("physical_provisioner", "join_wait"): lambda c: c.join_wait,
    ("physical_provisioner", "max_parallel_groups"): lambda c: c.mode.max_parallel_groups,
    ("physical_provisioner", "max_nodes_in_flight"): lambda c: c.mode.max_nodes_in_flight,
    ("kubernetes", "node_status_interval"): lambda c: c.node_status.interval,
    ("kubernetes", "node_status_timeout"): lambda c: c.node_status.timeout,
}
SCHEMAS = SchemaFiles(ROOT / "schemas")


@every_row(list(WHOLE))
def test_an_integer_is_one_and_zero_the_default_however_it_is_written(place: tuple[str, str]) -> None:
    section, key = place
    for written in (7, 7.0, 0, 0.0, -0.0):
        data = {"armada": {"manifest": "m"}, section: {key: written}}
        assert SCHEMAS.check("deployment_configuration_v1", data) == ()
        if written:
            assert repr(WHOLE[place](parse_configuration(data))) == "7"
        else:
            assert parse_configuration(data) == DeploymentConfiguration()


def test_a_faster_world_scales_every_interval_and_limit_and_keeps_the_name() -> None:
    configuration = DeploymentConfiguration(strategy_name="s").scaled(0.5)

    assert configuration.strategy_name == "s"
    assert configuration.verify_site == PhaseLimits(5, 30)
    assert configuration.prepare_site == PhaseLimits(5, 150)
    assert configuration.prepare_nodes == PhaseLimits(15, 900)
    assert configuration.deploy_nodes == PhaseLimits(15, 1800)
    assert configuration.queue_limit == 43_200
