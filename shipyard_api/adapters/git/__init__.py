"""Designs from a git repository, by the git of the system."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

from shipyard_api.domain.pulls import Goal
from shipyard_api.settings.types import HeaderSecret, authority_faults

_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_SCHEMES = ("https", "ssh", "file")


class Repository(HeaderSecret):
    """The address of a repository, which may hold a password; empty: there is none."""

    __slots__ = ()
    WANTED: ClassVar[str] = "an address that starts with https://, ssh:// or file://"

    def __new__(cls, written: str) -> Self:
        """Check an address; raises ValueError."""
        if written and (urlsplit(written).scheme not in _SCHEMES or not urlsplit(written).path.strip("/")):
            raise ValueError("not the address of a repository")
        return super().__new__(cls, written)


class Reference(str):
    """A branch or a tag, or its full name such as refs/heads/main."""

    __slots__ = ()
    WANTED: ClassVar[str] = "the name of a branch or a tag"

    def __new__(cls, written: str) -> Self:
        """Check a name; raises ValueError."""
        if not _REF.fullmatch(written) or ".." in written:
            raise ValueError(f"{written} is no name")
        return super().__new__(cls, written)


class Directory(str):
    """A directory of the repository; empty: all of it."""

    __slots__ = ()
    WANTED: ClassVar[str] = "a directory of the repository, such as sites/lab"

    def __new__(cls, written: str) -> Self:
        """Check a path; raises ValueError."""
        path = written.strip("/")
        if not path.isprintable() or ".." in path.split("/"):
            raise ValueError(f"{written} is no directory of a repository")
        return super().__new__(cls, path)


_NONE, _MAIN, _ROOT = Repository(""), Reference("main"), Directory("")


@dataclass(frozen=True, slots=True)
class GitOptions:
    """The git repository that the worker pulls the design of the site from.

    ``url``: https://, ssh:// or file://, with a user and a password if it needs them; empty: nothing is pulled.
    ``ref``: the branch or the tag to follow.
    ``path``: the directory whose YAML files are the design; empty: the whole repository.
    ``collection``: the collection that they are loaded as.
    ``interval``: seconds between two polls.
    ``action``: what is done with a new commit: load, commit, plan or deploy (once another person approved the plan).
    ``timeout_seconds``: how long a poll may take.
    ``key``: a file with the private key for ssh://; empty: those of the worker's user.
    ``known_hosts``: a file with the host keys for ssh://; empty: that of the worker's user. Unknown hosts are refused.
    ``ca_file``: a file with the certificate authorities for https://; empty: those of the system.
    """

    url: Repository = _NONE
    ref: Reference = _MAIN
    path: Directory = _ROOT
    collection: str = "site"
    interval: float = 60.0
    action: Goal = Goal.LOAD
    timeout_seconds: float = 60.0
    key: str = ""
    known_hosts: str = ""
    ca_file: str = ""

    def faults(self) -> Iterator[str]:
        """Yield why nothing can be pulled; nothing without an address."""
        if not self.url:
            return
        if shutil.which("git") is None:
            yield "[git] url: there is no git on PATH; install it on the hosts of the workers"
        for name, file in (("key", self.key), ("known_hosts", self.known_hosts)):
            if file and not Path(file).is_file():
                yield f"[git] {name}: there is no file {file}"
        yield from authority_faults("[git] ca_file", self.ca_file)
