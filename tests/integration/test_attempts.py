"""A peer that does not answer is asked again: each time is an attempt, with a log of its own."""

from collections.abc import Callable

import pytest

from shipyard_api.actions.site_steps import PREFLIGHT
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.error_kinds import NotFound
from shipyard_api.domain.errors import AttemptNotFound
from shipyard_api.ports.errors import Refused
from shipyard_api.usecases.journal.logs import ReadLogs
from tests.refusals import refuses
from tests.world import World

Worlds = Callable[..., World]
VERIFY = StepId("drydock_build.verify_site")


def kinds(world: World, step: str, attempt: int | None = None) -> list[str]:
    pages = ReadLogs(world.store())(world.action, step, attempt).pages
    return [entry.kind for page in pages for entry in page]


def attempts(world: World, step: StepId) -> int:
    with world.store().begin() as tx:
        return len(tx.journal.step_runs(world.action)[step].failed) + 1


def test_a_peer_that_answers_at_once_is_asked_in_one_attempt(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())

    assert attempts(world, PREFLIGHT) == 1
    assert kinds(world, PREFLIGHT) == kinds(world, PREFLIGHT, 1) == ["step_started", "waiting", "finding", "step_ended"]


def test_each_time_that_a_peer_did_not_answer_is_an_attempt(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.break_next("check_health", times=2)
    world.provisioner.break_next("submit", times=2)
    world.run(world.worker())

    assert attempts(world, PREFLIGHT) == 3
    assert [kinds(world, PREFLIGHT, number) for number in (1, 2, 3)] == [
        ["step_started", "waiting", "attempt_failed"],
        ["attempt_failed"],
        ["finding", "step_ended"],
    ]
    assert kinds(world, PREFLIGHT) == kinds(world, PREFLIGHT, 3)
    (failed,) = (entry.fact for page in ReadLogs(world.store())(world.action, PREFLIGHT, 2).pages for entry in page)
    assert (failed.attempt, failed.pause) == (2, 10)
    assert failed.why.startswith("Fake check_health")
    for attempt in (0, -1, 4, 10**17):
        with refuses(AttemptNotFound):
            ReadLogs(world.store())(world.action, PREFLIGHT, attempt)

    # A step that does something is one attempt, however often it is sent.
    assert attempts(world, VERIFY) == 1
    assert kinds(world, VERIFY).count("intended") > 1


def test_the_attempt_that_is_the_last_ends_with_the_step(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.break_next("check_health", times=40)
    world.run(world.worker())

    assert attempts(world, PREFLIGHT) == 31
    assert kinds(world, PREFLIGHT) == ["step_ended"]


def test_a_refusal_is_no_attempt_that_is_repeated(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
    world.run(world.worker())

    assert attempts(world, PREFLIGHT) == 1


def test_the_bare_id_of_a_group_gives_the_logs_of_its_steps_one_after_another(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.break_next("check_health", times=1)
    world.provisioner.fates.clear()
    world.run(world.worker())
    with world.store().begin() as tx:
        steps = [step.id for step in tx.actions.steps([world.action])[world.action]]
    members = [step for step in steps if step.startswith("drydock_build.")]

    assert len(members) == 3
    assert kinds(world, "drydock_build") == [kind for step in members for kind in kinds(world, step)]
    assert kinds(world, "preflight") == ["finding", "step_ended"]
    assert kinds(world, "preflight", 1) == ["step_started", "waiting", "attempt_failed"]
    with pytest.raises(NotFound):
        ReadLogs(world.store())(world.action, "validate_site_design", None)
