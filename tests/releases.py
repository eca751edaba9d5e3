"""Programs of other releases of Shipyard, each run from a tree of its own (product, section 10, Versions).

The libraries are those of this environment.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shipyard_api.storage import schema
from tests.conftest import ROOT
from tests.stand import Stand
from tests.waiting import PATIENCE

_SCHEMA = "shipyard_api/storage/schema.py"
_SHIPPED = ("shipyard_api", "migrations", "schemas", "etc")
_NEXT_SCHEMA = "9998"
_NEXT_MIGRATION = f'''"""What a next release adds."""

import sqlalchemy as sa
from alembic import op

revision = "{_NEXT_SCHEMA}"
down_revision = "{schema.NEWEST}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("of_the_next", sa.Column("id", sa.Integer(), primary_key=True))
    for table in ("actions", "steps", "journal", "work_items", "action_nodes", "revisions"):
        op.add_column(table, sa.Column("of_the_next", sa.Text(), nullable=True))
        op.add_column(table, sa.Column("next_count", sa.Integer(), nullable=False, server_default="0"))
'''


class NoHistoryError(Exception):
    """This checkout has no former releases."""


@dataclass(frozen=True)
class Release:
    """The sources of a release, below a directory."""

    tree: Path

    @classmethod
    def of_commit(cls, commit: str, tree: Path) -> Release:
        """Extract a commit of this repository into a new directory."""
        tree.mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "--extract", "--directory", tree], input=archive, check=True)
        return cls(tree)

    @classmethod
    def after_this_one(cls, tree: Path) -> Release:
        """Make a release that adds to the schema, and stores the state of rollouts in a version that we do not know."""
        for name in _SHIPPED:
            shutil.copytree(ROOT / name, tree / name)
        (tree / "migrations" / "versions" / f"{_NEXT_SCHEMA}_next.py").write_text(_NEXT_MIGRATION)
        _replace(tree / _SCHEMA, f'"{schema.NEWEST}"\n"""The schema', f'"{_NEXT_SCHEMA}"\n"""The schema')
        rollout = tree / "shipyard_api" / "actions" / "steps" / "rollout_state.py"
        _replace(rollout, "\nVERSION = ", "\nVERSION = 100 + ")
        return cls(tree)

    @property
    def application(self) -> str:
        """The application that gunicorn serves."""
        return f"{self.program('asgi', 'wsgi')}:app"

    def program(self, *names: str) -> str:
        """Return the module of a program, by the first of its names that this release has, in a folder or not."""
        package = self.tree / "shipyard_api"
        for name in names:
            for place in (f"programs/{name}", name):
                if (package / f"{place}.py").is_file():
                    return f"shipyard_api.{place.replace('/', '.')}"
        raise LookupError(names)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return an environment in which Python imports this release."""
        return {**os.environ, **more, "PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1"}

    def admin(self, url: str, *words: str) -> str:
        """Run a command of its administration; return what it printed."""
        command = [sys.executable, "-m", self.program("admin"), *words]
        environment = self.environment({"DATABASE_URL": url})
        done = subprocess.run(command, cwd=self.tree, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


THIS = Release(ROOT)


def last_release() -> str:
    """Return the commit of the last release before this commit. Raises NoHistoryError."""
    return next(iter(_releases()))


def first_rolling() -> str:
    """Return the commit of the last release, or the first later one whose programs accept a newer schema.

    Raises NoHistoryError.
    """
    if _accepts_newer_schemas(last_release()):
        return last_release()
    return _git("log", "--reverse", "--format=%H", "-SROLLING_FROM", "--", _SCHEMA)[0]


def last_stopped() -> str:
    """Return the commit of the last release that must be stopped before an upgrade: 0.1.0. Raises NoHistoryError."""
    return next(commit for commit in _releases() if not _accepts_newer_schemas(commit))


def _accepts_newer_schemas(commit: str) -> bool:
    return bool(_git("grep", "--fixed-strings", "-l", "ROLLING_FROM", commit, "--", _SCHEMA))


def _releases() -> list[str]:
    """Return the commits that made a release, newest first: they add its heading to the changelog."""
    if shutil.which("git") is None or _git("rev-parse", "--is-shallow-repository") != ["false"]:
        raise NoHistoryError("this checkout has no history: clone the whole repository")
    (head,) = _git("rev-parse", "HEAD")
    found = _git("log", "--format=%H", r"-G^## [0-9]+\.[0-9]", "--extended-regexp", "--", "CHANGELOG.md")
    return [commit for commit in found if commit != head]


def _git(*words: str) -> list[str]:
    """Return the lines that git prints; none if it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, (file, old)
    file.write_text(text.replace(old, new))


@dataclass
class Releases(Stand):
    """A site with programs of several releases: ``of`` says which, by the program's name.

    All APIs accept connections of one socket, as behind a load balancer.
    """

    of: dict[str, Release] = field(default_factory=dict)

    def begin(self, release: Release, name: str) -> None:
        """Start an API and a worker of a release, whose names begin with ``name``, and wait until they are ready."""
        for program, ready in ((f"{name}api", "API is ready"), (f"{name}worker", "worker is ready")):
            self.of[program] = release
            before = self.log(program).count(ready) if (self.directory / f"{program}.log").exists() else 0
            self.start(program)
            while self.log(program).count(ready) == before:
                assert self.processes[program].poll() is None, self.log(program)
                time.sleep(0.05)

    def end(self, name: str = "") -> list[int]:
        """Let an API and its worker end; return their exit codes."""
        programs = [self.processes.pop(f"{name}{program}") for program in ("api", "worker")]
        for program in programs:
            program.terminate()
        return [program.wait(PATIENCE) for program in programs]

    def start(self, name: str) -> None:
        """Start an API if its name ends so, or a worker."""
        release = self.of[name]
        if name.endswith("api"):
            configuration = str(release.tree / "etc" / "gunicorn.conf.py")
            self._spawn(name, "gunicorn", ["-c", configuration, release.application], self.service(), self.listener)
        else:
            self._spawn(name, release.program("worker"), [], self.service())

    def _spawn(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        listener: socket.socket | None = None,
    ) -> None:
        if name not in self.of:
            super()._spawn(name, module, arguments, environment, listener)
            return
        release, files = self.of[name], [listener.fileno()] if listener else []
        more = {"TMPDIR": str(self.directory), **environment}
        if listener:
            more["SHIPYARD_BIND"] = f"fd://{listener.fileno()}"
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(  # type: ignore[assignment]  # all that we use of a Program
                [sys.executable, "-m", module, *arguments],
                cwd=release.tree,
                env=release.environment(more),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=files,
                start_new_session=True,
            )

    def _tokens(self) -> tuple[str, str]:
        tester, simulator = (
            self.of["api"].admin(self.database_url, "token", "create", "--name", name, "--role", role).split()[-1]
            for name, role in (("tester", "admin"), ("simulator", "peer"))
        )
        return tester, simulator
