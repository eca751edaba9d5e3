"""The units for systemd, as systemd reads them. Nothing is started."""

import re
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Run

FOLDER = ROOT / "etc" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_is_one_that_systemd_accepts(unit: Path, tmp_path: Path, run: Run) -> None:
    here = tmp_path / unit.name
    # The program must exist.
    here.write_text(unit.read_text().replace("/opt/shipyard/bin/shipyard", sys.executable))

    assert run("systemd-analyze", "verify", "--man=no", here) == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_the_documentation_says_how_exposed_a_unit_is(unit: Path, run: Run) -> None:
    report = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)

    level = re.search(r"exposure level for \S+: ([\d.]+)", report)
    assert level is not None, report
    page = (ROOT / "docs" / "howto" / "run-as-services.md").read_text(encoding="utf-8")
    assert f"rates their exposure at {level[1]} of 10" in page


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_program_is_restarted_whatever_its_exit_code(unit: Path) -> None:
    """A worker whose primary was replaced exits 2, and needs only a restart."""
    text = unit.read_text()

    assert "\nRestart=always\n" in text
    assert "\nStartLimitIntervalSec=0\n" in text
    assert "RestartPreventExitStatus" not in text


def test_all_programs_are_hardened_alike() -> None:
    assert len(UNITS) == 2
    assert len({unit.read_text().partition("# Only what Shipyard writes")[2] for unit in UNITS}) == 1


def test_files_for_accounts_and_directories_are_accepted(tmp_path: Path, run: Run) -> None:
    (tmp_path / "etc").mkdir()
    run("systemd-sysusers", "--root", tmp_path, FOLDER / "sysusers.conf")

    assert "shipyard:" in (tmp_path / "etc" / "passwd").read_text()

    run("systemd-tmpfiles", "--root", tmp_path, "--create", FOLDER / "tmpfiles.conf")

    assert (tmp_path / "etc" / "shipyard").stat().st_mode & 0o777 == 0o750
