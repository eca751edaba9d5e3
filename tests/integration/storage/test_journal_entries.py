"""Which jobs of the provisioner are an action's, by the journal."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import JobStarted
from shipyard_api.domain.facts.phases import PhaseRunning, PhaseStarted
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import JobId
from shipyard_api.storage import journal
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from tests.factories import group, strategy

AT = datetime(2026, 11, 22, tzinfo=UTC)
GROUP, N1 = GroupName("masters"), NodeName("n1")
ASKED = map(JobId, ("job-1", "job-2", "another"))


def test_a_job_is_that_of_the_action_that_recorded_its_beginning(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    action = create("a")
    (masters,) = strategy(group(GROUP)).groups
    known = MembersKnown(1, 1, ((masters, frozenset({N1})),))
    begun = PhaseStarted(GROUP, Phase.PREPARE, (N1,), "job-2")
    with engine.begin() as connection:
        journal.record(connection, Line(action, 1, "a", AT, "w"), [JobStarted("verify_site", "job-1"), known])
        other = [begun, PhaseRunning(GROUP, Phase.PREPARE, 1), Noted("Test", "job-3")]
        journal.record(connection, Line(action, 1, "a", AT + timedelta(seconds=1), "w"), other)

    with store.begin() as tx:
        since = [tx.journal.jobs_since(AT + timedelta(seconds=seconds)) for seconds in (0, 1, 2)]
        owners = [tx.journal.owner(job) for job in ASKED]

    assert since == [{"job-1", "job-2"}, {"job-2"}, frozenset()]
    assert owners == [f"action {action}", f"group masters of action {action}", ""]
