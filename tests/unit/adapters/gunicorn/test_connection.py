"""How a connection ends; what slow callers do to a server is in tests/integration/api/test_slow_callers.py."""

from types import SimpleNamespace
from typing import Any

from shipyard_api.adapters.gunicorn.connection import LINGER_SECONDS, BoundedConnection


class Transport:
    def __init__(self, *, gone: bool = False) -> None:
        self.calls: list[str] = []
        self._gone = gone

    def is_closing(self) -> bool:
        return False

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._gone:
            raise OSError(107, "Transport endpoint is not connected")
        self.calls.append("write_eof")

    def resume_reading(self) -> None:
        self.calls.append("resume_reading")

    def abort(self) -> None:
        self.calls.append("abort")


def connection(transport: Transport) -> tuple[Any, list[tuple[float, Any]]]:
    timers: list[tuple[float, Any]] = []
    loop = SimpleNamespace(call_later=lambda seconds, work: timers.append((seconds, work)))
    worker = SimpleNamespace(cfg=SimpleNamespace(), log=SimpleNamespace(), asgi=None, loop=loop)
    made = BoundedConnection(worker)
    made.transport = transport
    return made, timers


def test_a_caller_may_take_the_answer_before_the_connection_ends() -> None:
    transport = Transport()
    made, timers = connection(transport)

    made._close_transport()
    made._close_transport()

    assert transport.calls == ["write_eof", "resume_reading"]
    ((seconds, end),) = timers
    end()
    assert (seconds, transport.calls[-1]) == (LINGER_SECONDS, "abort")


def test_of_a_caller_who_has_gone_nothing_is_left() -> None:
    transport = Transport(gone=True)
    made, timers = connection(transport)

    made._close_transport()

    assert transport.calls == ["abort"]
    assert timers == []
