"""What is taken out of reasons, so that equal causes read equal."""

import pytest

from shipyard_api.domain.cases.reasons import first_words, in_common, template


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("Node r01n02: power did not come on", "Node …: power did not come on"),
        ("no answer from 10.4.0.17:623 after 3 tries", "no answer from … after … tries"),
        ("no answer from fd00:1::17", "no answer from …"),
        ("port 52:54:00:ab:cd:0f is down", "port … is down"),
        ("image 1be26c0b-03f2-4d2e-ae87-c02d7f33c123 was not found", "image … was not found"),
        ("GET https://10.0.0.1/images/a answered 404", "GET … answered …"),
        ("job 8b1f5a3e may still be working", "job … may still be working"),
        ('Power "ON" failed at 2026-11-21T02:14:05Z', "Power … failed at …"),
        ("failed step {'step': 'erase', 'priority': 10}: bad", "failed step …: bad"),
        ("disk nvme1n1 is missing", "disk nvme…n… is missing"),
    ],
    ids=lambda text: text[:20],
)
def test_what_differs_from_node_to_node_is_taken_out(reason: str, text: str) -> None:
    assert template(reason, "r01n02") == text


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        (["503 from 10.0.0.5 for n1", "503 from 10.0.0.5 for n2"], "503 from 10.0.0.5 for …"),
        (["no lease on port 7", "no lease on port 8", "disk sda is broken"], "no lease on port …"),
        (["image 'a b' lost on n1", "image 'c' lost on n2"], "image … lost on …"),
        (["power: off", "power: off"], "power: off"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_names_and_numbers_that_all_reasons_share_stay(reasons: list[str], text: str) -> None:
    assert in_common({f"n{number}": reason for number, reason in enumerate(reasons, 1)}) == text


def test_the_first_words_are_as_many_as_a_person_reads() -> None:
    assert first_words("no answer.") == "no answer"
    assert first_words("Node …: no answer") == "no answer"
    assert first_words(" ".join("abcdefghijklmnopqrst")) == "a b c d e f g h i j k l m n o p …"
