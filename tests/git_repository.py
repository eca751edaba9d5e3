"""A git repository that a test writes, and its address."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
}


@dataclass(frozen=True)
class Repository:
    """A repository with a working tree."""

    directory: Path

    @classmethod
    def new(cls, directory: Path) -> Repository:
        """Make an empty repository."""
        directory.mkdir()
        made = cls(directory)
        made.git("init", "--quiet", "--initial-branch=main", ".")
        return made

    @property
    def url(self) -> str:
        """The address."""
        return f"file://{self.directory}"

    def git(self, *arguments: str) -> str:
        """Run git in the working tree, and return what it prints."""
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.directory, env=_ENVIRONMENT, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, *extra: str, **files: str | bytes | None) -> str:
        """Write files, each named by its path with __ for /, remove those that are None, and return the commit."""
        for name, content in files.items():
            path = self.directory / name.replace("__", "/").replace("_yaml", ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=change", *extra)
        return self.git("rev-parse", "HEAD")
