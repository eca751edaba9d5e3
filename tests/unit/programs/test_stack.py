"""The settings of its caller hold in the embedded stack, or are refused by name."""

import contextlib
import signal
from pathlib import Path

import click
import pytest

import shipyard_simulators
from shipyard_api.programs.launch import Interrupt
from shipyard_api.programs.stack import StackOptions, refuse_unusable
from shipyard_api.programs.stack_settings import given_settings
from shipyard_api.wiring.settings import SettingsError
from tests.unit.tables import every_row

FILE = "[engine]\nsettle_seconds = 7\n[api]\nwrites_per_minute = 9\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "shipyard.conf"
    file.write_text(FILE)
    return str(file)


def test_the_environment_overrides_the_file_and_what_is_no_setting_stays_out(config: str) -> None:
    environ = {
        "SHIPYARD_CONFIG": config,
        "SHIPYARD_API_WRITES_PER_MINUTE": "5",
        "SHIPYARD_API_WORKERS": "2",
        "SHIPYARD_URL": "http://elsewhere",
        "SHIPYARD_TOKEN": "hunter2",
        "HOME": "/root",
    }
    assert given_settings(environ, "drydock") == {
        "SHIPYARD_ENGINE_SETTLE_SECONDS": "7",
        "SHIPYARD_API_WRITES_PER_MINUTE": "5",
        "SHIPYARD_API_WORKERS": "2",
    }


@every_row(
    [
        ({"SHIPYARD_DRYDOCK_URL": "http://drydock"}, "drydock", "SHIPYARD_DRYDOCK_URL: a simulator is used"),
        ({"SHIPYARD_MAAS_API_KEY": "a:b:c"}, "maas", "SHIPYARD_MAAS_API_KEY: a simulator is used"),
        ({"SHIPYARD_PROVISIONER_KIND": "maas"}, "maas", "SHIPYARD_PROVISIONER_KIND: use --provisioner"),
        ({"SHIPYARD_DATABASE_URL": "postgresql://x"}, "ironic", "SHIPYARD_DATABASE_URL: use DATABASE_URL"),
        ({"SHIPYARD_IDENTITY_KIND": "none"}, "drydock", "SHIPYARD_IDENTITY_KIND: callers have the token"),
        ({"SHIPYARD_IDENTITY_KIND": "keystone"}, "drydock", "SHIPYARD_IDENTITY_KIND: callers have the token"),
    ],
)
def test_what_the_stack_sets_itself_is_refused(environ: dict[str, str], provisioner: str, says: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        given_settings(environ, provisioner)
    assert says in str(refused.value)


def test_invalid_settings_are_reported_before_anything_starts(config: str) -> None:
    Path(config).write_text("[api]\nnonsense = 1\n")
    with pytest.raises(SettingsError, match="nonsense"):
        given_settings({"SHIPYARD_CONFIG": config}, "drydock")


def test_settings_of_another_provisioner_are_of_no_interest() -> None:
    assert given_settings({"SHIPYARD_MAAS_URL": "http://maas/MAAS"}, "drydock").keys() == {"SHIPYARD_MAAS_URL"}


def test_settings_that_the_service_cannot_use_end_it_before_anything_starts(capfd: pytest.CaptureFixture[str]) -> None:
    given = given_settings({"SHIPYARD_DESIGNS_STORE": "deckhand"}, "drydock")
    site = Path(shipyard_simulators.__path__[0], "sites", "five-groups.yaml")
    options = StackOptions(0, None, "calm", 100.0, None, False, "drydock", site, False, None)
    with pytest.raises(SystemExit, match="2"):
        refuse_unusable(options, given)
    assert capfd.readouterr().err == "Error: [deckhand] url is not set\n"

    refuse_unusable(options, {**given, "SHIPYARD_DECKHAND_URL": "http://127.0.0.1:9"})
    assert capfd.readouterr().err == ""


def test_a_signal_is_not_lost_where_python_drops_what_its_handler_raises() -> None:
    """As in what logging runs around a fork: the stack went on after SIGTERM."""
    interrupt = Interrupt()
    interrupt.check()
    with contextlib.suppress(KeyboardInterrupt):
        interrupt(signal.SIGTERM, None)
    with pytest.raises(KeyboardInterrupt):
        interrupt.check()
