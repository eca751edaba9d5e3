"""What the supervisor's reports mean, and that nothing a node answers is an exception beside ReportError."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.adapters.ssh.report import HEADER, ReportError, parse, refusal, result
from shipyard_api.ports.remote_tasks import TAIL, RemoteResult, RemoteState, RemoteTask

CLAIMED = {"run": "supervisor b1 77 900", "attempt": "2 10.50 78 901"}
TASK = RemoteTask("x", timeout=60, succeeds_with=frozenset({0, 2}))


def answer(body: bytes = b"", before: bytes = b"", **lines: str) -> bytes:
    written = {"alive": "no", "boot": "b1", "now": "20.00", "run": "", "attempt": "", "end": "", **lines}
    written.setdefault("output", f"{len(body)} 0 {len(body)}")
    return before + HEADER + "".join(f"{name} {words}\n" for name, words in written.items()).encode() + b"\n" + body


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param({}, RemoteResult(RemoteState.UNKNOWN), id="unknown"),
        pytest.param(
            {"run": "stopped"}, RemoteResult(RemoteState.STOPPED, detail="it was stopped before it began"), id="stopped"
        ),
        pytest.param({**CLAIMED, "alive": "yes"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5), id="running"),
        pytest.param(
            {"run": CLAIMED["run"], "alive": "yes"}, RemoteResult(RemoteState.RUNNING), id="before-its-first-attempt"
        ),
        pytest.param(
            {**CLAIMED, "alive": "yes", "now": "370.50"}, RemoteResult(RemoteState.RUNNING, None, 2, 360.0), id="late"
        ),
        pytest.param(
            {**CLAIMED, "alive": "yes", "now": "371.50"},
            RemoteResult(
                RemoteState.TIMED_OUT,
                None,
                2,
                361.0,
                detail="it did not end in 60 s, and its supervisor on the node hangs",
            ),
            id="supervisor-hangs",
        ),
        pytest.param(
            {**CLAIMED, "end": "exit 2 2 10.50 12.75"}, RemoteResult(RemoteState.SUCCESS, 2, 2, 2.25), id="success"
        ),
        pytest.param(
            {**CLAIMED, "end": "exit 1 2 10.50 12.75", "alive": "yes"},
            RemoteResult(RemoteState.FAILED, 1, 2, 2.25, detail="exit status 1"),
            id="failed",
        ),
        pytest.param(
            {**CLAIMED, "end": "timed_out 143 1 10.50 70.50"},
            RemoteResult(RemoteState.TIMED_OUT, 143, 1, 60.0, detail="it did not end in 60 s, and was ended"),
            id="timed-out",
        ),
        pytest.param(
            {**CLAIMED, "end": "stopped - 1 10.50 11.50"},
            RemoteResult(RemoteState.STOPPED, None, 1, 1.0, detail="it was stopped"),
            id="stopped-at-work",
        ),
        pytest.param(
            {**CLAIMED, "boot": "b2"},
            RemoteResult(RemoteState.LOST, None, 2, detail="the node was restarted while it ran"),
            id="restarted",
        ),
        pytest.param(
            CLAIMED,
            RemoteResult(RemoteState.LOST, None, 2, detail="its supervisor on the node was killed while it ran"),
            id="killed",
        ),
        *(
            pytest.param(
                {**CLAIMED, "end": end},
                RemoteResult(RemoteState.LOST, detail="its record on the node cannot be read"),
                id=f"garbage-{number}",
            )
            for number, end in enumerate(
                ["exit", "exit x 1 1.0 2.0", "won 0 1 1.0 2.0", "exit - 1 1.0 2.0", "exit 0 1 1.0 2.0 3", "9" * 150]
            )
        ),
        pytest.param(
            {**CLAIMED, "alive": "yes", "attempt": "many x"}, RemoteResult(RemoteState.RUNNING), id="garbage-attempt"
        ),
    ],
)
def test_a_report_is_a_state(lines: dict[str, str], expected: RemoteResult) -> None:
    assert result(parse(answer(**lines)), TASK) == expected


RESTARTED = {**CLAIMED, "boot": "b2", "now": "5.00"}
REBOOT = RemoteTask("reboot", timeout=60, reboots=True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param({}, RemoteResult(RemoteState.UNKNOWN), id="not-claimed"),
        pytest.param({**CLAIMED, "alive": "yes"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5), id="command-runs"),
        pytest.param(
            {**CLAIMED, "end": "exit 0 1 10.50 10.75"}, RemoteResult(RemoteState.RUNNING, None, 2, 9.5), id="going-down"
        ),
        pytest.param(
            {**CLAIMED, "end": "stopped 143 1 10.50 10.75"},
            RemoteResult(RemoteState.RUNNING, None, 2, 9.5),
            id="told-to-end",
        ),
        pytest.param(CLAIMED, RemoteResult(RemoteState.RUNNING, None, 2, 9.5), id="killed-by-the-shutdown"),
        pytest.param(
            {**CLAIMED, "end": "exit 1 1 10.50 10.75"},
            RemoteResult(RemoteState.FAILED, 1, 1, 0.25, detail="exit status 1"),
            id="declined",
        ),
        pytest.param(
            {**CLAIMED, "now": "70.50", "end": "exit 0 1 10.50 10.75"},
            RemoteResult(RemoteState.TIMED_OUT, None, 2, 60.0, detail="the node was not restarted within 60 s"),
            id="never-restarted",
        ),
        pytest.param(RESTARTED, RemoteResult(RemoteState.SUCCESS, 0, 2), id="restarted"),
        pytest.param(
            {**RESTARTED, "end": "exit 0 1 10.50 10.75"},
            RemoteResult(RemoteState.SUCCESS, 0, 2),
            id="restarted-after-its-end",
        ),
        pytest.param(
            {"run": CLAIMED["run"], "boot": "b2"},
            RemoteResult(RemoteState.SUCCESS, 0, 1),
            id="restarted-before-the-command",
        ),
        pytest.param({"run": "x", "boot": "b2"}, RemoteResult(RemoteState.RUNNING), id="torn-claim"),
    ],
)
def test_a_reboot_is_done_when_the_node_has_another_boot(lines: dict[str, str], expected: RemoteResult) -> None:
    assert result(parse(answer(**lines)), REBOOT) == expected


def test_the_report_is_found_behind_what_a_login_prints() -> None:
    found = parse(answer(b"tail", b"Welcome to n1!\n\x1b[31mred\n", **CLAIMED, end="exit 0 1 1.0 2.0"))
    assert result(found, TASK).tail == "tail"


@pytest.mark.parametrize(
    ("given_answer", "message"),
    [
        pytest.param(b"", "does not answer as the supervisor does: nothing", id="nothing"),
        pytest.param(b"\x1b[31mThis account\nis not available.\n", "This account is not available.", id="no-shell"),
        pytest.param(HEADER, "does not answer as", id="header-alone"),
        pytest.param(HEADER + b"alive yes\n\n", "the node's report has no boot", id="half"),
        pytest.param(answer(output="1 2"), "has no sizes of the output", id="sizes"),
        pytest.param(answer(output="1 2 x"), "in the place of a number", id="size"),
        pytest.param(answer(output="1 2 " + "9" * 100), "in the place of a number", id="huge"),
        pytest.param(answer(run="x" * 5000), "does not answer as", id="long"),
    ],
)
def test_another_answer_is_refused_with_its_words(given_answer: bytes, message: str) -> None:
    with pytest.raises(ReportError) as caught:
        parse(given_answer)
    assert message in str(caught.value)


@given(
    st.dictionaries(st.sampled_from(["alive", "boot", "now", "run", "attempt", "end", "output"]), st.text()),
    st.binary(),
)
def test_no_answer_is_a_bug(lines: dict[str, Any], body: bytes) -> None:
    written = {name: words.encode("utf-8", "replace").decode() for name, words in lines.items()}
    try:
        found = result(parse(answer(body, **written)), TASK)
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


@pytest.mark.parametrize(
    ("status", "output", "errors", "expected"),
    [
        pytest.param(28, b"/tasks\n", b"head: write error\n", "no space left on n1:/tasks", id="full"),
        pytest.param(1, b"", b"cannot write to /tasks\n", "exit status 1: cannot write to /tasks", id="not writable"),
        pytest.param(28, b"", b"", "exit status 28: no message", id="of another program"),
    ],
)
def test_why_a_call_was_refused(status: int, output: bytes, errors: bytes, expected: str) -> None:
    assert refusal("n1", status, output, errors) == expected
