"""Whose jobs are: what a person is asked, which answers are accepted, and when nothing is left to ask."""

from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, DoubtfulJob, JobAnswers, parse_answers, unanswered
from tests.unit.tables import every_row

N1, N2, N9 = map(NodeName, ("n1", "n2", "n9"))
ONE = DoubtfulJob("j1", "prepare_nodes", (N1, N9))
TWO = DoubtfulJob("j2", "prepare_nodes", (N2, N9))
DOUBT = Doubt("Drydock", "prepare_nodes", (N1, N2), (ONE, TWO))
FIRST = JobAnswers(frozenset({"j1"}), frozenset({"j2"}))


def test_a_doubt_reads_as_a_sentence_and_survives_its_stored_form() -> None:
    assert str(DOUBT) == (
        "history was lost, and job j1 (prepare_nodes of n1, n9), job j2 (prepare_nodes of n2, n9) may be this action's "
        "or another client's: prepare_nodes is not sent to n1, n2"
    )
    many = replace(ONE, nodes=tuple(NodeName(f"n{number}") for number in range(12)))
    assert str(many) == "job j1 (prepare_nodes of n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more)"
    assert Doubt.from_json(DOUBT.to_json()) == DOUBT
    assert JobAnswers.from_json(FIRST.to_json()) == FIRST
    assert [str(one) for one in (FIRST, JobAnswers(frozenset({"a", "b"})))] == [
        "j1 is this action's, j2 is not this action's",
        "a, b are this action's",
    ]


@every_row(
    [
        (JobAnswers(), [DOUBT]),
        (JobAnswers(others=frozenset({"j1"})), [DOUBT]),
        (FIRST, []),
        (JobAnswers(others=frozenset({"j1", "j2", "j3"})), []),
    ],
)
def test_a_doubt_is_over_when_all_its_jobs_are_answered(answers: JobAnswers, left: list[Doubt]) -> None:
    assert unanswered([DOUBT], answers) == left


def test_a_later_answer_outweighs_an_earlier_one() -> None:
    assert FIRST.with_later(JobAnswers(others=frozenset({"j1"}))) == JobAnswers(others=frozenset({"j1", "j2"}))
    assert FIRST.with_later(JobAnswers(ours=frozenset({"j2"}))) == JobAnswers(ours=frozenset({"j1", "j2"}))


def test_answers_about_jobs_that_are_asked_are_accepted() -> None:
    assert parse_answers({"ours": ["j1"], "others": ["j2"]}, [DOUBT]) == (FIRST, ())
    assert parse_answers({"others": ["j2"]}, [DOUBT]) == (JobAnswers(others=frozenset({"j2"})), ())


@every_row(
    [
        ({}, "No job is named"),
        ({"ours": [], "others": []}, "No job is named"),
        ({"mine": ["j1"]}, "no answer 'mine'"),
        ({"ours": "j1"}, "ours is no list"),
        ({"others": [1]}, "others is no list"),
        ({"ours": ["j3"]}, "not asked about job 'j3'. It is asked about: j1, j2."),
        ({"ours": ["j1"], "others": ["j1"]}, "Job j1 is named twice"),
    ],
)
def test_other_answers_are_refused(written: Any, says: str) -> None:
    answers, faults = parse_answers(written, [DOUBT])
    assert answers == JobAnswers()
    assert says in " ".join(fault.message for fault in faults)


def test_nothing_is_answered_where_nothing_is_asked() -> None:
    _, faults = parse_answers({"ours": ["j1"]}, [])
    assert [fault.message for fault in faults] == ["The action is not asked about job 'j1'. It is asked about none."]
