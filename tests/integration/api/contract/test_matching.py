"""The matchers of the wire cases find what is wrong: each is shown a value that fits and one that does not."""

from typing import Any

from tests.integration.api.contract.matching import (
    DATABASE_TIME,
    ENGINE_TIME,
    STAMP,
    ULID,
    UUID,
    All,
    Among,
    Count,
    Each,
    Either,
    Entity,
    Lacks,
    Named,
    Pattern,
    Type,
    Words,
    faults,
    maybe,
)
from tests.unit.tables import every_row

NAMES = {"action": "01.A", "revision": 4}
TABLE: dict[str, tuple[Any, Any, Any]] = {
    "a text": ("a", "a", "b"),
    "a text with a name in it": ("/x/$action", "/x/01.A", "/x/$action"),
    "a number": (1, 1, 2),
    "a number is no boolean": (1, 1, True),
    "a boolean is no number": (True, True, 1),
    "a whole number is no other": (1, 1, 1.0),
    "null": (None, None, ""),
    "an object has nothing more": ({"a": 1}, {"a": 1}, {"a": 1, "b": 2}),
    "an object has nothing less": ({"a": 1, "b": None}, {"a": 1, "b": None}, {"a": 1}),
    "a list has its length": ([1, 2], [1, 2], [1, 2, 3]),
    "a list has its order": ([1, 2], [1, 2], [2, 1]),
    "an entity may have more": (Entity({"a": 1}), {"a": 1, "b": 2}, {"b": 2}),
    "an entity is an object": (Entity({}), {}, []),
    "an entity inside": (Entity({"a": Entity({"b": 1})}), {"a": {"b": 1}}, {"a": {"b": 2}}),
    "an entity, narrowed": (Entity({"a": Type(int)}).but(a=1), {"a": 1}, {"a": 2}),
    "a pattern, as a whole": (Pattern("a+"), "aa", "aab"),
    "a pattern is for texts": (Pattern(".*"), "", 5),
    "a pattern takes a name literally": (Pattern("$action"), "01.A", "01xA"),
    "a type": (Type(str), "", None),
    "one of several": (Either(1, "a"), "a", "b"),
    "that or null": (maybe(Type(int)), None, "1"),
    "each": (Each(Type(int)), [1, 2], [1, "2"]),
    "each, and some": (Each(Type(int), least=1), [1], []),
    "each of a list": (Each(Type(int)), [], {}),
    "among others": (Among(2, 4), [1, 2, 3, 4], [1, 4, 3, 2]),
    "among others, all of them": (Among(2, 2), [2, 2], [2]),
    "a count": (Count(2), [0, 0], [0]),
    "all at once": (All(Count(1), Each(1)), [1], [2]),
    "a field that is not there": (Lacks("a"), {"b": 1}, {"a": None}),
    "words in any order": (Words("GET, POST"), "POST, GET", "GET"),
    "a name, as it is": (Named("revision"), 4, "4"),
    "a ULID": (ULID, "01M7XV7VKPMDHXJVA7WMC7P6XP", "01M7XV7VKPMDHXJVA7WMC7P6XU"),
    "a UUID": (UUID, "a13b0122-0885-4745-84e9-39d1ce42b025", "a13b012208854745-84e9-39d1ce42b025"),
    "a time of the database": (DATABASE_TIME, "2026-11-21 01:23:55.638118+00:00", "2026-11-21 01:23:55.638118"),
    "a time without a zone": (STAMP, "2026-11-21 01:23:55.638118", "2026-11-21T01:23:55.638118"),
    "a time of the engine": (ENGINE_TIME, "2026-11-21T01:23:55.745506Z", "2026-11-21T01:23:55Z"),
}


@every_row(TABLE)
def test_a_matcher_tells_what_fits_from_what_does_not(expected: Any, fits: Any, does_not: Any) -> None:
    assert list(faults(expected, fits, "body", NAMES)) == []
    assert list(faults(expected, does_not, "body", NAMES)) != []
