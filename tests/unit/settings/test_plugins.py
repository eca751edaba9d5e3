"""Plug-ins are found by their entry points; a bad one is named with its distribution."""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from shipyard_api.api.http.dialect import DIALECTS, mounted
from shipyard_api.settings import plugins
from shipyard_api.settings.plugins import ASSIGNMENTS, DESIGN_STORES, PROVISIONERS, Group
from shipyard_api.wiring.settings import SettingsError, load
from tests.distributions import install, of_ours
from tests.unit.tables import table

OURS = of_ours(PROVISIONERS.group)
MODULE = """
from dataclasses import dataclass
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin

@dataclass(frozen=True)
class Options:
    \"""``url``: where it is.\"""
    url: str = ""
    connect_timeout_seconds: float = 1.0

PLUGIN = ProvisionerPlugin(options=Options, build=lambda *_: None)
WITHOUT_OPTIONS = ProvisionerPlugin(options=int, build=lambda *_: None)

@dataclass(frozen=True)
class NoUrl:
    connect_timeout_seconds: float = 1.0

@dataclass(frozen=True)
class NoDefault:
    image: str
    url: str = ""
    connect_timeout_seconds: float = 1.0

NO_URL = ProvisionerPlugin(options=NoUrl, build=lambda *_: None)
NO_DEFAULT = ProvisionerPlugin(options=NoDefault, build=lambda *_: None)
"""
Register = Callable[..., None]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Return what installs a distribution that registers plug-ins, provisioners unless it is given another group."""
    (tmp_path / "of_a_plugin.py").write_text(MODULE)
    (tmp_path / "broken_plugin.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(group: Group[Any] = PROVISIONERS, **entries: str) -> None:
        install(tmp_path, "some-plugin", {group.group: entries})
        plugins.forget()

    yield installed
    plugins.forget()


def test_without_further_distributions_there_are_ours() -> None:
    assert PROVISIONERS.names() == OURS
    assert DESIGN_STORES.names() == ["deckhand", "embedded"]
    assert DIALECTS.names() == ["fuel", "ironic"]
    assert ASSIGNMENTS.names() == []


def test_a_plug_in_has_a_name_and_a_section(register: Register) -> None:
    register(another="of_a_plugin:PLUGIN")
    settings = load({"SHIPYARD_PROVISIONER_KIND": "another", "SHIPYARD_ANOTHER_URL": "http://a"})
    plugin = PROVISIONERS.get("another")

    assert list(PROVISIONERS.installed()) == ["another", *OURS]
    assert settings.of("another", plugin.options) == plugin.options(url="http://a")


def test_an_unknown_name_is_refused_with_those_that_are_installed(register: Register) -> None:
    register(another="of_a_plugin:PLUGIN")
    with pytest.raises(SettingsError) as refused:
        load({"SHIPYARD_PROVISIONER_KIND": "nosuch"})
    names = ", ".join(["another", *OURS])
    assert refused.value.faults == [f"SHIPYARD_PROVISIONER_KIND: there is no provisioner 'nosuch'; installed: {names}"]


NOT_A_SECTION = "its options must be a dataclass with connect_timeout_seconds and url, and a default for each field"
NOT_A_PLUGIN = "is of type str, not ProvisionerPlugin"
BAD = {
    "it names nothing": (
        {"bad": "of_a_plugin:NONE"},
        "bad = of_a_plugin:NONE of some-plugin 1.0 cannot be loaded: "
        "AttributeError: module 'of_a_plugin' has no attribute 'NONE'",
    ),
    "it is of another type": (
        {"bad": "of_a_plugin:__name__"},
        f"bad = of_a_plugin:__name__ of some-plugin 1.0 {NOT_A_PLUGIN}",
    ),
    "its options are no dataclass": (
        {"bad": "of_a_plugin:WITHOUT_OPTIONS"},
        f"bad = of_a_plugin:WITHOUT_OPTIONS of some-plugin 1.0: {NOT_A_SECTION}",
    ),
    "its options have no address": (
        {"bad": "of_a_plugin:NO_URL"},
        f"bad = of_a_plugin:NO_URL of some-plugin 1.0: {NOT_A_SECTION}",
    ),
    "its options lack a default": (
        {"bad": "of_a_plugin:NO_DEFAULT"},
        f"bad = of_a_plugin:NO_DEFAULT of some-plugin 1.0: {NOT_A_SECTION}",
    ),
    "its name is no word": (
        {"so-bad": "of_a_plugin:PLUGIN"},
        "so-bad = of_a_plugin:PLUGIN of some-plugin 1.0: its name must be a word in small letters",
    ),
    "its name is taken": (
        {"maas": "of_a_plugin:PLUGIN"},
        f"maas is registered by shipyard {version('shipyard')} and some-plugin 1.0; uninstall all but one",
    ),
    "its name is a section": ({"database": "of_a_plugin:PLUGIN"}, "database is a section of Shipyard's"),
}


@table(("entries", "fault"), BAD)
def test_a_bad_plug_in_is_named_with_its_distribution(register: Register, entries: dict[str, str], fault: str) -> None:
    register(**entries)
    with pytest.raises(SettingsError) as refused:
        load({})
    assert refused.value.faults == [f"shipyard.provisioners: {fault}"]


def test_all_bad_plug_ins_are_named_at_once(register: Register) -> None:
    register(bad="of_a_plugin:NONE", worse="broken_plugin:PLUGIN")
    with pytest.raises(SettingsError) as refused:
        load({})
    assert len(refused.value.faults) == 2


def test_a_document_store_cannot_have_the_name_of_a_provisioner(register: Register) -> None:
    register(DESIGN_STORES, maas="shipyard_api.adapters.deckhand.plugin:DECKHAND")
    with pytest.raises(SettingsError) as refused:
        load({})
    assert refused.value.faults == ["shipyard.design_stores: maas is a section of Shipyard's"]


def test_two_dialects_cannot_serve_the_same_addresses(register: Register) -> None:
    register(DIALECTS, nailgun="shipyard_api.api.fuel.app:DIALECT")
    with pytest.raises(SettingsError) as refused:
        mounted(Mock())
    assert refused.value.faults == [
        "shipyard.dialects: nailgun and fuel both serve /api/v1",
        "shipyard.dialects: nailgun and fuel both serve /keystone/v2.0",
    ]
