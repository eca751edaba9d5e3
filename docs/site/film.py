"""The film in the documentation site: its pages as they are, and its data from recorded histories and stories.

``./dev film`` plays the runs again, lets the model print its stories, and writes both below docs/film. The site needs
neither Shipyard nor a server then: ``data.js`` holds everything that the page plays.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FILM = ROOT / "docs" / "film"
HISTORIES, STORIES = FILM / "histories", FILM / "stories.json"
PAGE = ("index.html", "film.css", "fold.js", "film.js")


FILE = "FILE"
DEMO = ("-c", "from shipyard_api.cli.main import main; main()", "demo", "--history", FILE)


class Run(NamedTuple):
    """A recorded run: the name of its file, its title in the page, and the arguments of the Python that plays it.

    ``FILE`` in them stands for the file. ``kept``: the name under which a crash test keeps its history.
    """

    file: str
    title: str
    words: Sequence[str]
    kept: str = ""


RUNS = (
    Run("lost-answers.jsonl", "Answers are lost, and nothing is done twice", (*DEMO, "--scenario", "drops-and-500s")),
    Run(
        "killed-workers.jsonl",
        "Workers are killed, the database is restarted, and Drydock fails",
        ("-m", "pytest", "-n", "0", "-m", "not crash", "tests/crash/test_kills.py"),
        kept="kills-7.jsonl",
    ),
    Run(
        "restored-dump.jsonl",
        "A dump is restored during a deployment (torture, seed 12)",
        ("-m", "tests.torture.run", "--seed", "12", "--history", FILE),
    ),
    Run(
        "a-node-fails.jsonl",
        "One node fails, and three groups never begin (MAAS)",
        (*DEMO, "--scenario", "ntp-prepare-fails", "--provisioner", "maas"),
    ),
)


def main(parts: Sequence[str]) -> int:
    """Record every run, and every story of the model; ``parts``: only the runs, or only the stories."""
    HISTORIES.mkdir(parents=True, exist_ok=True)
    for run in RUNS if "runs" in parts or not parts else ():
        record(run)
    if "stories" in parts or not parts:
        STORIES.write_text(json.dumps(list(stories()), indent=1) + "\n", encoding="utf-8")
    return 0


def record(run: Run) -> None:
    """Play a run, and keep its history."""
    file = HISTORIES / run.file
    with tempfile.TemporaryDirectory() as kept:
        words = [str(file) if word == FILE else word for word in run.words]
        environment = {**os.environ, "SHIPYARD_HISTORIES": kept}
        subprocess.run([sys.executable, *words], check=True, cwd=ROOT, env=environment)
        if run.kept:
            shutil.copyfile(Path(kept, run.kept), file)


def stories() -> Iterator[Mapping[str, Any]]:
    """Yield the shortest story of each named mutation that the model finds."""
    from tests.model.explore import explore
    from tests.model.mutations import MUTATIONS, applied
    from tests.model.turns import Turns

    logging.disable(logging.CRITICAL)
    for mutation in MUTATIONS:
        with applied(mutation):
            explored = explore(Turns(mutation.scope), settle_every=20)
        if explored.violation is None:
            raise SystemExit(f"the model does not find: {mutation.name}")
        yield {
            "name": mutation.name,
            "broken": mutation.broken,
            "what": explored.violation.what,
            "steps": explored.violation.story,
            "states": explored.states,
        }


def write(out: Path) -> None:
    """Write the page and its data to a directory."""
    out.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copyfile(FILM / name, out / name)
    histories = [
        {
            "title": run.title,
            "text": (HISTORIES / run.file).read_text("utf-8"),
            "checked": checked(HISTORIES / run.file),
        }
        for run in RUNS
    ]
    data = {"histories": histories, "stories": json.loads(STORIES.read_text("utf-8"))}
    content = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    (out / "data.js").write_text(f"window.SHIPYARD_FILM = {content};\n", encoding="utf-8")


def checked(file: Path) -> str:
    """Return what the checker says of a history; raises SystemExit if a rule is broken."""
    ran = subprocess.run(
        [sys.executable, "-B", "-m", "check_history", file.name],  # leaves nothing beside the sources of a release
        env={"PYTHONPATH": str(ROOT)},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise SystemExit(ran.stdout + ran.stderr)
    return ran.stdout.strip().partition(": ")[2]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
