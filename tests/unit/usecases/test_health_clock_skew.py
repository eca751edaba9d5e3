"""The clocks of others are read in the background, and not for every health check."""

from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.health import Answered, ClockSkew, clock_wording
from tests.waiting import until


def test_clocks_are_read_once_in_a_while() -> None:
    asked: list[str] = []

    def read(name: str, ahead: float | None) -> float | None:
        asked.append(name)
        return ahead

    skew = ClockSkew({"database": lambda: read("database", 0.04), "Drydock": lambda: read("Drydock", None)})
    assert skew.measure() == {"database": 0.04, "Drydock": None}
    asked.clear()

    skew.latest()
    until(lambda: skew.latest() != {})

    assert skew.latest() == {"database": 0.04}
    assert sorted(asked) == ["Drydock", "database"]


def test_a_clock_that_cannot_be_read_is_not_a_system_that_does_not_answer() -> None:
    def silent() -> float | None:
        raise Unavailable("MAAS", "GET /", "no connection")

    skew = ClockSkew({"MAAS": silent, "Drydock": lambda: None})
    until(lambda: bool(skew.answers()))

    assert skew.answers() == {"MAAS": Answered(False, None), "Drydock": Answered(True, None)}
    assert skew.latest() == {}


def test_skew_is_one_line() -> None:
    assert clock_wording({"database": 0.04, "Drydock": -3601.26}) == "database +0.0 s, Drydock -3601.3 s"
