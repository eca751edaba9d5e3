"""What the supervisor's reports mean, and that nothing a node answers is an exception beside ReportError."""

import random

import pytest

from shipyard_api.adapters.ssh.supervisor import HEADER, ReportError, parse, refusal, result
from shipyard_api.ports.remote_tasks import TAIL, RemoteResult, RemoteState, RemoteTask
from tests.unit.tables import every_row

CLAIMED = {"run": "supervisor b1 77 900", "attempt": "2 10.50 78 901"}
TASK = RemoteTask("x", timeout=60, succeeds_with=frozenset({0, 2}))


def answer(body: bytes = b"", before: bytes = b"", **lines: str) -> bytes:
    written = {"alive": "no", "boot": "b1", "now": "20.00", "run": "", "attempt": "", "end": "", **lines}
    written.setdefault("output", f"{len(body)} 0 {len(body)}")
    return before + HEADER + "".join(f"{name} {words}\n" for name, words in written.items()).encode() + b"\n" + body


@every_row(
    {
        "unknown": ({}, RemoteResult(RemoteState.UNKNOWN)),
        "stopped": ({"run": "stopped"}, RemoteResult(RemoteState.STOPPED, detail="it was stopped before it began")),
        "running": ({**CLAIMED, "alive": "yes"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5)),
        "just begun": ({**CLAIMED, "alive": "yes", "now": "10.75"}, RemoteResult(RemoteState.RUNNING, None, 2, 0.25)),
        "before-its-first-attempt": ({"run": CLAIMED["run"], "alive": "yes"}, RemoteResult(RemoteState.RUNNING)),
        "late": ({**CLAIMED, "alive": "yes", "now": "370.50"}, RemoteResult(RemoteState.RUNNING, None, 2, 360.0)),
        "supervisor-hangs": (
            {**CLAIMED, "alive": "yes", "now": "371.50"},
            RemoteResult(
                RemoteState.TIMED_OUT,
                None,
                2,
                361.0,
                detail="it did not end in 60 s, and its supervisor on the node hangs",
            ),
        ),
        "success": ({**CLAIMED, "end": "exit 2 2 10.50 12.75"}, RemoteResult(RemoteState.SUCCESS, 2, 2, 2.25)),
        "failed": (
            {**CLAIMED, "end": "exit 1 2 10.50 12.75", "alive": "yes"},
            RemoteResult(RemoteState.FAILED, 1, 2, 2.25, detail="exit status 1"),
        ),
        "timed-out": (
            {**CLAIMED, "end": "timed_out 143 1 10.50 70.50"},
            RemoteResult(RemoteState.TIMED_OUT, 143, 1, 60.0, detail="it did not end in 60 s, and was ended"),
        ),
        "stopped-at-work": (
            {**CLAIMED, "end": "stopped - 1 10.50 11.50"},
            RemoteResult(RemoteState.STOPPED, None, 1, 1.0, detail="it was stopped"),
        ),
        "restarted": (
            {**CLAIMED, "boot": "b2"},
            RemoteResult(RemoteState.LOST, None, 2, detail="the node was restarted while it ran"),
        ),
        "killed": (
            CLAIMED,
            RemoteResult(RemoteState.LOST, None, 2, detail="its supervisor on the node was killed while it ran"),
        ),
        **{
            f"garbage-{number}": (
                {**CLAIMED, "end": end},
                RemoteResult(RemoteState.LOST, detail="its record on the node cannot be read"),
            )
            for number, end in enumerate(
                ["exit", "exit x 1 1.0 2.0", "won 0 1 1.0 2.0", "exit - 1 1.0 2.0", "exit 0 1 1.0 2.0 3", "9" * 150]
            )
        },
        "garbage-attempt": ({**CLAIMED, "alive": "yes", "attempt": "many x"}, RemoteResult(RemoteState.RUNNING)),
    },
)
def test_a_report_is_a_state(lines: dict[str, str], expected: RemoteResult) -> None:
    assert result(parse(answer(**lines)), TASK) == expected


RESTARTED = {**CLAIMED, "boot": "b2", "now": "5.00"}
REBOOT = RemoteTask("reboot", timeout=60, reboots=True)


@every_row(
    {
        "not-claimed": ({}, RemoteResult(RemoteState.UNKNOWN)),
        "command-runs": ({**CLAIMED, "alive": "yes"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5)),
        "going-down": ({**CLAIMED, "end": "exit 0 1 10.50 10.75"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5)),
        "told-to-end": (
            {**CLAIMED, "end": "stopped 143 1 10.50 10.75"},
            RemoteResult(RemoteState.RUNNING, None, 2, 9.5),
        ),
        "killed-by-the-shutdown": (CLAIMED, RemoteResult(RemoteState.RUNNING, None, 2, 9.5)),
        "declined": (
            {**CLAIMED, "end": "exit 1 1 10.50 10.75"},
            RemoteResult(RemoteState.FAILED, 1, 1, 0.25, detail="exit status 1"),
        ),
        "declined, without more": (
            {**CLAIMED, "end": "exit 127"},
            RemoteResult(RemoteState.LOST, detail="its record on the node cannot be read"),
        ),
        "ended by a signal": (
            {**CLAIMED, "end": "exit 128 1 10.50 10.75"},
            RemoteResult(RemoteState.RUNNING, None, 2, 9.5),
        ),
        "never-restarted": (
            {**CLAIMED, "now": "70.50", "end": "exit 0 1 10.50 10.75"},
            RemoteResult(RemoteState.TIMED_OUT, None, 2, 60.0, detail="the node was not restarted within 60 s"),
        ),
        "restarted": (RESTARTED, RemoteResult(RemoteState.SUCCESS, 0, 2)),
        "restarted-after-its-end": (
            {**RESTARTED, "end": "exit 0 1 10.50 10.75"},
            RemoteResult(RemoteState.SUCCESS, 0, 2),
        ),
        "restarted-before-the-command": (
            {"run": CLAIMED["run"], "boot": "b2"},
            RemoteResult(RemoteState.SUCCESS, 0, 1),
        ),
        "torn-claim": ({"run": "x", "boot": "b2"}, RemoteResult(RemoteState.RUNNING)),
    },
)
def test_a_reboot_is_done_when_the_node_has_another_boot(lines: dict[str, str], expected: RemoteResult) -> None:
    assert result(parse(answer(**lines)), REBOOT) == expected


def test_the_report_is_found_behind_what_a_login_prints() -> None:
    found = parse(answer(b"tail", b"Welcome to n1!\n\x1b[31mred\n", **CLAIMED, end="exit 0 1 1.0 2.0"))
    assert result(found, TASK).tail == "tail"


@every_row(
    {
        "nothing": (b"", "does not answer as the supervisor does: nothing"),
        "no-shell": (b"\x1b[31mThis account\nis not available.\n", "This account is not available."),
        "header-alone": (HEADER, "does not answer as"),
        "half": (HEADER + b"alive yes\n\n", "the node's report has no boot"),
        "sizes": (answer(output="1 2"), "has no sizes of the output"),
        "size": (answer(output="1 2 x"), "in the place of a number"),
        "huge": (answer(output="1 2 " + "9" * 100), "in the place of a number"),
        "long": (answer(run="x" * 5000), "does not answer as"),
    },
)
def test_another_answer_is_refused_with_its_words(given_answer: bytes, message: str) -> None:
    with pytest.raises(ReportError) as caught:
        parse(given_answer)
    assert message in str(caught.value)


LINES = {
    "alive": ("yes", "no", "", "maybe\x00"),
    "boot": ("b1", "b2", ""),
    "now": ("20.00", "soon", "9" * 100, "-1", "nan", "inf"),
    "run": (CLAIMED["run"], "stopped", "supervisor", "supervisor b1 x y", "\ufffd", ""),
    "attempt": (CLAIMED["attempt"], "2", "2 x 78 901", "-1 1 1 1", "nan nan nan nan", ""),
    "end": ("exit 2 2 10.50 12.75", "exit - 1 1 1", "timed_out 143 1 x 1", "won", "exit 0 1 nan inf", "\n"),
    "output": ("4 0 4", "-1 0 4", "4 9 4", "0 0 0", "1 2", "9e9 0 4"),
}


@every_row(range(400))
def test_no_answer_is_a_bug(seed: int) -> None:
    chance = random.Random(seed)
    written = {name: chance.choice(words) for name, words in LINES.items() if chance.random() < 0.8}
    try:
        found = result(parse(answer(chance.randbytes(chance.randrange(20)), **written)), TASK)
    except ReportError:
        return
    assert len(found.tail) <= TAIL


def test_the_tail_has_a_limit_and_no_part_of_a_secret() -> None:
    task = RemoteTask("x", secrets=("hunter2-and-more",))
    body = b"and-more " + b"x" * 9000 + b" hunter2-and-more y hunter2-a"
    lines = {**CLAIMED, "output": f"{len(body) + 8} 0 {len(body) + 8}"}
    running = result(parse(answer(body, **lines, alive="yes")), task)
    assert len(running.tail) == TAIL
    assert running.tail.endswith("x *** y ***")  # more may follow
    short = result(parse(answer(b"and-more ok" + b"." * 20, **{**lines, "output": "999 0 999"}, alive="yes")), task)
    assert "more" not in short.tail
    ended = result(parse(answer(b"and-more x hunter2-a", **CLAIMED)), task)
    assert ended.tail == "and-more x hunter2-a"  # all of an output that has ended


@every_row(
    {
        "full": (28, b"/tasks\n", b"head: write error\n", "no space left on n1:/tasks"),
        "not writable": (1, b"", b"cannot write to /tasks\n", "exit status 1: cannot write to /tasks"),
        "of another program": (28, b"", b"", "exit status 28: no message"),
    },
)
def test_why_a_call_was_refused(status: int, output: bytes, errors: bytes, expected: str) -> None:
    assert refusal("n1", status, output, errors) == expected


def test_what_is_kept_on_a_node_is_the_beginning_and_the_end() -> None:
    report = parse(answer(b"abc", output="3 4 90"))
    assert (report.first, report.last, report.total, report.kept) == (3, 4, 90, 7)
