"""Regular expressions of task documents: the usual ones work as in Fuel, the others are refused, none takes long."""

import re

import pytest

from shipyard_api.domain.task_graph.patterns import PatternError, compile_pattern, is_pattern
from tests.unit.tables import every_row


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("/.*/", "", True),
        ("/controller/", "primary-controller", False),
        ("/^(primary-)?controller$/", "controller", True),
        ("/^(primary-)?controller$/", "primary-controller", True),
        ("/^(primary-)?controller$/", "controllers", False),
        ("/(?:a|bc)+d/", "abcad", True),
        ("/(?:a|bc)+d/", "bd", False),
        ("/[^a-c]x/", "bx", False),
        ("/[]-]x/", "-x", True),
        ("/a|/", "zzz", True),
        ("/[b-b]$/", "b", True),
        ("/[b-d]$/", "b", True),
        ("/[b-d]$/", "d", True),
        ("/[b-d]$/", "a", False),
        ("/[b-d]$/", "e", False),
        (r"/[\d\]]+$/", "1]", True),
        (r"/[\d\]]+$/", "d", False),
        (r"/[^\d\]]+$/", "d", True),
        (r"/a\.\[b$/", "a.[b", True),
        (r"/a\.\[b$/", "ab", False),
        (r"/mysql:\d+$/", "mysql:12", True),
        (r"/mysql:\D/", "mysql:1", False),
        (r"/\w/", "-", False),
        (r"/\w\w$/", "a_", True),
        ("/a^b/", "ab", False),
        ("/(a*)*$/", "aaa", True),
        ("//", "anything", True),
    ],
)
def test_an_expression_matches_from_the_start_and_not_to_the_end(pattern: str, name: str, *, matches: bool) -> None:
    assert compile_pattern(pattern).matches(name) is matches
    # Python's own matcher says the same.
    assert bool(re.match(pattern[1:-1], name)) is matches


@every_row(
    [
        "/(/",
        "/)/",
        "/[a/",
        "/*a/",
        "/a**/",
        "/a{2}/",
        "/a{/",
        r"/\1/",
        r"/\z/",
        "/(?i)a/",
        "/(?=a)/",
        "/[z-a]/",
        "/a\\/",
    ],
)
def test_an_expression_outside_of_the_language_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)


def test_long_and_deeply_nested_expressions_are_refused() -> None:
    with pytest.raises(PatternError, match="at most 256"):
        compile_pattern(f"/{'a' * 257}/")
    with pytest.raises(PatternError, match="more than 20 deep"):
        compile_pattern(f"/{'(' * 30}a{')' * 30}/")


def test_expressions_may_be_of_just_this_size() -> None:
    assert compile_pattern(f"/{'a' * 256}/").matches("a" * 256)
    assert compile_pattern(f"/{'(' * 20}a{')' * 20}/").matches("a")
    with pytest.raises(PatternError, match="more than 20 deep"):
        compile_pattern(f"/{'(' * 21}a{')' * 21}/")


@every_row([("/aaa/", "", 1), ("/aaa/", "aaa", 7), ("/aaa/", "aaab", 7), ("/aaa/", "ab", 3), ("/[ab]+c/", "ab", 9)])
def test_the_work_is_how_many_states_are_looked_at(pattern: str, name: str, work: int) -> None:
    assert compile_pattern(pattern).match(name)[1] == work


def test_an_expression_that_backtracking_never_finishes_is_done_at_once() -> None:
    assert not compile_pattern("/(a|a)*(a|a)*(a+)+b/").matches("a" * 128)
    assert not compile_pattern("/" + "(a|aa)?" * 30 + "b/").matches("a" * 128)


def test_only_text_between_slashes_is_an_expression() -> None:
    assert is_pattern("/a/")
    assert is_pattern("//")
    assert not is_pattern("/")
    assert not is_pattern("/a")
    assert not is_pattern("a/")
