"""Plans and forecasts of one caller hold up nobody: they run one at a time, and what they use is bounded."""

import threading
from collections.abc import Callable

from shipyard_api.api.airship.costly_work import Bounds, CostlyWork
from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.http.second_process import SecondProcess
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

    def use(self, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.used += seconds

        return work

    def gate(self, caller: Bounds = MANY, everyone: Bounds = MANY) -> CostlyWork:
        return CostlyWork(caller, everyone, clock=lambda: self.now, processor=lambda: self.used)


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
    gate.start("ann", time.use(13.0)).result(PATIENCE)

    with refuses(refusal) as caught:
        gate.start(second, time.use(1.0))
    assert caught.value.seconds == 6

    time.now += 6.1
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


def test_whoever_uses_much_is_answered_elsewhere_and_their_neighbours_are_not() -> None:
    time, ran = Time(), list[str]()
    gate = CostlyWork(MANY, MANY, seconds=[SecondProcess([])], clock=lambda: time.now, processor=lambda: time.used)

    def start(name: str, caller: str) -> None:
        with within_site(name):
            gate.start(caller, time.use(1.0), lambda: ran.append(f"{name} {caller}")).result(PATIENCE)

    for name, caller in (("berlin", "ann"), ("berlin", "ann"), ("berlin", "bob"), ("oslo", "ann")):
        start(name, caller)
    assert ran == ["berlin ann", "berlin bob"]


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
