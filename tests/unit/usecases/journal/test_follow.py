"""What the events of a stream say."""

from datetime import datetime, timedelta, timezone

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact, JournalEntry
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesFailed
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.observing.request_context import within_site
from shipyard_api.ports.state.journal import ActionEntry
from shipyard_api.usecases.journal.follow import LONGEST_TEXT, as_cloud_event, as_fields
from tests.unit.tables import every_row

AT = datetime(2026, 3, 2, 10, 0, 0, 123456, timezone(timedelta(hours=1)))
N1, N2 = NodeName("n1"), NodeName("n2")


def entry(fact: Fact, step: str | None = "drydock_build") -> ActionEntry:
    return ActionEntry(ActionId("A"), "deploy_site", JournalEntry(7, 1, step and StepId(step), AT, "w", fact))


@every_row(
    {
        "a group": (GroupChanged(GroupName("g"), GroupStatus.FAILED), {"group": "g"}),
        "one node": (NodesFailed((N1,), 3), {"node": "n1"}),
        "two nodes": (NodesFailed((N1, N2), 3), {}),
        "no node": (NodesFailed((), 3), {}),
        "neither": (Noted("k", "t"), {}),
    }
)
def test_an_event_names_the_one_place_that_it_is_about(fact: Fact, place: dict[str, str]) -> None:
    fields = as_fields(entry(fact))
    assert {name: value for name, value in fields.items() if name in ("group", "node")} == place


def test_a_long_sentence_is_cut() -> None:
    texts = [as_fields(entry(Noted("", "x" * length)))["text"] for length in range(LONGEST_TEXT - 9, LONGEST_TEXT + 9)]
    shorter = [text for text in texts if not text.endswith("…")]
    longer = texts[len(shorter) :]
    assert [len(text) for text in shorter][-2:] == [LONGEST_TEXT - 1, LONGEST_TEXT]
    assert {(len(text), text[-2:]) for text in longer} == {(LONGEST_TEXT, "x…")}


def test_a_cloud_event_has_a_subject_if_it_is_of_a_step_and_the_address_of_its_site() -> None:
    of_step, of_action = entry(Noted("k", "t")), entry(Noted("k", "t"), step=None)
    with within_site("berlin"):
        event = as_cloud_event(of_step)
    assert event == {
        "specversion": "1.0",
        "id": "7",
        "source": "/sites/berlin/api/v1.0/actions/A",
        "type": "shipyard.noted",
        "subject": "drydock_build",
        "time": "2026-03-02T09:00:00.123+00:00",
        "datacontenttype": "application/json",
        "data": as_fields(of_step),
    }
    other = as_cloud_event(of_action)
    assert (other["source"], "subject" in other) == ("/api/v1.0/actions/A", False)
