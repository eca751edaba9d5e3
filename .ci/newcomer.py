"""Run a command of ./dev as a newcomer would: python3 .ci/newcomer.py DIRECTORY root|ordinary COMMAND [ARGUMENTS].

The checkout is cloned into DIRECTORY once for each account, without ../shared. The account has an empty home, and a
PATH with git, Python and what every Linux has. Run by root, other programs are hidden outside of PATH, too, and nothing
that the command started outlives it. Everything is below DIRECTORY, which the caller removes; no account is created.
"""
# ruff: noqa: S607, SIM905  # programs of the system by their names; long lists of words

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = 77  # as in real_peer.py
PYTHONS = ("python3.13", "python3.12", "python3.11", "python3", "/usr/bin/python3", "/usr/local/bin/python3")
FITS = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
SYSTEM = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# What no newcomer has, wherever it is; PATH hides the rest.
PEERS = """
    sshd ssh ssh-keygen ssh-agent etcd etcdctl etcdutl kube-apiserver kube-controller-manager kubectl go
    chromium chromium-browser google-chrome node npm promtool prometheus pgbouncer
    postgres initdb pg_ctl pg_dump psql puppet rsync busybox baremetal fuel fuel2 uv tox
""".split()
PEER_DIRECTORIES = ("/usr/lib/postgresql",)
# Essential on Debian: coreutils, and the packages that every installation has beside it.
PROGRAMS = """
    [ basename cat chgrp chmod chown cksum comm cp cut date dd df dirname du echo env expr false fold head hostname id
    install join link ln ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc od paste pathchk pr printenv printf
    pwd readlink realpath rm rmdir seq sha256sum sleep sort split stat stty sum sync tac tail tee test timeout touch tr
    true truncate tsort tty uname uniq unlink wc who whoami yes
    sh dash bash grep egrep sed awk find xargs diff cmp tar gzip getconf locale setsid flock kill git
""".split()
KEPT = "LANG LC_ALL TERM SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE".split()
SHARED_MEMORY = "/dev/shm"  # noqa: S108  # where it is


@dataclass(frozen=True)
class Account:
    """``uid``, ``gid``: None for the account that runs this."""

    name: str
    uid: int | None = None
    gid: int | None = None

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a program as this account; raises PermissionError if that is not allowed here."""
        return subprocess.run(command, check=False, user=self.uid, group=self.gid, **self.groups(), **options)

    def groups(self) -> dict[str, list[int]]:
        """Return the option of Popen that takes the groups of root away."""
        return {} if self.uid is None else {"extra_groups": []}


def say(line: str) -> None:
    """Write a line before what the command writes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(place: Path, kind: str, command: list[str]) -> int:
    """Prepare what is missing, then run the command; return its exit code, or LEFT_OUT."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    am_root = os.geteuid() == 0
    if kind == "root" and not am_root:
        say("left out: this runs as an ordinary user")
        return LEFT_OUT
    me = Account(pwd.getpwuid(os.geteuid()).pw_name if am_root else os.environ.get("USER") or str(os.geteuid()))
    account, python = choose(me, ordinary=kind == "ordinary" and am_root)
    home = place / kind
    if not home.exists():
        prepare(home, account, python)
    say(f"./dev {' '.join(command)}: as {account.name}, with {python}, in {home / 'shipyard'}")
    with suppress(KeyboardInterrupt):
        return run(home, account, ["./dev", *command])
    return 128 + signal.SIGINT


def choose(me: Account, *, ordinary: bool) -> tuple[Account, str]:
    """Return an account and a Python that it can run; an ordinary account if that is asked for and possible."""
    if ordinary:
        nobody = _nobody()
        try:
            if python := find_python(nobody):
                return nobody, python
            say(f"{nobody.name} can run no Python >= 3.11 with venv: root plays the ordinary user")
        except PermissionError as error:
            say(f"root may not start programs as {nobody.name} ({error}): root plays the ordinary user")
    python = find_python(me)
    if python is None:
        raise SystemExit("there is no Python >= 3.11 with venv")
    return me, python


def _nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account("nobody", 65534, 65534)
    return Account("nobody", entry.pw_uid, entry.pw_gid)


def find_python(account: Account) -> str | None:
    """Return the path of the first Python that the account can run and that ./dev would take."""
    for name in filter(None, (os.environ.get("SHIPYARD_PYTHON"), *PYTHONS)):
        # A name may be a shim in somebody's home; it knows its program.
        asked = [name, "-c", "import sys; print(sys.executable)"]
        with suppress(FileNotFoundError):
            path = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()
            with suppress(PermissionError, FileNotFoundError):
                if path and account.run([path, "-c", FITS], cwd="/", stderr=subprocess.DEVNULL).returncode == 0:
                    return path
    account.run(["/bin/sh", "-c", ":"], cwd="/")  # raises if the account is the reason
    return None


def prepare(home: Path, account: Account, python: str) -> None:
    """Clone the checkout with what is not committed yet, and make the account's home and PATH."""
    home.mkdir(mode=0o755)
    programs, clone = home / "bin", home / "shipyard"
    for directory in (programs, home / "home", home / "t"):
        directory.mkdir(mode=0o755)
    for name in PROGRAMS:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    wrapper = programs / "python3"
    wrapper.write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
    wrapper.chmod(0o755)
    _clone(clone)
    if configuration := _pip_configuration():
        (home / "home" / "pip.conf").write_bytes(configuration.read_bytes())
    if account.uid is not None:
        for directory in (clone, home / "home", home / "t"):
            subprocess.run(["chown", "-R", f"{account.uid}:{account.gid}", str(directory)], check=True)


def _clone(clone: Path) -> None:
    git = ["git", "-C", str(ROOT)]
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    changes = subprocess.run([*git, "diff", "--binary", "HEAD"], check=True, capture_output=True).stdout
    if changes:
        subprocess.run(["git", "-C", str(clone), "apply", "--whitespace=nowarn"], input=changes, check=True)
    new = subprocess.run([*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True)
    for name in filter(None, os.fsdecode(new.stdout).split("\0")):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)


def _pip_configuration() -> Path | None:
    """Return the file in which the caller's pip finds its index; the newcomer would have one of their own."""
    configuration = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "pip" / "pip.conf"
    named = os.environ.get("PIP_CONFIG_FILE")
    files = [Path(named)] if named else [configuration, Path.home() / ".pip" / "pip.conf"]
    return next((file for file in files if file.is_file()), None)


def environment(home: Path, account: Account) -> dict[str, str]:
    """Return the newcomer's environment: how to reach the package index, and nothing of Shipyard's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith("PIP_") or name.lower().endswith("_proxy")
    }
    own = {"HOME": str(home / "home"), "USER": account.name, "LOGNAME": account.name, "TMPDIR": str(home / "t")}
    if (home / "home" / "pip.conf").is_file():
        own["PIP_CONFIG_FILE"] = str(home / "home" / "pip.conf")
    return {**kept, **own, "PATH": str(home / "bin"), "SHELL": "/bin/sh"}


def run(home: Path, account: Account, command: list[str]) -> int:
    """Run a command in the clone, in namespaces of its own if we may make them."""
    namespaces = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    again = [sys.executable, "-B", __file__, "inside", str(home), *command]
    own = {**os.environ, "NEWCOMER": f"{account.name}:{account.uid}:{account.gid}" if account.uid is not None else ""}
    possible = os.geteuid() == 0 and shutil.which("unshare") is not None
    if possible and subprocess.run([*namespaces, "true"], check=False, capture_output=True).returncode == 0:
        return subprocess.run([*namespaces, *again], env=own, check=False).returncode
    if visible := [str(path) for path in peers() if path.parent.name == "sbin" or path.is_dir()]:
        say(f"only root can hide what is not on PATH: {', '.join(visible)}")
    started = start(home, account, command)
    return started.wait()


def start(home: Path, account: Account, command: list[str]) -> "subprocess.Popen[bytes]":
    """Start a command of the newcomer."""
    return subprocess.Popen(
        command,
        cwd=home / "shipyard",
        env=environment(home, account),
        stdin=subprocess.DEVNULL,
        user=account.uid,
        group=account.gid,
        umask=0o022,
        **account.groups(),
    )


def peers() -> Iterator[Path]:
    """Yield what is to be hidden: programs, by their real paths, and directories of them."""
    directories = dict.fromkeys([*os.environ.get("PATH", "").split(":"), *SYSTEM])
    found = (Path(directory, name) for directory in directories for name in PEERS)
    yield from dict.fromkeys(path.resolve() for path in found if path.is_file())
    yield from filter(Path.is_dir, map(Path, PEER_DIRECTORIES))


def inside(home: Path, command: list[str]) -> int:
    """Hide the peers in this namespace of mounts, run the command, and look for processes that it left in ours."""
    for path in list(peers()):
        empty = ["-t", "tmpfs", "none"] if path.is_dir() else ["--bind", "/dev/null"]
        subprocess.run(["mount", *empty, str(path)], check=True)
    # Another run's Postgres is no business of this one, which could not see its owner.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", SHARED_MEMORY], check=True)
    name, uid, gid = os.environ["NEWCOMER"].split(":") if os.environ["NEWCOMER"] else ("root", None, None)
    account = Account(name, int(uid), int(gid)) if uid and gid else Account(name)
    code = reap_until(start(home, account, command).pid)
    left = processes_left()
    for process in left:
        say(f"still runs 20 s after the command has ended: {process}")
    return code or bool(left)


def reap_until(pid: int) -> int:
    """Wait for a process as the first one of a namespace does, which inherits all orphans; return its exit code."""
    while True:
        with suppress(KeyboardInterrupt):  # which the command got, too
            ended, status = os.wait()
            if ended == pid:
                return os.waitstatus_to_exitcode(status)


def processes_left() -> list[str]:
    """Return the command lines of the processes that are still there in 20 seconds."""
    for _ in range(200):
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        others = [path for path in Path("/proc").glob("[1-9]*") if path.name != str(os.getpid())]
        if not others:
            break
        time.sleep(0.1)
    found = []
    for path in others:
        with suppress(FileNotFoundError):
            words = (path / "cmdline").read_bytes().replace(bytes(1), b" ")
            found.append(f"{path.name} {words.decode(errors='replace')}")
    return found


if __name__ == "__main__":
    if sys.argv[1] == "inside":
        sys.exit(inside(Path(sys.argv[2]), sys.argv[3:]))
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
