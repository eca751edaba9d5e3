"""A design as an operator works on it: loaded, looked at, committed, changed and compared, with the command itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from tests.acceptance.programs import SHIPYARD, invoke
from tests.conftest import ROOT
from tests.stand import Stand

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
PIPELINES = ROOT / "docs" / "examples" / "pipelines"
# A parent and its child: rendered, the child has the parent's data as well.
DEFAULTS = """\
schema: example/Defaults/v1
metadata:
  schema: metadata/Document/v1
  name: parent
  labels: {name: parent}
  layeringDefinition: {abstract: true, layer: global}
  storagePolicy: cleartext
data:
  domain: example.com
  mtu: 1500
---
schema: example/Defaults/v1
metadata:
  schema: metadata/Document/v1
  name: child
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {name: parent}
    actions:
    - {method: merge, path: .}
  storagePolicy: cleartext
data:
  region: north
"""
TITLE = "   Comparing Base: {} (revision {})\n    \t to New: {} (revision {})\n"

Shipyard = Callable[..., Result]


@pytest.fixture
def stand(tmp_path: Path, database_url: str) -> Iterator[Stand]:
    """A stack without workers."""
    with Stand(tmp_path, database_url) as stand:
        yield stand


@pytest.fixture
def shipyard(stand: Stand) -> Shipyard:
    """Run a command of shipyard against the stack; it must end with the given code."""
    environment = {"SHIPYARD_URL": stand.url, "SHIPYARD_TOKEN": stand.token}

    def command(line: str, code: int = 0) -> Result:
        ended = invoke(line.split(), environment)
        assert (ended.exit_code, ended.stderr) == (code, ""), ended.output + stand.log("api")
        return ended

    return command


def rows(text: str) -> list[list[str]]:
    """The cells of a table below its titles."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Collection"))
    return [re.split(" {2,}", line.rstrip()) for line in lines[start + 1 :]]


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(text, yaml.CSafeLoader))


def test_a_design_is_loaded_looked_at_committed_changed_and_compared(shipyard: Shipyard, tmp_path: Path) -> None:
    defaults = tmp_path / "network" / "defaults.yaml"
    defaults.parent.mkdir()
    defaults.write_text(DEFAULTS)

    # Nothing is there yet, and whoever asks for it is told so, with exit code 1.
    assert rows(shipyard("get configdocs").stdout) == [["None"]]
    missing = shipyard("get renderedconfigdocs", code=1).stdout
    assert missing.startswith("Error: This revision does not exist\nReason: buffer version does not exist\n")
    empty = shipyard("commit configdocs", code=1).stdout
    assert empty.startswith(
        "Error: Unable to commit configuration documents\nReason: There are no documents in the buffer to commit\n"
    )

    loaded = shipyard(f"create configdocs design --filename={SITE} --replace").stdout
    assert loaded.startswith("Configuration documents added.\nStatus: Validations succeeded\nReason: Validation\n")
    refused = shipyard(f"create configdocs network --directory={defaults.parent}", code=1).stdout
    assert refused.startswith("Error: Invalid collection specified for buffer\n")
    shipyard(f"create configdocs network --directory={defaults.parent} --append")
    compared = shipyard("get configdocs").stdout
    assert compared.startswith(TITLE.format("committed", 0, "buffer", 2))
    assert rows(compared) == [["design", "not present", "created"], ["network", "not present", "created"]]

    source = documents(shipyard("get configdocs --collection=network").stdout)
    assert [(one["metadata"]["name"], one["data"]) for one in source] == [
        (one["metadata"]["name"], one["data"]) for one in documents(DEFAULTS)
    ]
    rendered = documents(shipyard("get renderedconfigdocs").stdout)
    (child,) = [one for one in rendered if one["schema"] == "example/Defaults/v1"]
    assert child["data"] == {"domain": "example.com", "mtu": 1500, "region": "north"}

    dry = shipyard("commit configdocs --dryrun").stdout.splitlines()
    assert dry[:2] == [
        "Configuration documents were not committed. Currently in dryrun mode.",
        "Status: Validations succeeded DRYRUN",
    ]
    assert dry[-1].startswith("####  Errors: 0, Warnings: ")
    shipyard("get renderedconfigdocs --committed", code=1)
    committed = shipyard("commit configdocs").stdout.splitlines()
    assert committed[:2] == ["Configuration documents committed.", "Status: Validations succeeded"]

    same = shipyard("get configdocs --base-version=committed").stdout
    assert same.startswith(TITLE.format("committed", 2, "buffer", 2))
    assert same.endswith("\n\nNo document differs.\n")

    defaults.write_text(DEFAULTS.replace("mtu: 1500", "mtu: 9100"))
    shipyard(f"create configdocs network --filename={defaults}")
    changed = shipyard("get configdocs --base-version=committed").stdout
    table, _, diff = changed.partition("\n\n")
    assert table.startswith(TITLE.format("committed", 2, "buffer", 3))
    assert rows(table) == [["design", "present", "unmodified"], ["network", "present", "modified"]]
    marks = [line for line in diff.splitlines() if line.startswith(("-", "+"))]
    assert marks == [
        "--- a/network/example/Defaults/v1/global/parent",
        "+++ b/network/example/Defaults/v1/global/parent",
        "-  mtu: 1500",
        "+  mtu: 9100",
    ]

    # As rendered it is the child that differs; the parent is abstract.
    seen = shipyard("get configdocs --base-version=committed --diff-version=buffer --rendered").stdout
    assert [line for line in seen.splitlines() if line.startswith(("-", "+"))] == [
        "--- a/network/example/Defaults/v1/site/child",
        "+++ b/network/example/Defaults/v1/site/child",
        "-  mtu: 1500",
        "+  mtu: 9100",
    ]

    (entry,) = [
        one
        for one in json.loads(shipyard("--output-format=raw get configdocs --diff-version=buffer").stdout)
        if one["documents"]
    ]
    assert (entry["collection_name"], entry["new_status"]) == ("network", "modified")
    (document,) = entry["documents"]
    assert document["changes"] == [{"kind": "values_changed", "path": "/data/mtu", "old": 1500, "new": 9100}]

    # No site action has run yet, so there is nothing to compare with.
    for version in ("last-site-action", "successful-site-action"):
        missing = shipyard(f"get configdocs --base-version={version}", code=1).stdout
        word = version.replace("-", "_")
        assert missing.startswith(f"Error: Version does not exist\nReason: {word} version does not exist\n")


def test_a_pipeline_reviews_the_documents_of_a_merge_request(stand: Stand, shipyard: Shipyard, tmp_path: Path) -> None:
    folder, program, review = tmp_path / "site", tmp_path / "bin" / "shipyard", tmp_path / "review.md"
    folder.mkdir()
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{SHIPYARD[-1]}" "$@"\n')
    program.chmod(0o755)
    design = SITE.read_text("utf-8")
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def reviewed(text: str, code: int) -> tuple[list[str], str]:
        """Return the sections of the review of a design, and all of its text."""
        (folder / "design.yaml").write_text(text)
        done = subprocess.run(
            [str(PIPELINES / "review-design.sh"), "design", str(folder), str(review)],
            env=environment | {"SHIPYARD_URL": stand.url, "SHIPYARD_TOKEN": stand.token},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr + stand.log("api")
        written = review.read_text("utf-8")
        return re.findall("^### (.*)$", written, re.MULTILINE), written

    shipyard(f"create configdocs design --filename={SITE}")
    shipyard("commit configdocs")

    assert reviewed(design, 0) == ([], "## Review of the design\n\nThe documents are those that are committed.\n")

    sections, text = reviewed(design.replace("full-site", "other-site"), 0)
    assert sections == ["Documents", "Differences", "Dry run", "Plan and forecast"]
    assert [line for line in text.splitlines() if line.startswith(("    -  ", "    +  "))] == [
        "    -    manifest: full-site",
        "    +    manifest: other-site",
    ]
    assert "not committed. Currently in dryrun mode." in text
    assert re.search(r"^ {4}\d\. ntp-node", text, re.MULTILINE)
    assert "Simulated: " in text
    assert shipyard("get configdocs").stdout.startswith(TITLE.format("committed", 1, "buffer", 2))

    # The next review replaces the buffer; what the dry run finds fails it.
    sections, text = reviewed(design.replace("depends_on: [ntp-node]", "depends_on: [nothing]"), 1)
    assert sections == ["Documents", "Differences", "Dry run"]
    assert "depends on 'nothing', which is not a group" in text

    assert reviewed("schema: only\n", 1)[0] == ["Documents"]
