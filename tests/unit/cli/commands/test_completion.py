"""Shell completion."""

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from shipyard_api.cli.main import shipyard
from tests.distributions import of_ours
from tests.unit.tables import every_row


def offered(*words: str, last: str = "") -> list[str]:
    complete = ShellComplete(shipyard, {}, "shipyard", "_SHIPYARD_COMPLETE")
    return [item.value for item in complete.get_completions(list(words), last)]


OFFERED = {
    "commands": ((), "de", {"demo", "deploy-template", "describe"}),
    "names of actions": (("create", "action"), "u", {"update_site", "update_software"}),
    "output formats": (("--output-format",), "", {"format", "raw", "cli"}),
    "base versions": (("get", "configdocs", "--base-version"), "", {"committed", "last-site-action",
                                                                   "successful-site-action"}),
    "topics": (("help",), "", {"actions", "configdocs", "logs"}),
    "what can be steered, as far as it is typed": (("stop",), "a", {"action"}),
    "what cannot be steered": (("control", "stop"), "x", set()),
    "options of gunicorn": (("serve",), "--b", {"--bind"}),
    "options behind another one": (("serve", "--bind", "x"), "--w", {"--workers"}),
    "provisioners": (("up", "--provisioner"), "", set(of_ours("shipyard.provisioners"))),
    "scenarios of a stack": (("up", "--scenario"), "ntp", {"ntp-prepare-fails"}),
    "behind an item": (("describe", "action/01ARZ3NDEKTSV4RRFFQ69G5FAV"), "--h", {"--help"}),
    "behind an item that is nothing": (("describe", "nosuch/1"), "x", set()),
}  # fmt: skip


@every_row(OFFERED)
def test_what_is_offered(words, last, values):
    assert set(offered(*words, last=last)) == values


def test_a_scenario_may_be_a_file():
    complete = ShellComplete(shipyard, {}, "shipyard", "_SHIPYARD_COMPLETE")
    (item,) = complete.get_completions(["demo", "--scenario"], "mine/sc")
    assert (item.type, item.value) == ("file", "mine/sc")


TYPED = {
    "--output-format=raw get con": "--output-format=raw get configdocs ",
    "--url http://h:1 create configdocs design --directory=FOLDER/pla": (
        "--url http://h:1 create configdocs design --directory=FOLDER/place/"
    ),
}
RC = """
PS1='> '
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
show() { printf '<LINE:%s>' "$READLINE_LINE"; }
bind -x '"\\C-g": show'
"""


class Typist:
    """Somebody at an interactive bash in which the script was read."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._read = ""

    def press_tab(self, line: str) -> str:
        """Type a line and press Tab; return the line as it stands then, and take it away."""
        os.write(self._terminal, b"\x15" + line.encode() + b"\t\x07")
        self._wait_for("<LINE:")
        _, _, self._read = self._read.partition("<LINE:")
        self._wait_for(">")
        found, _, self._read = self._read.partition(">")
        return found

    def _wait_for(self, text: str) -> None:
        while text not in self._read:
            ready, _, _ = select.select([self._terminal], [], [], 60)
            assert ready, f"bash is silent after {self._read!r}"
            self._read += os.read(self._terminal, 4096).decode(errors="replace")


@pytest.fixture
def typist(tmp_path: Path) -> Iterator[Typist]:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("there is no bash here")
    place = tmp_path
    command = place / "shipyard"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from shipyard_api.cli.main import main; main()' \"$@\"\n")
    command.chmod(0o755)
    done = CliRunner().invoke(shipyard, ["completion", "bash"], prog_name="shipyard")
    script = place / "rc"
    script.write_text(f"{done.stdout}\n{RC}")
    ours, theirs = pty.openpty()
    root = str(Path(__file__).parents[4])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COMP", "BASH", "INPUTRC"))}
    with subprocess.Popen(
        [bash, "--noprofile", "--rcfile", str(script), "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={
            **kept,
            "PATH": f"{place}:{os.environ['PATH']}",
            "PYTHONPATH": root,
            "TERM": "dumb",
            "INPUTRC": os.devnull,
        },
    ) as process:
        os.close(theirs)
        try:
            yield Typist(ours)
        finally:
            process.kill()
            os.close(ours)


def test_a_bash_completes_words_with_equals_signs_and_colons(typist, tmp_path):
    (tmp_path / "place").mkdir()
    for line, wanted in TYPED.items():
        found = typist.press_tab(f"shipyard {line}".replace("FOLDER", str(tmp_path)))
        assert found == f"shipyard {wanted}".replace("FOLDER", str(tmp_path))
