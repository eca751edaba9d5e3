"""The tag of a revision: chosen from how the steps ended, and set whatever happened before."""

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.steps.mark_revision import MarkRevision, MarkState, SetTag, StepsEnded, TagSet
from shipyard_api.domain.actions import ActionId, StepId, StepState
from shipyard_api.domain.documents import RevisionTag
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.provisioner import Marker
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Look, PeerFailure
from tests.unit.actions.steps.instants import T0, at
from tests.unit.tables import every_row

ACTION = ActionId("01J0000000000000000000DEPL")
CHECK, BUILD, DEPLOY, TAG = (StepId(name) for name in ("check", "build", "deploy", "tag"))
NEW = MarkState(ACTION, "deploy_site", 7)
WELL, BADLY = (
    replace(NEW, tag=RevisionTag.SITE_ACTION_SUCCESS),
    replace(NEW, tag=RevisionTag.SITE_ACTION_FAILURE),
)
SUCCESS, FAILED, SKIPPED = StepState.SUCCESS, StepState.FAILED, StepState.SKIPPED
NOT_RUN = StepState.UPSTREAM_FAILED
NOT_CHANGED = "not tagged: nothing was changed, the provisioner's steps were skipped"
TOO_EARLY = "not tagged: the action failed before it could change anything"


def step(store: Any = None, designs: Any = None) -> MarkRevision:
    before = frozenset({CHECK})
    return MarkRevision(TAG, cast(Store, store), cast(DesignStore, designs), before, give_up_after=60)


STEP = step()


def effect(tag: RevisionTag) -> SetTag:
    return SetTag(7, tag, ACTION, "deploy_site")


@every_row(
    {
        "asks-how-the-steps-ended": (NEW, Look(ACTION)),
        "tags-a-success": (WELL, Act(effect(RevisionTag.SITE_ACTION_SUCCESS), give_up_at=at(65))),
        "tags-a-failure": (BADLY, Act(effect(RevisionTag.SITE_ACTION_FAILURE), give_up_at=at(65))),
        "done-without-a-tag": (replace(NEW, done="not tagged"), Done("not tagged")),
        "failed": (replace(WELL, failed="403"), Failed("403")),
    },
)
def test_what_comes_next(state: MarkState, expected: Act[SetTag] | Look[ActionId] | Done | Failed) -> None:
    assert STEP.decide(state, at(5)) == expected


@every_row(
    {
        "all-well": ({CHECK: SUCCESS, BUILD: SUCCESS, DEPLOY: SUCCESS, TAG: None}, WELL),
        "the-first-failed": ({CHECK: SUCCESS, BUILD: FAILED, DEPLOY: NOT_RUN, TAG: None}, BADLY),
        "one-skipped": ({CHECK: SUCCESS, BUILD: SUCCESS, DEPLOY: SKIPPED, TAG: None}, WELL),
        "a-check-failed": ({CHECK: FAILED, BUILD: NOT_RUN, DEPLOY: NOT_RUN, TAG: None}, replace(NEW, done=TOO_EARLY)),
        "every-change-skipped": (
            {CHECK: SUCCESS, BUILD: SKIPPED, DEPLOY: SKIPPED, TAG: None},
            replace(NEW, done=NOT_CHANGED),
        ),
        "a-skipped-check-counts-for-nothing": ({CHECK: SKIPPED, BUILD: SUCCESS, TAG: None}, WELL),
        "an-action-without-changes": ({CHECK: SUCCESS, TAG: None}, WELL),
        "a-step-that-never-ran": ({CHECK: SUCCESS, BUILD: None, TAG: None}, WELL),
        "its-own-state-counts-not": ({CHECK: SUCCESS, BUILD: SKIPPED, TAG: FAILED}, replace(NEW, done=NOT_CHANGED)),
    },
)
def test_which_tag_it_sets(states: Mapping[StepId, StepState | None], expected: MarkState) -> None:
    assert STEP.fold(NEW, ACTION, StepsEnded(states), T0) == Folded(expected)


@every_row(
    {
        "tagged-success": (
            WELL,
            effect(RevisionTag.SITE_ACTION_SUCCESS),
            TagSet(),
            replace(WELL, done="revision 7 is tagged site-action-success"),
        ),
        "refused": (
            WELL,
            effect(RevisionTag.SITE_ACTION_SUCCESS),
            PeerFailure("403 forbidden", refused=True),
            replace(WELL, failed="403 forbidden"),
        ),
        "given-up": (
            WELL,
            effect(RevisionTag.SITE_ACTION_SUCCESS),
            PeerFailure("503 no answer", refused=False),
            replace(WELL, failed="503 no answer"),
        ),
        "no-answer-about-the-steps": (NEW, ACTION, PeerFailure("gone", refused=False), replace(NEW, failed="gone")),
    },
)
def test_what_an_answer_means(
    state: MarkState, asked: ActionId | SetTag, report: TagSet | PeerFailure, expected: MarkState
) -> None:
    assert STEP.fold(state, asked, report, T0) == Folded(expected)


def test_it_reads_how_the_steps_of_its_own_action_ended() -> None:
    rows = [SimpleNamespace(id=CHECK, state=SUCCESS), SimpleNamespace(id=TAG, state=None)]
    actions = SimpleNamespace(steps=lambda ids: dict.fromkeys(ids, rows))
    store = SimpleNamespace(begin=lambda: nullcontext(SimpleNamespace(actions=actions)))
    assert step(store).ask(ACTION) == StepsEnded({CHECK: SUCCESS, TAG: None})


def test_the_tag_names_the_action() -> None:
    tagged: list[tuple[Any, ...]] = []
    designs = SimpleNamespace(tag=lambda *given: tagged.append(given))
    assert step(designs=designs).perform(effect(RevisionTag.SITE_ACTION_FAILURE), Marker("m")) == TagSet()
    assert tagged == [(7, "site-action-failure", {"dag_id": "deploy_site", "action_id": ACTION})]
