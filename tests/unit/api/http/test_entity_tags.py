"""Entity tags: whether a caller holds the answer, whatever its form."""

import pytest

from tests.unit.api.http.conftest import BODY, Get, Resource


@pytest.mark.parametrize(
    ("form", "held"),
    [("data", "{}"), ("media", '"x", {}'), ("large", "*"), ("small", "{strong}"), ("version", '"x" , {} ')],
    ids=ascii,
)
def test_a_caller_who_holds_the_answer_gets_304_without_a_body(get: Get, form: str, held: str) -> None:
    tag = get(form).headers["ETag"]

    again = get(form, If_None_Match=held.format(tag, strong=tag.removeprefix("W/")))

    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert "Content-Encoding" not in again.headers


@pytest.mark.parametrize("held", ['"x"', "", "W/", "x"], ids=ascii)
def test_a_caller_who_holds_another_answer_gets_this_one(get: Get, held: str) -> None:
    assert get("data", If_None_Match=held).content == BODY


def test_what_the_caller_holds_is_not_rendered(get: Get, resource: Resource) -> None:
    tag = get("version").headers["ETag"]

    assert get("version", If_None_Match=tag).status_code == 304
    assert resource.rendered == 1


@pytest.mark.parametrize("form", ["refused", "nothing", "stream"])
def test_what_has_no_version_has_no_tag(get: Get, form: str) -> None:
    answer = get(form, If_None_Match="*")

    assert answer.status_code != 304
    assert "ETag" not in answer.headers
