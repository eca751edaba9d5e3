"""The account of the server: PostgreSQL refuses to run as root, so root uses an unprivileged account."""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shipyard_simulators.embedded_postgres.errors import PostgresError

VARIABLE = "SHIPYARD_POSTGRES_ACCOUNT"
_USUAL = ("postgres", "shipyard", "nobody")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """The account that owns the data and runs the server; the current one, unless that is root."""

    name: str
    uid: int
    gid: int

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        output: int | IO[bytes] = subprocess.PIPE,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, with an empty environment, and wait for it.

        ``output`` takes stdout and stderr. A program that leaves a server running needs a file: a pipe would stay open
        as long as the server.
        """
        lent = os.geteuid() == 0
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            user=self.uid if lent else None,
            group=self.gid if lent else None,
            extra_groups=[] if lent else None,
            umask=0o077,
            cwd="/",
            env={"PATH": _SYSTEM_PATH, "LC_ALL": "C", **(environment or {})},
        )

    def blocked_at(self, directory: Path) -> Path | None:
        """Return the first directory on the way to ``directory``, itself included, that this account may not enter.

        The kernel decides, not the mode bits, so access lists count, too.
        """
        way = [*reversed(directory.parents), directory]
        script = 'i=0; for d; do [ -x "$d" ] || { echo "$i"; exit; }; i=$((i+1)); done'
        answer = self.run(["/bin/sh", "-c", script, "sh", *map(str, way)]).stdout.strip()
        return way[int(answer)] if answer.isdigit() else None

    def require_entry(self, directory: Path) -> None:
        """Raise PostgresError, naming the closed directory, unless the account can enter."""
        try:
            blocking = self.blocked_at(directory)
        except PermissionError as error:
            raise PostgresError(
                f"PostgreSQL does not run as root, and this root may not start programs as {self.name!r} ({error}). "
                "In a container, allow it the capabilities SETUID, SETGID and CHOWN, or run as an ordinary user."
            ) from error
        if blocking is not None:
            raise PostgresError(
                f"The account {self.name!r} cannot reach {directory}: {blocking} denies access. "
                "Shipyard does not change permissions of directories that it did not create. Choose a data directory "
                f"under /var/lib or /opt (--data-dir), or allow access: chmod o+x '{blocking}'."
            )


def choose(data: Path) -> SystemAccount:
    """Return the account for the server on ``data``: the owner of existing data, else a requested or a usual one.

    No account is ever created. Raises PostgresError if none fits.
    """
    owner = data.stat().st_uid if (data / "PG_VERSION").exists() else None
    if os.geteuid() == 0:
        return _lent_by_root(data, owner)
    if owner not in (None, os.geteuid()):
        raise PostgresError(
            f"The data in {data} belongs to the account {_name(owner)!r}, and this runs as {_name(os.geteuid())!r}. "
            f"Run as root or as {_name(owner)!r}, or choose another data directory (--data-dir)."
        )
    return SystemAccount(_name(os.geteuid()), os.geteuid(), os.getegid())


def _lent_by_root(data: Path, owner: int | None) -> SystemAccount:
    asked = os.environ.get(VARIABLE, "")
    account = _first_known([asked] if asked else _USUAL)
    if account is None or account.uid == 0:
        raise PostgresError(
            f"PostgreSQL does not run as root, and {asked or ', '.join(_USUAL)} is not an unprivileged account of this "
            f"machine. Set {VARIABLE} to one, create one (useradd --system shipyard), or set DATABASE_URL."
        )
    if owner is None or owner == account.uid:
        return account
    if asked or owner == 0:
        raise PostgresError(
            f"The data in {data} belongs to the account {_name(owner)!r}, not to {account.name!r}. "
            f"Change the owner with: chown -R {account.name} '{data}'; or set {VARIABLE} to its owner."
        )
    # The default account may change with the next package; the owner of the data does not.
    return _of_owner(data, owner)


def _of_owner(data: Path, owner: int) -> SystemAccount:
    try:
        entry = pwd.getpwuid(owner)
    except KeyError:
        raise PostgresError(
            f"The data in {data} belongs to user id {owner}, which has no account on this machine. "
            f"Give it to an account with chown -R, and set {VARIABLE} to that account."
        ) from None
    return SystemAccount(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _first_known(names: Sequence[str]) -> SystemAccount | None:
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return SystemAccount(entry.pw_name, entry.pw_uid, entry.pw_gid)
    return None


def _name(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return f"user id {uid}"
