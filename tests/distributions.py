"""Distributions that a test installs: a dist-info in a directory that is put on ``sys.path``."""

import configparser
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from shipyard_api.settings import plugins
from tests.conftest import ROOT


def install(directory: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the metadata of a distribution. ``entry_points``: by group and name."""
    info = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def of_ours(group: str) -> list[str]:
    """Return the names that Shipyard's own distribution registers in a group of entry points, sorted."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read_string((ROOT / "setup.cfg").read_text())
    lines = setup["options.entry_points"][group].split("\n")
    return sorted(line.partition("=")[0].strip() for line in lines if line.strip())


@contextmanager
def installed_example(name: str) -> Iterator[None]:
    """Install a plug-in of docs/examples as its pyproject.toml says."""
    example = ROOT / "docs" / "examples" / name
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patched:
        install(Path(directory), project["name"], project["entry-points"])
        patched.syspath_prepend(str(example))
        patched.syspath_prepend(directory)
        plugins.forget()
        try:
            yield
        finally:
            plugins.forget()
