"""A git repository as the source of a design.

Nothing is checked out: files are read from the objects of one commit. So no filter, hook, submodule or link of a
repository does anything here. Each call is a child with a time limit, and no file of it may be larger than a design.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec import Struct

from shipyard_api.adapters.git import GitOptions
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.documents import BrokenTree
from shipyard_api.ports.errors import Unavailable

_BLOCK = 512  # bytes, the unit of ulimit -f
_LIMITED = 'ulimit -f "$0" && exec git "$@"'
# What git says after SIGXFSZ and EFBIG, which its helpers get.
_TOO_LARGE = ("signal 25", "File too large", "File size limit", "invalid index-pack output")
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "fetch.unpackLimit": "1",  # one pack, so that the limit is that of the whole commit
    "gc.auto": "0",
    "transfer.fsckObjects": "true",
}
_LINK, _SUBMODULE = "120000", "160000"
_SUFFIXES = (".yaml", ".yml")


class _Entry(NamedTuple):
    path: str
    object: str
    size: int


class _Refusal(Unavailable):
    """Git has ended with an error, and in time."""


class GitRepository(Struct, frozen=True):
    """Fills ``ports.design_source.DesignSource``. ``max_bytes``: the largest design, and the largest fetched commit."""

    options: GitOptions
    max_bytes: int

    def head(self) -> str:
        """Return the commit of the branch or the tag."""
        with TemporaryDirectory(prefix="shipyard-git-") as directory:
            return self._named(directory)[1]

    def tree(self, commit: str) -> Mapping[str, bytes]:
        """Return the YAML files of the commit, if the branch or the tag still has it."""
        with TemporaryDirectory(prefix="shipyard-git-") as directory:
            name, _ = self._named(directory)
            self._git(directory, "init", "--quiet", "--bare", "--template=", ".")
            self._git(
                directory, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "origin", name
            )
            fetched = self._git(directory, "rev-parse", "FETCH_HEAD^{commit}").decode().strip()
            if fetched != commit:
                raise Unavailable("git", "fetch", f"{self.options.ref} has moved to {fetched[:12]} meanwhile")
            return self._files(directory, list(self._entries(directory, commit)))

    def _named(self, directory: str) -> tuple[str, str]:
        """Return the full name of the branch or the tag, and its commit."""
        ref = self.options.ref
        names = [ref] if ref.startswith("refs/") else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
        asked = [pattern for name in names for pattern in (name, f"{name}^{{}}")]
        listed = self._git(directory, "ls-remote", "--quiet", "origin", *asked).decode(errors="replace")
        known = {name: commit for commit, _, name in (line.partition("\t") for line in listed.splitlines())}
        for name in names:
            # An annotated tag is an object of its own, and ^{} is the commit behind it.
            if commit := known.get(f"{name}^{{}}") or known.get(name):
                return name, commit
        raise Unavailable("git", "ls-remote", f"there is no branch or tag {ref}", code=404)

    def _entries(self, directory: str, commit: str) -> Iterator[_Entry]:
        """Yield the YAML files below the path; those whose name or directory begins with a dot are none of a design."""
        where = self.options.path
        try:
            listed = self._git(directory, "ls-tree", "-r", "-l", "-z", f"{commit}:{where}")
        except _Refusal:
            raise BrokenTree(f"there is no directory {where}") from None
        for line in listed.decode(errors="replace").split("\0"):
            attributes, _, path = line.partition("\t")
            if not path or any(part.startswith(".") for part in path.split("/")):
                continue
            mode, _, object_id, size = attributes.split()
            if mode in (_LINK, _SUBMODULE):
                kind = "a symbolic link" if mode == _LINK else "a submodule"
                raise BrokenTree(f"{path} is {kind}, and none is followed: write the files themselves")
            if path.endswith(_SUFFIXES):
                yield _Entry(path, object_id, int(size))

    def _files(self, directory: str, entries: list[_Entry]) -> Mapping[str, bytes]:
        if (total := sum(entry.size for entry in entries)) > self.max_bytes:
            largest = max(entries, key=lambda entry: entry.size)
            raise BrokenTree(
                f"its YAML files have {total:,} bytes, and at most {self.max_bytes:,} are read ([api] design_bytes); "
                f"the largest is {largest.path}"
            )
        asked = "".join(f"{entry.object}\n" for entry in entries).encode()
        # Each comes behind a line with its size, and before the end of a line.
        content, files, position = self._git(directory, "cat-file", "--batch", sent=asked), {}, 0
        for entry in entries:
            start = content.index(b"\n", position) + 1
            position = start + entry.size + 1
            files[entry.path] = content[start : position - 1]
        return files

    def _git(self, directory: str, command: str, *arguments: str, sent: bytes = b"") -> bytes:
        """Return the output of a command. Raises Unavailable, and BrokenTree for what is too large."""
        place = Path(directory)
        # Both outputs are files, so that their size is limited, too.
        said, wrong, given = (place / f".{name}" for name in ("out", "err", "in"))
        given.write_bytes(sent)
        # Headers of packs and of cat-file come on top of the files.
        blocks = str(2 * self.max_bytes // _BLOCK + 1)
        with said.open("wb") as out, wrong.open("wb") as err, given.open("rb") as stdin:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _LIMITED, blocks, command, *arguments],
                cwd=directory,
                env=self._environment(directory),
                stdin=stdin,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                code = process.wait(self.options.timeout_seconds)
            except subprocess.TimeoutExpired:
                detail = f"no answer within {self.options.timeout_seconds:g} s"
                raise Unavailable("git", command, detail) from None
            finally:
                with suppress(ProcessLookupError):  # helpers of git are in its session, and may have outlived it
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            scrubber = Scrubber()
            scrubber.hide_address(self.options.url)
            text = scrubber(wrong.read_text(errors="replace"))
            if code in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ) or any(sign in text for sign in _TOO_LARGE):
                raise BrokenTree(f"it packs larger than {self.max_bytes:,} bytes ([api] design_bytes), or is damaged")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            raise _Refusal("git", command, "; ".join(lines[:2])[:500] or f"exit code {code}")
        return said.read_bytes()

    def _environment(self, directory: str) -> dict[str, str]:
        """Return the environment of git: nothing of the user's but the way to programs, keys and proxies.

        The address is no argument, which others on the host could read.
        """
        options = self.options
        ssh = ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ForwardAgent=no"]
        ssh += ["-i", options.key, "-o", "IdentitiesOnly=yes"] if options.key else []
        ssh += ["-o", f"UserKnownHostsFile={options.known_hosts}"] if options.known_hosts else []
        settings = {"remote.origin.url": str(options.url), **_SETTINGS}
        settings |= {"http.sslCAInfo": options.ca_file} if options.ca_file else {}
        pairs = [
            pair
            for number, (name, value) in enumerate(settings.items())
            for pair in ((f"GIT_CONFIG_KEY_{number}", name), (f"GIT_CONFIG_VALUE_{number}", value))
        ]
        inherited = ("PATH", "SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE")
        return {
            **{name: os.environ[name] for name in inherited if name in os.environ},
            "HOME": directory,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": str(len(settings)),
            **dict(pairs),
            "GIT_ALLOW_PROTOCOL": "file:https:ssh",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_SSH_COMMAND": " ".join(map(quote, ssh)),
        }
