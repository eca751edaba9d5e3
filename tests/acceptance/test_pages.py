"""README, tutorial and how-to pages, followed to the letter by a newcomer."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipyard_api.adapters.encryption.fernet import new_key
from tests.acceptance.programs import invoke, left_running, marked, reachable, up
from tests.conftest import ROOT
from tests.forked import Program
from tests.stand import Stand
from tests.waiting import PATIENCE

_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_FENCE = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Newcomer:
    """Two terminals: one for `./dev up`, one for everything else.

    Pages show ids of actions; the first id of a page stands for the first action that is created, and so on.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark, self.environment = marked()
        self.child: Program | None = None
        self.actions: list[str] = []
        self.printed = ""

    def follow(self, text: str) -> None:
        """Execute the commands of all `sh` blocks; each line of a `text` block must have been printed."""
        shown = list(dict.fromkeys(_ID.findall(text)))
        for kind, block in _FENCE.findall(text):
            lines = block.replace("\\\n", " ").splitlines()
            if kind == "text":
                for line in lines:
                    assert _like(self._real(line, shown)) in _like(self.printed), line
                continue
            for line in lines:
                self._execute(self._real(line, shown))

    def _real(self, line: str, shown: list[str]) -> str:
        return _ID.sub(lambda found: dict(zip(shown, self.actions, strict=False)).get(found[0], found[0]), line)

    def _execute(self, line: str) -> None:
        match shlex.split(line):
            case ["./dev", "up", *words]:
                self.start(words)
            case ["./dev", "run", *words] | ["shipyard", *words]:
                words = [word.replace("/tmp/", f"{self.directory}/") for word in words]
                # The site of the newcomer is a thousand times as fast: looks at it come sooner after each other.
                ended = invoke([*words, "--interval=0.1"] if "watch" in words else words, self.environment)
                self.printed = ended.output if words[0] != "get" else self.printed + ended.output
                fails = "watch" in words and "action is Failed" in ended.output
                assert ended.exit_code == int(fails), f"{line}\n{ended.output}"
                self.actions += [one for one in _ID.findall(ended.output) if one not in self.actions]
            case ["rm", *_]:
                self.stop()
            case _:
                command = line.replace("curl -sS", "curl -sS --fail-with-body").replace("/tmp/", f"{self.directory}/")
                if command.startswith("curl ") and shutil.which("curl") is None:
                    pytest.skip("curl is not installed")
                words = ["sh", "-euc", command]
                done = subprocess.run(
                    words, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

    def start(self, words: list[str]) -> None:
        """Start the stack, in place of one that runs, on a directory of our own."""
        self.stop()
        options = [word for word in words if not word.startswith(("--data-dir", "/tmp/"))]
        self.child, told = up(self.directory, self.environment, [*options, "--speed", "1000"])
        self.environment |= {"SHIPYARD_URL": told["url"], "SHIPYARD_TOKEN": told["token"]}
        # The tutorial shows an address and a token of its own.
        said = ""
        while not said.endswith(f"/#token={told['token']}\n"):
            assert self.child.poll() is None, said
            time.sleep(0.05)
            said = (self.directory / "up.log").read_text()
        self.printed = said.replace(told["url"], "http://127.0.0.1:36271").replace(told["token"], "shipyard_...")

    def stop(self) -> None:
        """Stop the stack as Ctrl-C does."""
        if self.child is not None:
            self.child.terminate()
            assert self.child.wait(PATIENCE) == 0
            self.child = None


def _like(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    with reachable() as directory:
        person = Newcomer(directory)
        try:
            yield person
        finally:
            person.stop()
    assert left_running(person.mark) == []


def test_the_tutorial_leads_through_a_failure_to_a_retry(newcomer: Newcomer) -> None:
    newcomer.follow((ROOT / "docs" / "tutorial" / "first-deployment.md").read_text(encoding="utf-8"))


@pytest.fixture
def trial(tmp_path: Path, database_url: str) -> Iterator[Newcomer]:
    """A newcomer to a Shipyard that runs already; it has no worker."""
    with Stand(tmp_path, database_url, settings={"SHIPYARD_SECRETS_KEYS": new_key()}) as stand:
        newcomer = Newcomer(tmp_path)
        newcomer.environment |= {"SHIPYARD_URL": stand.url, "SHIPYARD_TOKEN": stand.token}
        yield newcomer


def test_the_command_line_steps_of_the_readme_work_right_after_its_curl_steps(trial: Newcomer) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    trial.follow(page.partition("\n## Use it\n")[2].partition("\n## ")[0])
    assert len(trial.actions) == 1


@pytest.mark.parametrize("page", ["review-a-change.md", "write-documents.md"])
def test_the_pages_about_documents_end_without_errors(trial: Newcomer, page: str) -> None:
    text = (ROOT / "docs" / "howto" / page).read_text(encoding="utf-8")
    trial.follow(text.partition("\n## Compare commits")[0])
    assert "Errors: 0, Warnings: 0" in trial.printed
