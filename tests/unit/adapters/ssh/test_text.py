"""Text of nodes: printable, valid, without secrets; a table, and what must hold for any bytes."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.adapters.ssh.text import margin, printable, readable, unfinished
from tests.unit.tables import every_row

SECRET = "päss/word"


@every_row(
    {
        "plain": (b"plain\ttext\n", "plain\ttext\n"),
        "unicode": ("ä€😀".encode(), "ä€😀"),
        "invalid": (b"a\xff\xc3b", "a\ufffd\ufffdb"),
        "controls": (b"a\x00b\x07c\x7f\x08", "abc"),
        "colours": (b"\x1b[1;31mred\x1b[0m \x1b[2J\x1b[H", "red "),
        "titles-and-links": (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        "titles-that-nothing-ends": (b"a\x1b]0;title\nlast\x1b]0;cut\r\nend\n", "a\nlast\nend\n"),
        "device-strings": (b"\x1bPq#0\x1b\\a\x1b_x\x1b\\b", "ab"),
        "eight-bit": ("\x9b31mred\x9d0;t\x07".encode(), "red"),
        "short-escapes": (b"\x1b(0a\x1b=b\x1b", "ab"),
        "lines": (b"10%\r20%\r\ndone\x0b\x0c", "10%\n20%\ndone\n\n"),
        "directions": ("a\u202eb\u2066c\u200bd\ufeff\u2028".encode(), "abcd\n"),
    },
)
def test_text_is_printable(data: bytes, text: str) -> None:
    assert printable(data) == text


@given(st.binary(max_size=300))
def test_no_bytes_leave_a_control_character(data: bytes) -> None:
    text = printable(data)
    text.encode()
    assert not [one for one in text if unicodedata.category(one) == "Cc" and one not in "\n\t"]


@given(
    st.lists(st.sampled_from(["a", " ", "ä", "😀", SECRET, "p%C3%A4ss%2Fword"]), max_size=12).map("".join),
    st.integers(1, 40),
)
def test_pages_show_no_part_of_a_secret_and_all_of_the_rest(text: str, size: int) -> None:
    data, around, pages = text.encode(), margin([SECRET]), ""
    for offset in range(0, len(data), size):
        before, end = min(offset, around), min(offset + size, len(data))
        part = data[offset - before : end + around]
        pages += readable(part, [SECRET], before=before, after=len(part) - before - (end - offset))
    for form in (SECRET, "p%C3%A4ss%2Fword"):
        text = text.replace(form, "*")
    # A secret that is cut shows a mark on each page.
    assert pages.replace("*", "") == text.replace("*", "")


@every_row(
    [
        (b"", 0),
        (b"a", 0),
        (b"a\r", 1),
        (b"\r\n", 0),
        ("ä€😀".encode(), 0),
        (b"a\xc3", 1),
        (b"a\xe2\x82", 2),
        (b"a\xf0\x9f\x98", 3),
        (b"\xf0", 1),
        (b"\x80\x80\x80\x80", 0),
        (b"\xc3\x80\x80", 0),
    ],
)
def test_an_output_that_goes_on_may_end_within_a_character_or_a_line_end(data: bytes, number: int) -> None:
    assert unfinished(data) == number


@every_row(
    {
        "its end is missing": (b"a hunter2", True, "a ***"),
        "its beginning of the least length": (b"a hunt", True, "a ***"),
        "a shorter beginning": (b"a hun", True, "a hun"),
        "the whole and a beginning": (b"hunter22 hunte", True, "*** ***"),
        "something else": (b"a chunk", True, "a chunk"),
        "nothing follows": (b"a hunter2", False, "a hunter2"),
    },
)
def test_what_may_be_the_beginning_of_a_secret_is_hidden_at_an_open_end(data: bytes, more: bool, text: str) -> None:
    assert readable(data, ["hunter22"], open_end=more) == text
    assert more or readable(data, ["hunter22"]) == text


def test_of_overlapping_secrets_nothing_is_left() -> None:
    assert readable(b"x aaaaa y", ["aaaa"]) == "x ****** y"


def test_a_secret_with_escapes_in_it_is_hidden() -> None:
    assert readable(b"hun\x1b[0mter2! a", ["hunter2!"]) == "*** a"
