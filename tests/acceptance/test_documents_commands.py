"""A pipeline that reviews a design: its script, with the command itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.acceptance.programs import SHIPYARD
from tests.conftest import ROOT
from tests.stand import Stand

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
PIPELINES = ROOT / "docs" / "examples" / "pipelines"


def test_a_pipeline_reviews_the_documents_of_a_merge_request(tmp_path: Path, database_url: str) -> None:
    folder, program, review = tmp_path / "site", tmp_path / "bin" / "shipyard", tmp_path / "review.md"
    folder.mkdir()
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{SHIPYARD[-1]}" "$@"\n')
    program.chmod(0o755)
    design = SITE.read_text("utf-8")

    with Stand(tmp_path, database_url) as stand:
        stand.commit(SITE.read_bytes())
        own = {"SHIPYARD_URL": stand.url, "SHIPYARD_TOKEN": stand.token}
        environment = {**os.environ, **own, "PATH": f"{program.parent}:{os.environ['PATH']}"}

        def reviewed(text: str, code: int) -> tuple[list[str], str]:
            """Return the sections of the review of a design, and all of its text."""
            (folder / "design.yaml").write_text(text)
            done = subprocess.run(
                [str(PIPELINES / "review-design.sh"), "design", str(folder), str(review)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr + stand.log("api")
            written = review.read_text("utf-8")
            return re.findall("^### (.*)$", written, re.MULTILINE), written

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

        # The next review replaces the buffer; what the dry run finds fails it.
        sections, text = reviewed(design.replace("depends_on: [ntp-node]", "depends_on: [nothing]"), 1)
        assert sections == ["Documents", "Differences", "Dry run"]
        assert "depends on 'nothing', which is not a group" in text


def test_a_review_with_check_fails_if_a_server_would_be_reinstalled(tmp_path: Path) -> None:
    # The command is a script with the exit codes of ours.
    program, review = tmp_path / "shipyard", tmp_path / "review.md"
    program.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '"commit "*) echo "####  Errors: 0, Warnings: 0, Infos: 0, Other: 0  ####" ;;\n'
        'plan*--check) echo "Reinstall: n1 (image)"; exit 2 ;;\n'
        "plan*) exit 1 ;;\n"
        "esac\n"
    )
    program.chmod(0o755)

    def reviewed(*arguments: str) -> int:
        command = [str(PIPELINES / "review-design.sh"), *arguments]
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    assert reviewed("--check", "design", str(tmp_path), str(review)) == 2
    assert review.read_text("utf-8").endswith("    Reinstall: n1 (image)\n\n\nA server would have to be reinstalled.\n")
    assert reviewed("design", str(tmp_path), str(review)) == 0
    assert "reinstalled" not in review.read_text("utf-8")
    assert reviewed("--check", str(review)) == 64
