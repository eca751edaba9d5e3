"""Names in little room: never longer than it, and never two alike."""

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.cli.output.names import prefixes, shortened
from tests.unit.tables import every_row

PREFIXES = {
    "at separators": (["a-site_n.1", "a-site_n.2"], ["a-site_", "a-site_n."]),
    "never a whole name": (["site-1-", "site-1-a"], ["site-"]),
    "one name has none": (["site-1-a"], []),
    "nothing in common": (["oslo-1", "rome-1"], []),
    "too short to be worth it": (["a-1", "a-2"], []),
}


@every_row(PREFIXES)
def test_prefixes(names, found):
    assert prefixes(names) == found


SHORT = {
    "all fit": (("control", "compute"), 7, ("control", "compute")),
    "the middle goes first": (("abcdefghij", "x"), 7, ("abc…hij", "x")),
    "differing at the end": (("rack-compute-1", "rack-compute-2"), 8, ("rack…e-1", "rack…e-2")),
    "differing at the beginning": (("1-compute-rack", "2-compute-rack"), 8, ("1-co…ack", "2-co…ack")),
    "differing in the middle": (
        ("long-beginning-1-and-long-end", "long-beginning-2-and-long-end"),
        8,
        ("…ning-1…", "…ning-2…"),
    ),
    "differing everywhere": (
        ("a-long-beginning-1-end", "a-long-beginning-2-end", "b-long-beginning-1-end"),
        5,
        ("a-…#1", "a-…#2", "b-…#3"),
    ),
}


@every_row(SHORT)
def test_shortened(names, width, short):
    assert shortened(names, width) == short


@given(st.lists(st.text("ab-", min_size=1, max_size=30), unique=True, min_size=1, max_size=30), st.integers(8, 30))
def test_no_two_names_look_alike_and_none_is_too_long(names, width):
    short = shortened(tuple(names), width)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= width
