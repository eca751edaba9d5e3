"""What a task runs on a node: its type and parameters as a command and files (contract: fuel-task-graph, 1.3, 4.3).

Values come from documents that callers write. Whatever enters a command line of ours is quoted; only ``cmd`` of a shell
task is shell text.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject, member
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph import shell_text
from shipyard_api.domain.task_graph.shell_text import KEY
from shipyard_api.domain.task_graph.tasks import Kind, is_computed

MOST_CONTENT = 1024 * 1024
"""The most bytes of a file, and of a command."""

MOST_FILES = 50
"""The most files of a ``copy_files`` task."""

LONGEST_PATH = 4096  # bytes; PATH_MAX of Linux
LONGEST_NAME = 255 - len(".shipyard.XXXXXX")  # bytes; it is first written under a longer name
LONGEST_TIMEOUT = 7 * 86_400  # seconds
MOST_RETRIES = 100
LONGEST_INTERVAL = 3600  # seconds

PUPPET_SUCCESS = frozenset({0, 2})
"""``puppet apply --detailed-exitcodes``: no changes, changes. 4 and 6 mean failures."""

_DIGESTS = "digests"
_MODE = re.compile(r"0?[0-7]{3,4}")


class RemoteFile(Struct, frozen=True):
    """A file that is written, whole or not at all, before the command runs; ``path`` is absolute.

    ``directory_mode``: of directories that do not exist yet. Existing directories keep theirs.
    """

    path: str
    content: bytes
    mode: int = 0o644
    directory_mode: int = 0o755


class CopiedFile(Struct, frozen=True):
    """A file like ``RemoteFile``, whose content is read beside Shipyard when the task starts.

    ``source``: in the configured directory, relative to it or absolute. ``digest``: the SHA-256 that its content must
    have; None if it is not known.
    """

    source: str
    path: str
    mode: int = 0o644
    directory_mode: int = 0o755
    digest: str | None = None


class NodeFiles(Struct, frozen=True):
    """The facts of a node in two forms. The node keeps them beside its tasks, whose environment names both paths."""

    as_json: bytes
    as_yaml: bytes


class RemoteTask(Struct, frozen=True):
    """What runs on each node of a call.

    ``command``: for the POSIX shell; None if there is nothing but files to write. ``succeeds_with``: exit codes that
    mean success. ``retries``: further attempts after a failed one, ``interval`` seconds apart. ``timeout``: seconds for
    all attempts together; after it the task and all its processes are ended. ``secrets``: texts that no output shows.
    ``copies``: written like ``files``. ``reboots``: the command restarts the node, and the task succeeds when the node
    answers after that; ``timeout`` is the limit of both. ``facts``: written before the command. ``connect_timeout``:
    seconds of one try to connect, if the settings do not count. ``by_node``: the task of nodes where it differs.
    """

    command: str | None
    files: tuple[RemoteFile, ...] = ()
    cwd: str = "/"
    succeeds_with: frozenset[int] = frozenset({0})
    timeout: int = 3600
    retries: int = 0
    interval: int = 0
    secrets: tuple[str, ...] = ()
    copies: tuple[CopiedFile, ...] = ()
    reboots: bool = False
    facts: NodeFiles | None = None
    connect_timeout: int | None = None
    by_node: Mapping[NodeName, "RemoteTask"] = field(default_factory=dict)


class CommandError(ValueError):
    """A task that cannot run on a node. ``field``: the parameter at fault, empty for the task itself."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def filled(entry: JsonObject, keys: Mapping[str, str]) -> JsonObject:
    """Return a task with the values of ``{NAME}`` in its parameters. Raises CommandError.

    Braces around other names stay as they are, and so do those of ``${NAME}``, a variable of the shell. In the command
    of a shell task, values are quoted.
    """
    if "parameters" not in entry:
        return entry
    written = entry["parameters"]
    command = written.get("cmd") if isinstance(written, Mapping) and entry.get("type") == Kind.SHELL.value else None
    if not isinstance(command, str):
        return {**entry, "parameters": _filled(written, keys)}
    try:
        command = shell_text.filled(command, keys)
    except shell_text.NoPlaceForValue as fault:
        raise CommandError(str(fault), "cmd") from None
    return {**entry, "parameters": {**_filled({**written, "cmd": ""}, keys), "cmd": command}}


def with_digests(entry: JsonObject, digests: Mapping[str, str]) -> JsonObject:
    """Return a ``copy_files`` task that copies files only with this content: SHA-256 by source. Others may change."""
    written = {name: value for name, value in entry["parameters"].items() if name != _DIGESTS}
    return {**entry, "parameters": {**written, **({_DIGESTS: dict(sorted(digests.items()))} if digests else {})}}


def has_key(text: str) -> bool:
    """Return whether a text has a ``{NAME}`` in it that ``filled`` may replace."""
    return KEY.search(text) is not None


def keys_in(entry: JsonObject) -> frozenset[str]:
    """Return every ``NAME`` in braces in the parameters of a task."""
    return frozenset(key for text in _texts(entry.get("parameters")) for key in KEY.findall(text))


def differs_by_node(entry: JsonObject) -> bool:
    """Return whether parameters of a task stand for values of each node: its name, an address, a value of the run."""
    return any(key == "NODE" or key.startswith(("ADDRESS.", "VALUES.")) for key in keys_in(entry))


def secrets_in(entry: JsonObject, known: Collection[str]) -> tuple[str, ...]:
    """Return the known secrets that the parameters of a task contain, sorted."""
    written = tuple(_texts(entry.get("parameters")))
    return tuple(sorted(secret for secret in known if any(secret in text for text in written)))


def remote_task(entry: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> RemoteTask:
    """Return what a task of the document runs on a node. Raises CommandError."""
    kind = _kind(entry)
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise CommandError("parameters is not an object")
    read = _Parameters(parameters)
    if kind is Kind.PUPPET:
        return _puppet(read, secrets)
    if kind is Kind.SHELL:
        return _task(read, _text(read, "cmd", limit=MOST_CONTENT), secrets, timeout=300, retries=2, interval=2)
    if kind is Kind.UPLOAD_FILE:
        return _task(read, None, secrets, files=(_file(read),), timeout=60, retries=3, interval=2)
    if kind is Kind.COPY_FILES:
        task = _task(read, None, secrets, timeout=60, retries=3, interval=2)
        return replace(task, copies=_copies(read))
    if kind is Kind.REBOOT:
        timeout = read.number("timeout", 900, LONGEST_TIMEOUT, least=1)
        return RemoteTask("reboot", timeout=timeout, secrets=secrets, reboots=True)
    return _task(read, _rsync(read), secrets, timeout=300, retries=10, interval=2)


def rehearsal(entry: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> RemoteTask:
    """Return the dry run of a task, which shows its changes on a node and makes none. Raises CommandError.

    Puppet and rsync compare the node with what they would make of it; for the others the output says what they would
    do.
    """
    task = replace(remote_task(entry, secrets=secrets), retries=0)
    if _kind(entry) is Kind.PUPPET and task.command is not None:
        return replace(task, command=task.command.replace("puppet apply", "puppet apply --noop", 1))
    if _kind(entry) in (Kind.RSYNC, Kind.SYNC):
        read = _Parameters(entry.get("parameters") or {})
        return replace(task, command=_rsync(read, rehearses=True))
    shown = [f"printf '%s\\n' {shlex.quote(line)}" for line in _does(task)]
    return replace(task, command="\n".join(shown), files=(), copies=(), cwd="/", reboots=False)


def check_command(
    entry: JsonObject, keys: Mapping[str, str] = MappingProxyType({}), *, of_site: bool = False
) -> tuple[Finding, ...]:
    """Return a finding if the task cannot run on a node with these values of ``{NAME}``.

    ``of_site``: values of single nodes are not among them, so a task that has such is only filled.
    """
    try:
        entry = filled(entry, keys)
        if not (of_site and differs_by_node(entry)):
            remote_task(entry)
    except CommandError as fault:
        path = f"/parameters/{fault.field}" if fault.field else "/type"
        return (error("TaskCannotRun", f"Task '{entry.get('id', '')}': {fault}.", path=path),)
    return ()


def _does(task: RemoteTask) -> Iterator[str]:
    """Return what a task would do, a line each."""
    for file in task.files:
        yield f"would write {file.path}: {len(file.content)} bytes, mode {file.mode:o}"
    for copy in task.copies:
        yield f"would write {copy.path} from {copy.source}, mode {copy.mode:o}"
    if task.reboots:
        yield "would restart the node"
    elif task.command is not None:
        yield f"would run in {task.cwd}:"
        yield task.command


class _Parameters(Struct, frozen=True):
    values: Mapping[str, Any]

    def number(self, name: str, default: int, most: int, least: int = 0) -> int:
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise CommandError(f"{name} is {_shown(value)}; write a whole number from {least} to {most}", name)
        return value

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if is_computed(value):
            raise CommandError(f"{name} is an expression, which Shipyard does not evaluate; write its value", name)
        if not isinstance(value, str):
            raise CommandError(f"{name} is {'missing' if value is None else 'not a text'}", name)
        return value

    def mode(self, name: str, default: int) -> int:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or _MODE.fullmatch(value) is None:
            raise CommandError(f'{name} is {_shown(value)}; write a text of octal digits, such as "0644"', name)
        return int(value, 8)


def _kind(entry: Mapping[str, Any]) -> Kind:
    written = entry.get("type")
    known = {kind.value: kind for kind in Kind if kind not in (Kind.STAGE, Kind.GROUP, Kind.SKIPPED)}
    if isinstance(written, str) and written in known:
        return known[written]
    raise CommandError(f"Shipyard cannot run tasks of type {_shown(written)}; it runs {', '.join(known)}")


def _task(
    read: _Parameters,
    command: str | None,
    secrets: tuple[str, ...],
    *,
    timeout: int,
    retries: int,
    interval: int,
    files: tuple[RemoteFile, ...] = (),
    succeeds_with: frozenset[int] = frozenset({0}),
) -> RemoteTask:
    cwd = _path(read, "cwd") if read.values.get("cwd") is not None else "/"
    return RemoteTask(
        command,
        files,
        cwd,
        succeeds_with,
        timeout=read.number("timeout", timeout, LONGEST_TIMEOUT, least=1),
        retries=read.number("retries", retries, MOST_RETRIES),
        interval=read.number("interval", interval, LONGEST_INTERVAL),
        secrets=secrets,
    )


def _puppet(read: _Parameters, secrets: tuple[str, ...]) -> RemoteTask:
    """Return ``puppet apply``. The seed also writes ``puppet_manifests`` (contract, 1.3)."""
    name = "puppet_manifests" if "puppet_manifest" not in read.values and "puppet_manifests" in read.values else ""
    words = ["puppet", "apply", "--detailed-exitcodes", f"--modulepath={_text(read, 'puppet_modules')}"]
    if read.values.get("debug") is True:
        words.append("--debug")
    command = shlex.join([*words, "--", _text(read, name or "puppet_manifest")])
    return _task(read, command, secrets, timeout=5400, retries=2, interval=2, succeeds_with=PUPPET_SUCCESS)


def _rsync(read: _Parameters, *, rehearses: bool = False) -> str:
    """Return what fetches ``src`` from the node, as Fuel does (contract, 1.3), or lists what it would change."""
    source, target = _text(read, "src"), shlex.quote(_path(read, "dst"))
    return (
        "command -v rsync >/dev/null || { echo 'rsync is not installed on this node' >&2; exit 127; }\n"
        + ("rsync -n -i" if rehearses else f"mkdir -p -- {target} && rsync")
        + f" -c -r --delete -l -- {shlex.quote(source)} {target}"
    )


def _file(read: _Parameters) -> RemoteFile:
    path = _file_path(read, "path")
    content = _encoded(read, "data")
    if len(content) > MOST_CONTENT:
        raise CommandError(f"data has {len(content)} bytes; at most {MOST_CONTENT} can be uploaded", "data")
    return RemoteFile(path, content, read.mode("permissions", 0o644), read.mode("dir_permissions", 0o755))


def _copies(read: _Parameters) -> tuple[CopiedFile, ...]:
    """Return the files of a ``copy_files`` task; modes of the task are those of its files that have none."""
    written = read.values.get("files")
    if not isinstance(written, Sequence) or isinstance(written, str) or not written:
        raise CommandError("files is not a list of files, each with src and dst", "files")
    if len(written) > MOST_FILES:
        raise CommandError(f"files has {len(written)} entries; at most {MOST_FILES} are possible", "files")
    return tuple(_copy(read, number, entry) for number, entry in enumerate(written))


def _copy(read: _Parameters, number: int, written: object) -> CopiedFile:
    if not isinstance(written, Mapping):
        raise CommandError(f"files[{number}] is not an object with src and dst", "files")
    shared = {name: read.values[name] for name in ("permissions", "dir_permissions") if name in read.values}
    parameters = _Parameters({**shared, **written})
    try:
        source, path = _path(parameters, "src", relative=True), _file_path(parameters, "dst")
        modes = parameters.mode("permissions", 0o644), parameters.mode("dir_permissions", 0o755)
        digests = read.values.get(_DIGESTS)
        return CopiedFile(source, path, *modes, digest=member(digests, source))
    except CommandError as fault:
        raise CommandError(f"files[{number}]: {fault}", f"files/{number}/{fault.field}") from None


def _file_path(read: _Parameters, name: str) -> str:
    path = _path(read, name)
    if path.endswith("/"):
        raise CommandError(f"{name} ends with '/'; write the path of a file", name)
    if len(path.rpartition("/")[2].encode()) > LONGEST_NAME:
        raise CommandError(f"{name} ends with a name of more than {LONGEST_NAME} bytes", name)
    return path


def _text(read: _Parameters, name: str, *, limit: int = LONGEST_PATH) -> str:
    """Return a text that may stand in a command."""
    text, size = read.text(name), len(_encoded(read, name))
    if not text.strip():
        raise CommandError(f"{name} is empty", name)
    if "\0" in text:
        raise CommandError(f"{name} has a NUL character in it", name)
    if size > limit:
        raise CommandError(f"{name} has {size} bytes; at most {limit} are possible", name)
    return text


def _encoded(read: _Parameters, name: str) -> bytes:
    try:
        return read.text(name).encode()
    except UnicodeEncodeError:
        raise CommandError(f"{name} is not valid Unicode", name) from None


def _path(read: _Parameters, name: str, *, relative: bool = False) -> str:
    path = _text(read, name)
    if not relative and not path.startswith("/"):
        raise CommandError(f"{name} is {_shown(path)}; write an absolute path", name)
    if ".." in path.split("/"):
        raise CommandError(f"{name} is {_shown(path)}; a path may not have '..' in it", name)
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        raise CommandError(f"{name} has a control character in it", name)
    return path


def _filled(value: Any, keys: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return KEY.sub(lambda match: keys.get(match[1], match[0]), value)
    if isinstance(value, list):
        return [_filled(item, keys) for item in value]
    return {name: _filled(item, keys) for name, item in value.items()} if isinstance(value, Mapping) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
