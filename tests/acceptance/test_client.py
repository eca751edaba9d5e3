"""The typed client: the examples of its page before a running stack, and what it does when the server says no.

Runs where ``SHIPYARD_CLIENT_PYTHON`` names a Python that has it (``.ci/real_client.py``).
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.programs import stack_of_its_own
from tests.conftest import ROOT
from tests.waiting import PATIENCE

PYTHON = os.environ.get("SHIPYARD_CLIENT_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="SHIPYARD_CLIENT_PYTHON names no Python with shipyard-client")

README = (ROOT / "shipyard_client" / "README.md").read_text(encoding="utf-8")
FIRST, SECOND = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[Path, str]]:
    """A directory with a design, and the lines that name the server."""
    with stack_of_its_own() as (directory, ready, _):
        shutil.copy(ROOT / "docs" / "examples" / "small-site.yaml", directory / "site.yaml")
        yield directory, f"url, token = {ready['url']!r}, {ready['token']!r}\n"


def play(place: tuple[Path, str], script: str) -> str:
    directory, server = place
    done = subprocess.run(
        [PYTHON, "-c", server + script], cwd=directory, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_examples_of_the_page_deploy_a_site(place: tuple[Path, str]) -> None:
    lines = play(place, FIRST).splitlines()
    assert (lines[0], lines[-1]) == ("4 groups", "success")
    assert len(lines) > 10

    nodes = play(place, SECOND).splitlines()
    assert len(nodes) == 9
    assert {line.split()[1] for line in nodes} == {"success"}


def test_a_refusal_and_a_failure_are_errors_in_words(place: tuple[Path, str]) -> None:
    out = play(
        place,
        """
from shipyard_client import ActionFailed, ShipyardError, Site
with Site(url, token) as site:
    for call in (
        lambda: site.start("build_a_house"), lambda: site.load("design", "- no document"), lambda: site.action("x")
    ):
        try:
            call()
        except ShipyardError as error:
            print(error.status, error)
    first, again = site.start("deploy_site", key="mine"), site.start("deploy_site", key="mine")
    print(first.id == again.id)
    seen = []
    site.wait(first.id, lambda event: seen.append(event.id))
    print(len(seen) == len(set(seen)) > 10 and seen == sorted(seen))
with Site(url, "shipyard_unknown") as site:
    try:
        site.report(first.id)
    except ShipyardError as error:
        print(error.status)
""",
    ).splitlines()

    assert [line.split()[0] for line in out] == ["400", "400", "404", "True", "True", "401"]
    assert "build_a_house" in out[0]
