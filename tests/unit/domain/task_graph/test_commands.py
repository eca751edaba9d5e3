"""Commands of tasks (contract: fuel-task-graph, 1.3 and 4.3): a table for each type, and one of what is refused."""

import subprocess
from typing import Any

import pytest

from shipyard_api.domain.task_graph.commands import (
    LONGEST_NAME,
    LONGEST_PATH,
    MOST_CONTENT,
    CommandError,
    CopiedFile,
    RemoteFile,
    RemoteTask,
    check_command,
    differs_by_node,
    filled,
    rehearsal,
    remote_task,
    secrets_in,
)
from tests.unit.tables import every_row

PUPPET = {"puppet_manifest": "/etc/m.pp", "puppet_modules": "/etc/modules"}
RSYNC_MISSING = "command -v rsync >/dev/null || { echo 'rsync is not installed on this node' >&2; exit 127; }\n"


def task(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"id": "t", "type": kind, "parameters": parameters}


@every_row(
    {
        "shell": (
            task(
                "shell", cmd="echo {CLUSTER_ID} ${CLUSTER_ID} {unknown}", timeout=9, retries=0, interval=1, cwd="/tmp"
            ),
            RemoteTask("echo 7 ${CLUSTER_ID} {unknown}", cwd="/tmp", timeout=9, interval=1),
        ),
        "shell-value": (
            task("shell", cmd="echo '{MORE}' {MORE}"),
            RemoteTask("echo '; reboot' '; reboot'", timeout=300, retries=2, interval=2),
        ),
        "upload-value": (
            task("upload_file", path="/a", data="x={MORE}"),
            RemoteTask(None, (RemoteFile("/a", b"x=; reboot"),), timeout=60, retries=3, interval=2),
        ),
        "shell-defaults": (task("shell", cmd="true"), RemoteTask("true", timeout=300, retries=2, interval=2)),
        "puppet": (
            task("puppet", **PUPPET, timeout=60),
            RemoteTask(
                "puppet apply --detailed-exitcodes --modulepath=/etc/modules -- /etc/m.pp",
                succeeds_with=frozenset({0, 2}),
                timeout=60,
                retries=2,
                interval=2,
            ),
        ),
        "puppet-quoted": (
            task("puppet", puppet_manifests="a b.pp", puppet_modules="/m;reboot", debug=True, cwd="/x"),
            RemoteTask(
                "puppet apply --detailed-exitcodes '--modulepath=/m;reboot' --debug -- 'a b.pp'",
                cwd="/x",
                succeeds_with=frozenset({0, 2}),
                timeout=5400,
                retries=2,
                interval=2,
            ),
        ),
        "upload": (
            task("upload_file", path="/etc/a b", data="ä\n", permissions="0600", dir_permissions="700"),
            RemoteTask(
                None, (RemoteFile("/etc/a b", "ä\n".encode(), 0o600, 0o700),), timeout=60, retries=3, interval=2
            ),
        ),
        **{
            kind: (
                task(kind, src="rsync://10.0.0.1:/puppet/{CLUSTER_ID}/", dst="/etc/it's"),
                RemoteTask(
                    f"{RSYNC_MISSING}mkdir -p -- '/etc/it'\"'\"'s' && rsync -c -r --delete -l -- "
                    "rsync://10.0.0.1:/puppet/7/ '/etc/it'\"'\"'s'",
                    timeout=300,
                    retries=10,
                    interval=2,
                ),
            )
            for kind in ("rsync", "sync")
        },
        "copy_files": (
            task(
                "copy_files",
                files=[
                    {"src": "keys/{CLUSTER_ID}/a", "dst": "/etc/a"},
                    {"src": "/b", "dst": "/b", "permissions": "0644"},
                ],
                permissions="0600",
                dir_permissions="0700",
            ),
            RemoteTask(
                None,
                timeout=60,
                retries=3,
                interval=2,
                copies=(CopiedFile("keys/7/a", "/etc/a", 0o600, 0o700), CopiedFile("/b", "/b", 0o644, 0o700)),
            ),
        ),
        "copy_files-defaults": (
            task("copy_files", files=[{"src": "a", "dst": "/a"}]),
            RemoteTask(None, timeout=60, retries=3, interval=2, copies=(CopiedFile("a", "/a"),)),
        ),
        "reboot-once": (task("reboot"), RemoteTask("reboot", timeout=900, retries=0, interval=0, reboots=True)),
        "reboot": ({"id": "t", "type": "reboot"}, RemoteTask("reboot", timeout=900, reboots=True)),
        "reboot-timeout": (task("reboot", timeout=1), RemoteTask("reboot", timeout=1, reboots=True)),
    },
)
def test_a_task_becomes_what_its_type_says(entry: dict[str, Any], expected: RemoteTask) -> None:
    assert remote_task(filled(entry, {"CLUSTER_ID": "7", "MORE": "; reboot"})) == expected
    assert check_command(entry) == ()


@every_row(
    {
        "reboot-timeout": (task("reboot", timeout=0), "timeout is 0", "/parameters/timeout"),
        "copy-none": (task("copy_files", files=[]), "files is not a list", "/parameters/files"),
        "copy-no-files": (task("copy_files"), "files is not a list", "/parameters/files"),
        **{
            words: (task("copy_files", files=[{"src": "a", "dst": "/a"}, file]), words, f"/parameters/{at}")
            for file, words, at in (
                ({"dst": "/a"}, "files[1]: src is missing", "files/1/src"),
                ({"src": "../a", "dst": "/a"}, "files[1]: src is '../a'", "files/1/src"),
                ({"src": "/a/../../b", "dst": "/a"}, "files[1]: src is '/a/../../b'", "files/1/src"),
                ({"src": "a\n", "dst": "/a"}, "files[1]: src has a control character", "files/1/src"),
                ({"src": "a", "dst": "a"}, "files[1]: dst is 'a'; write an absolute path", "files/1/dst"),
                ({"src": "a", "dst": "/a/../b"}, "files[1]: dst is '/a/../b'", "files/1/dst"),
                ({"src": "a", "dst": "/a/"}, "files[1]: dst ends with '/'", "files/1/dst"),
                ({"src": "a", "dst": "/a", "permissions": 644}, "files[1]: permissions is 644", "files/1/permissions"),
            )
        },
        "many": (
            task("copy_files", files=[{"src": "a", "dst": "/a"}] * 51),
            "files has 51 entries",
            "/parameters/files",
        ),
        "type-shown": ({"id": "t", "type": "x" * 98}, f"tasks of type '{'x' * 98}'; it runs", "/type"),
        "type-cut": ({"id": "t", "type": "x" * 99}, f"tasks of type '{'x' * 99}…; it runs", "/type"),
        "type-object": ({"id": "t", "type": {}}, "cannot run tasks of type {}", "/type"),
        "parameters": ({"id": "t", "type": "shell", "parameters": "a"}, "parameters is not an object", None),
        "no-parameters": ({"id": "t", "type": "shell"}, "cmd is missing", "/parameters/cmd"),
        "cmd-empty": (task("shell", cmd=" \n"), "cmd is empty", "/parameters/cmd"),
        "copy-item": (task("copy_files", files=["a"]), "files[0] is not an object", "/parameters/files"),
        "cmd-surrogate": (task("shell", cmd="\ud800"), "cmd is not valid Unicode", "/parameters/cmd"),
        "cmd-nul": (task("shell", cmd="a\0b"), "cmd has a NUL", "/parameters/cmd"),
        "cmd": (task("shell", cmd="x" * (MOST_CONTENT + 1)), "cmd has 1048577 bytes", "/parameters/cmd"),
        "computed": (task("shell", cmd={"yaql_exp": "$"}), "is an expression", "/parameters/cmd"),
        "timeout-0": (task("shell", cmd="a", timeout=0), "timeout is 0", "/parameters/timeout"),
        "timeout": (task("shell", cmd="a", timeout=10**9), "from 1 to 604800", "/parameters/timeout"),
        "cwd": (task("shell", cmd="a", cwd="tmp"), "write an absolute path", "/parameters/cwd"),
        "puppet-modules": (task("puppet", puppet_manifest="a"), "puppet_modules is missing", None),
        "sync-src": (task("sync", dst="/a"), "src is missing", "/parameters/src"),
        "no-path": (task("upload_file", data=""), "path is missing", "/parameters/path"),
        "no-data": (task("upload_file", path="/a"), "data is missing", "/parameters/data"),
        "path-up": (task("upload_file", path="/a/../b", data=""), "'..'", "/parameters/path"),
        "path-slash": (task("upload_file", path="/a/", data=""), "ends with '/'", "/parameters/path"),
        "name": (task("upload_file", path="/" + "a" * 250, data=""), "239 bytes", "/parameters/path"),
        "large": (task("upload_file", path="/a", data="x" * (MOST_CONTENT + 1)), "at most", "/parameters/data"),
        **{
            f"mode-{mode}": (task("upload_file", path="/a", data="", permissions=mode), "octal digits", None)
            for mode in (644, "0999", "u+x", "", "10644")
        },
    },
)
def test_what_cannot_run_is_refused_with_its_place(entry: dict[str, Any], message: str, path: str | None) -> None:
    with pytest.raises(CommandError) as caught:
        remote_task(entry)
    assert message in str(caught.value)
    (finding,) = check_command(entry)
    assert message in finding.message
    assert path is None or finding.path == path


@every_row(
    [
        task("shell", cmd="x" * MOST_CONTENT),
        task("upload_file", path="/" + "a" * LONGEST_NAME, data="x" * MOST_CONTENT),
        task("upload_file", path="/a" * (LONGEST_PATH // 2), data=""),
        task("shell", cmd="a", timeout=604_800),
    ]
)
def test_what_has_just_the_size_that_is_possible_can_run(entry: dict[str, Any]) -> None:
    assert check_command(entry) == ()


def test_secrets_are_found_anywhere_in_the_parameters() -> None:
    entry = task("shell", cmd="echo hunter2", env=[{"key": "a swordfish b"}], timeout=5)
    assert secrets_in(entry, {"hunter2", "swordfish", "timeout", "shell"}) == ("hunter2", "swordfish")
    assert secrets_in({"id": "hunter2", "type": "reboot"}, {"hunter2"}) == ()


def test_no_value_leaves_its_quotes() -> None:
    hostile = "'; echo broken; $(echo broken) `echo broken` \"\n--x"
    command = remote_task(task("puppet", puppet_manifest=hostile, puppet_modules=hostile)).command
    done = subprocess.run(
        ["sh", "-c", f"puppet() {{ printf '%s|' \"$@\"; }}\n{command}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"apply|--detailed-exitcodes|--modulepath={hostile}|--|{hostile}|"


@every_row(
    {
        "shell": (task("shell", cmd="rm -rf '/x'; echo $HOME 100%"), "would run in /:\nrm -rf '/x'; echo $HOME 100%\n"),
        "upload": (task("upload_file", path="/etc/it's", data="abc"), "would write /etc/it's: 3 bytes, mode 644\n"),
        "copy": (
            task("copy_files", files=[{"src": "a", "dst": "/etc/a", "permissions": "0600"}]),
            "would write /etc/a from a, mode 600\n",
        ),
        "reboot": (task("reboot"), "would restart the node\n"),
    },
)
def test_a_rehearsal_shows_what_a_task_would_do_and_does_nothing(entry: dict[str, Any], shows: str) -> None:
    made = rehearsal(entry, secrets=("s",))

    assert (made.files, made.copies, made.reboots, made.retries, made.secrets) == ((), (), False, 0, ("s",))
    assert made.command is not None
    done = subprocess.run(["sh", "-c", made.command], capture_output=True, text=True, check=True)
    assert done.stdout == shows


def test_a_rehearsal_of_puppet_and_rsync_compares_with_the_node() -> None:
    puppet, rsync = rehearsal(task("puppet", **PUPPET)), rehearsal(task("rsync", src="/a", dst="/b c"))

    assert puppet.command == "puppet apply --noop --detailed-exitcodes --modulepath=/etc/modules -- /etc/m.pp"
    assert rsync.command == f"{RSYNC_MISSING}rsync -n -i -c -r --delete -l -- /a '/b c'"


@every_row(
    [("a", False), ("a {NODE}", True), ("a {ADDRESS.n1}", True), ("a {VALUES.x}", True), ("a {SETTINGS.x}", False)],
)
def test_a_command_differs_by_node_if_it_names_what_nodes_have_of_their_own(cmd: str, differs: bool) -> None:
    assert differs_by_node({"id": "a", "type": "shell", "parameters": {"cmd": cmd}}) is differs
