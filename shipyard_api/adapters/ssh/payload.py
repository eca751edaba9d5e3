"""The payload sent to a node: ``supervisor.sh`` and the parts of a task. Pure."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from importlib.resources import files

from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import RemoteTask

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")

SCRIPT = files(__package__).joinpath("supervisor.sh").read_bytes()


def directory_name(marker: Marker) -> str:
    """Return the name of a marker's directory: readable, unique, and safe in a path, a command and a unit name."""
    digest = hashlib.sha256(marker.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{_UNSAFE.sub('-', marker)[:60].strip('-')}-{digest}".lstrip("-")


def call(verb: str, marker: Marker, window: int, *arguments: str | int, parts: bytes = b"") -> tuple[str, bytes]:
    """Return a command line and its input, for a verb of the supervisor.

    ``window``: the most bytes of output that it answers with. The script comes in by the input, so that neither a limit
    on the length of arguments nor the list of processes has to do with it. Every word is safe as it is, in any shell.
    """
    reader = f'script=$(head -c {len(SCRIPT)}) && eval "$script"'
    words = " ".join(map(str, (verb, directory_name(marker), window, *arguments)))
    return f"/bin/sh -c '{reader}' shipyard {words}", SCRIPT + parts


def start(marker: Marker, task: RemoteTask, window: int) -> tuple[str, bytes]:
    """Return the call that starts a task."""
    parts = {"spec": _spec(task).encode()}
    if task.command is not None:
        parts["command"] = task.command.encode()
    parts |= {f"file.{number}": file.content for number, file in enumerate(task.files)}
    if task.facts is not None:
        parts |= {"facts.json": task.facts.as_json, "facts.yaml": task.facts.as_yaml}
    sizes = [f"{name}:{len(content)}" for name, content in parts.items()]
    return call("start", marker, window, *sizes, parts=b"".join(parts.values()))


def _spec(task: RemoteTask) -> str:
    """Return the task as assignments of the shell, every value quoted."""
    values: Sequence[tuple[str, object]] = (
        ("cwd", task.cwd),
        ("succeeds", " ".join(map(str, sorted(task.succeeds_with)))),
        ("timeout", int(task.timeout)),
        ("retries", int(task.retries)),
        ("interval", int(task.interval)),
    )
    lines = [f"{name}={shlex.quote(str(value))}" for name, value in values]
    places = [
        f'place {shlex.quote(file.path)} "$dir/work/file.{number}" {file.mode:o} {file.directory_mode:o}'
        for number, file in enumerate(task.files)
    ]
    # They are kept beside the tasks, and not below the root of a simulated host.
    facts = [
        f'(top=; place "$facts.{form}" "$dir/work/facts.{form}" 600 700) || exit'
        for form in ("json", "yaml")
        if task.facts
    ]
    return "\n".join([*lines, "write_files() {", ":", *facts, *places, "}", ""])
