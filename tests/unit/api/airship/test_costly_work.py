"""Plans and forecasts of one caller hold up nobody: they run one at a time, and what they use is bounded."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import falcon
from falcon.testing import create_asgi_req

from shipyard_api.api.airship.costly_work import Bounds, CostlyWork
from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.http.limits import LEFT
from shipyard_api.api.http.second_process import Answered, Asked, SecondProcess, SecondProcessLost
from shipyard_api.domain.error_kinds import AskLater, ErrorKind
from shipyard_api.observing.request_context import within_site
from tests.refusals import refuses
from tests.unit.tables import every_row
from tests.waiting import PATIENCE, until

MANY = Bounds(pieces=100, burst=1000.0, share=1.0)


class Time:
    """A clock that only the test moves; work uses processor time by saying so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 0.0

    def use(self, seconds: float, lasting: float = 0.0) -> Callable[[], None]:
        def work() -> None:
            self.used += seconds
            self.now += lasting

        return work

    def gate(self, caller: Bounds = MANY, everyone: Bounds = MANY, seconds: Sequence[SecondProcess] = ()) -> CostlyWork:
        return CostlyWork(caller, everyone, seconds=seconds, clock=lambda: self.now, processor=lambda: self.used)


class Second:
    """A second process that gives one answer; ``has_left`` is what it could ask its parent."""

    def __init__(self, answer: Answered | Exception | None) -> None:
        self.answer = answer
        self.has_left: Callable[[], bool] | None = None

    def ask(self, _asked: Asked, has_left: Callable[[], bool]) -> Answered | None:
        assert not has_left()
        self.has_left = has_left
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def request(caller: str) -> Any:
    req = create_asgi_req()
    req.context.caller = SimpleNamespace(key=caller)
    return req


def test_callers_take_turns_and_have_one_piece_running_each() -> None:
    gate, release, ran = Time().gate(), threading.Event(), list[str]()
    running: set[str] = set()

    def piece(caller: str, number: int) -> Callable[[], None]:
        def work() -> None:
            assert caller not in running
            running.add(caller)
            release.wait(PATIENCE)
            ran.append(f"{caller}{number}")
            running.remove(caller)

        return work

    begun = [gate.start(caller, piece(caller, number)) for caller in "abc" for number in range(3)]
    release.set()
    for one in begun:
        one.result(PATIENCE)

    for caller in "abc":
        assert [one for one in ran if one[0] == caller] == [f"{caller}{number}" for number in range(3)]
    assert {one[0] for one in ran[:3]} == {"a", "b", "c"} or ran.index("c0") < ran.index("a2")


def test_a_caller_has_one_piece_running_also_after_one_has_given_its_turn_to_the_next() -> None:
    gate, release, begun = Time().gate(), [threading.Event() for _ in range(3)], list[int]()

    def piece(number: int) -> Callable[[], None]:
        def work() -> None:
            begun.append(number)
            release[number].wait(PATIENCE)

        return work

    first, second = (gate.start("a", piece(number)) for number in range(2))
    release[0].set()
    first.result(PATIENCE)
    until(lambda: begun == [0, 1])
    third = gate.start("a", piece(2))
    other = gate.start("b", lambda: None)  # there is room for another caller, and for no third piece
    until(lambda: other.done() or 2 in begun)
    together = list(begun)
    for one in release:
        one.set()
    for running in (second, third):
        running.result(PATIENCE)
    assert (together, begun) == ([0, 1], [0, 1, 2])


def test_a_caller_with_too_many_pieces_is_refused_and_others_are_not() -> None:
    gate, release = Time().gate(Bounds(pieces=2, burst=10.0, share=0.5)), threading.Event()
    begun = [gate.start("ann", lambda: bool(release.wait(PATIENCE)) and None) for _ in range(2)]

    with refuses(TooMuchWork) as caught:
        gate.start("ann", lambda: None)
    assert caught.value.seconds == 1
    gate.start("bob", lambda: None).result(PATIENCE)
    release.set()
    for one in begun:
        one.result(PATIENCE)
    gate.start("ann", lambda: None).result(PATIENCE)


@every_row(
    {
        "a caller": (Bounds(9, 10.0, 0.5), MANY, "ann", TooMuchWork),
        "all together": (MANY, Bounds(9, 10.0, 0.5), "bob", ServiceBusy),
    },
)
def test_processor_time_that_was_used_grows_back(
    caller: Bounds, everyone: Bounds, second: str, refusal: ErrorKind[[float], AskLater]
) -> None:
    time = Time()
    gate = time.gate(caller, everyone)
    gate.start("ann", time.use(13.0, lasting=20.0)).result(PATIENCE)

    for passed, pause in ((0.0, 6.0), (1.0, 5.0), (5.0, 0.0)):
        time.now += passed
        with refuses(refusal) as caught:
            gate.start(second, time.use(1.0))
        assert caught.value.data["pause"] == pause
        with refuses(refusal):
            gate.admit(request(second))

    time.now += 0.1
    gate.start(second, time.use(1.0)).result(PATIENCE)
    assert time.used == 14.0


def test_a_site_that_has_used_its_share_takes_nothing_from_others() -> None:
    """Nor does one whose callers hold all of its turns."""
    time, release = Time(), threading.Event()
    gate = time.gate(MANY, Bounds(4, 20.0, 0.5))
    with within_site("berlin"):
        gate.start("ann", time.use(25.0)).result(PATIENCE)
        with refuses(ServiceBusy) as caught:
            gate.start("bob", time.use(1.0))
    assert caught.value.seconds == 60
    with within_site("oslo"):
        gate.start("ann", time.use(1.0)).result(PATIENCE)

    with within_site("rome"):
        held = [gate.start(caller, lambda: bool(release.wait(PATIENCE)) and None) for caller in ("ann", "bob")]
        with refuses(ServiceBusy):
            gate.start("cid", lambda: None)
    with within_site("riga"):
        gate.start("ann", lambda: None).result(PATIENCE)
    assert not held[1].running()
    release.set()
    for one in held:
        one.result(PATIENCE)


def test_a_site_has_no_more_turns_after_a_caller_has_given_one_to_their_next_piece() -> None:
    gate, queued, release, begun = Time().gate(), threading.Event(), threading.Event(), threading.Event()

    def second() -> None:
        begun.set()
        release.wait(PATIENCE)

    with within_site("berlin"):
        pieces = [gate.start("ann", begin) for begin in (lambda: bool(queued.wait(PATIENCE)) and None, second)]
        queued.set()
        assert begun.wait(PATIENCE)
        running = gate._sites["berlin"].running
        release.set()
        for piece in pieces:
            piece.result(PATIENCE)
        assert (running, gate._sites["berlin"].running) == (1, 0)


def test_whoever_uses_much_is_answered_elsewhere_and_their_neighbours_are_not() -> None:
    time, ran = Time(), list[str]()
    gate = CostlyWork(MANY, MANY, seconds=[SecondProcess([])], clock=lambda: time.now, processor=lambda: time.used)

    def start(name: str, caller: str) -> None:
        with within_site(name):
            gate.start(caller, time.use(1.0), lambda: ran.append(f"{name} {caller}")).result(PATIENCE)

    for name, caller in (("berlin", "ann"), ("berlin", "ann"), ("berlin", "bob"), ("oslo", "ann")):
        start(name, caller)
    assert ran == ["berlin ann", "berlin bob"]


def test_when_all_have_used_much_only_sites_that_have_are_refused() -> None:
    time = Time()
    gate = time.gate(MANY, Bounds(4, 20.0, 0.5))
    for name in ("berlin", "oslo", "rome"):
        with within_site(name):
            gate.start("ann", time.use(9.0)).result(PATIENCE)

    with within_site("rome"), refuses(ServiceBusy) as caught:
        gate.start("bob", time.use(1.0))
    assert caught.value.data["pause"] == 14.0
    with within_site("riga"):
        gate.start("bob", time.use(1.0)).result(PATIENCE)


def test_a_caller_is_forgotten_once_almost_all_that_was_used_has_grown_back() -> None:
    time = Time()
    gate = time.gate()
    gate.start("ann", time.use(0.1)).result(PATIENCE)
    gate.start("bob", time.use(0.0)).result(PATIENCE)
    assert list(gate._callers) == [("", "ann"), ("", "bob")]

    time.now += 0.01
    gate.start("cid", time.use(0.0)).result(PATIENCE)
    assert list(gate._callers) == [("", "cid")]


@every_row({"a little": (0.3, ["here", "here"]), "more": (0.31, ["here", "there"])})
def test_a_little_is_no_reason_for_a_second_process(used: float, places: list[str]) -> None:
    time, ran = Time(), list[str]()
    gate = time.gate(seconds=[SecondProcess([])])

    def here() -> None:
        ran.append("here")
        time.used += used

    for _ in range(2):
        gate.start("ann", here, lambda: ran.append("there")).result(PATIENCE)
    assert ran == places


THERE = Answered(200, [(b"etag", b'"1"')], b"there", 12.0)


@every_row(
    {
        "it answers": (THERE, False, b"there", 6.0),
        "it is starting": (None, False, b"here", None),
        "it is lost": (SecondProcessLost(), False, ServiceBusy, None),
        "the caller left while it waited": (THERE, True, ServiceBusy, None),
    }
)
def test_a_caller_who_has_used_much_is_answered_by_the_second_process(
    answer: Answered | Exception | None, has_left: bool, body: Any, pause: float | None
) -> None:
    """What it used there counts; and it does not go on for somebody who has gone."""
    time, second = Time(), Second(answer)
    gate = time.gate(Bounds(9, 10.0, 0.5), MANY, [cast(Any, second)])
    gate.start("ann", time.use(1.0)).result(PATIENCE)

    for _ in range(1 if pause else 2):  # the process is there for the next request, too
        req, resp = request("ann"), falcon.Response()
        req.scope["extensions"] = {LEFT: lambda: has_left}
        answering = gate.answer(req, resp, lambda resp=resp: setattr(resp, "data", b"here"))
        if isinstance(body, bytes):
            asyncio.run(answering)
            assert resp.data == body
        else:
            with refuses(body) as caught:
                asyncio.run(answering)
            assert caught.value.data["pause"] == 1.0
        assert has_left or (second.has_left and second.has_left())
    if pause:
        with refuses(TooMuchWork) as caught:
            gate.admit(request("ann"))
        assert caught.value.data["pause"] == pause


def test_a_second_process_that_is_lost_has_used_all_the_time_until_then() -> None:
    time = Time()
    gate = time.gate(Bounds(9, 10.0, 0.5), MANY, [SecondProcess([])])

    def fails() -> None:
        time.now += 40.0
        raise SecondProcessLost

    gate.start("ann", fails).exception(PATIENCE)
    gate.start("ann", time.use(1.0)).result(PATIENCE)  # a failure here has used what it says
    gate.start("ann", time.use(0.0), fails).exception(PATIENCE)
    with refuses(TooMuchWork) as caught:
        gate.admit(request("ann"))
    assert caught.value.data["pause"] == 60.0


def test_work_whose_caller_has_left_does_not_run() -> None:
    gate, release, ran = Time().gate(), threading.Event(), list[str]()
    first = gate.start("ann", lambda: bool(release.wait(PATIENCE)) and None)
    left = gate.start("ann", lambda: ran.append("left"))
    last = gate.start("ann", lambda: ran.append("last"))

    assert left.cancel()
    release.set()
    first.result(PATIENCE)
    last.result(PATIENCE)

    assert ran == ["last"]
