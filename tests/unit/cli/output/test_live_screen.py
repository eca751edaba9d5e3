"""A live view leaves the terminal as it was, however it ends."""

import io
import signal
from collections.abc import Iterator

import pytest
from rich.text import Text

from shipyard_api.cli.output.live_screen import live_screen
from tests.unit.tables import table


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Take SIGINT, which programs ignore that a shell has started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@table(
    ("ended_by", "raised"),
    {
        "SIGTERM": (signal.SIGTERM, SystemExit),
        "SIGINT": (signal.SIGINT, KeyboardInterrupt),
    },
)
def test_a_view_that_is_ended_gives_the_terminal_back_and_stays_in_full(
    ended_by: signal.Signals, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    before, stream = signal.getsignal(signal.SIGTERM), io.StringIO()

    def watch() -> None:
        with live_screen(stream) as show:
            show(lambda height: Text("all of it" if height is None else "what fits"))
            signal.raise_signal(ended_by)

    with pytest.raises(raised):
        watch()

    drawn, _, rest = stream.getvalue().partition("\x1b[?1049l")
    assert "what fits" in drawn
    assert "all of it" in rest
    assert [stream.getvalue().count(code) for code in ("\x1b[?1049h", "\x1b[?25l", "\x1b[?25h")] == [1, 1, 1]
    assert signal.getsignal(signal.SIGTERM) is before
