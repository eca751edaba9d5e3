"""Actions in Postgres: rules that hold whatever the code does, and what many of them cost."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import SiteActionRunning
from shipyard_api.ports.state.actions import ActionFilters, NewAction, RunningSiteAction
from shipyard_api.storage import tables as t
from shipyard_api.storage.actions import Actions
from shipyard_api.storage.unit_of_work import Store
from tests.integration.storage.conftest import new_action, new_run
from tests.integration.storage.rows import broken_off, counts
from tests.refusals import refuses
from tests.waiting import PATIENCE

Create = Callable[..., ActionId]


def end(engine: sa.Engine, state: str = "success") -> None:
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state=state, ended_at=sa.func.now()))


def test_creating_is_all_or_nothing(store: Store, engine: sa.Engine) -> None:
    with broken_off(store) as tx:
        tx.actions.create(new_action("a", "b"))

    assert set(counts(engine).values()) == {0}


def test_what_was_created_reads_back(store: Store) -> None:
    new = new_action("a", "b")
    with store.begin() as tx:
        made = tx.actions.create(new)

    with store.begin() as tx:
        assert tx.actions.get(new.id) == made
        assert tx.actions.matching() == [made]
        assert [(step.id, step.index, step.state) for step in tx.actions.steps([new.id])[new.id]] == [
            ("a", 1, None),
            ("b", 2, None),
        ]
        version, described = tx.actions.described(new.id, ()) or ("", None)
        assert tx.actions.described(new.id, (), version) == (version, None)
        assert tx.actions.version(new.id) == version
    assert described is not None
    (audit,) = described.commands
    assert (made.state, made.epoch, made.started_at, made.user) == (RunState.QUEUED, 0, None, "ann")
    assert (audit.command, audit.user, len(audit.id)) == ("invoke", "ann", 26)


def test_a_second_site_action_is_refused_by_the_index_and_names_the_first(
    store: Store, engine: sa.Engine, create: Create
) -> None:
    first = create("a")
    before = counts(engine)

    with store.begin() as tx:
        with refuses(SiteActionRunning) as caught:
            tx.actions.create(new_action("a"))
        assert tx.actions.get(first)  # the transaction is still of use

    assert caught.value.data == {"action": first, "name": ActionName("deploy_site"), "nodes": ()}
    assert caught.value.__cause__.orig.diag.constraint_name == t.ONE_SITE_ACTION
    assert counts(engine) == before


def test_a_first_that_ends_in_this_very_moment_is_not_in_the_way(
    store: Store, engine: sa.Engine, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It kept the second out, and has ended when that is looked at."""
    create("a")
    looked = Actions.running_site_action

    def ended_by_now(actions: Actions) -> RunningSiteAction | None:
        end(engine, "success")
        return looked(actions)

    monkeypatch.setattr(Actions, "running_site_action", ended_by_now)

    with store.begin() as tx:
        second = tx.actions.create(new_action("a"))

    with store.begin() as tx:
        assert tx.actions.get(second.id)


@pytest.mark.parametrize("state", ["success", "failed"])
def test_what_has_ended_leaves_the_site_free(store: Store, engine: sa.Engine, create: Create, state: str) -> None:
    first = create("a")
    end(engine, state)

    second = create("a")

    with store.begin() as tx:
        assert tx.actions.running_site_action() == (second, ActionName("deploy_site"), ())
        assert [one.id for one in tx.actions.matching()] == sorted([first, second])


def test_the_second_waits_until_it_is_clear_whether_there_is_a_first(store: Store, engine: sa.Engine) -> None:
    """One that was only begun does not count, if it is undone."""
    with ThreadPoolExecutor(1) as threads:
        with broken_off(store) as tx:
            tx.actions.create(new_action("a"))
            second = threads.submit(_create, store)
            with pytest.raises(TimeoutError):
                second.result(timeout=0.2)
        assert second.result(timeout=PATIENCE) is not None


def test_of_many_at_once_one_is_taken(store: Store) -> None:
    start = threading.Barrier(8)

    def one(_number: int) -> ActionId | None:
        start.wait()
        return _create(store)

    with ThreadPoolExecutor(8) as threads:
        made = [action for action in threads.map(one, range(8)) if action]

    assert len(made) == 1


SIDE_BY_SIDE: dict[str, tuple[NewAction, NewAction, str | None]] = {
    "runs on other nodes": (new_run("n1", "n2"), new_run("n3"), None),
    "runs that share nodes": (new_run("n1", "n2", "n3"), new_run("n4", "n3", "n2"), "n2 n3"),
    "a run of some nodes, then of all": (new_run("n1"), new_run(), ""),
    "a run of all nodes, then of some": (new_run(), new_run("n1"), ""),
    "a run, then a deployment": (new_run("n1"), new_action("a"), ""),
    "a deployment, then a run": (new_action("a"), new_run("n1"), ""),
}


@pytest.mark.parametrize(("first", "second", "shared"), SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_runs_exclude_only_actions_on_their_nodes(
    store: Store, engine: sa.Engine, first: NewAction, second: NewAction, shared: str | None
) -> None:
    with store.begin() as tx:
        tx.actions.create(first)

    with store.begin() as tx:
        if shared is None:
            tx.actions.create(second)
            return
        with refuses(SiteActionRunning) as caught:
            tx.actions.create(second)
    assert {"action": first.id, "name": first.name}.items() <= caught.value.data.items()
    assert " ".join(caught.value.data["nodes"]) == shared
    end(engine, "failed")
    with store.begin() as tx:
        assert tx.actions.create(second).id == second.id


def test_of_many_runs_at_once_those_that_share_a_node_exclude_each_other(store: Store) -> None:
    start = threading.Barrier(8)

    def one(number: int) -> str | None:
        start.wait()
        try:
            with store.begin() as tx:
                tx.actions.create(new_run(f"n{number % 4}", f"own-{number}"))
        except Conflict:
            return None
        return f"n{number % 4}"

    with ThreadPoolExecutor(8) as threads:
        made = [node for node in threads.map(one, range(8)) if node]

    assert sorted(made) == ["n0", "n1", "n2", "n3"]


def test_any_other_broken_rule_is_a_bug(store: Store, engine: sa.Engine) -> None:
    new = new_action("a")
    with store.begin() as tx:
        tx.actions.create(new)
    end(engine)

    with pytest.raises(sa.exc.IntegrityError, match="actions_pkey"), store.begin() as tx:
        tx.actions.create(new)


def test_the_database_knows_the_states(store: Store, engine: sa.Engine, create: Create) -> None:
    create("a")
    for values in ({"state": "napping"}, {"state": "success"}, {"ended_at": sa.func.now()}):
        with pytest.raises(sa.exc.IntegrityError, match=r"actions_(state_known|ended_has_end)"), engine.begin() as on:
            on.execute(t.actions.update().values(**values))


def test_steps_of_several_actions_come_apart(store: Store, engine: sa.Engine, create: Create) -> None:
    first = create("a")
    end(engine)
    second = create("b", "c")

    with store.begin() as tx:
        found = tx.actions.steps([first, second])
        assert {action: [step.id for step in steps] for action, steps in found.items()} == {
            first: ["a"],
            second: ["b", "c"],
        }
        assert tx.actions.steps([])[first] == []


MANY = 10_000  # actions, one in each half hour: seven months


@pytest.fixture
def many(engine: sa.Engine) -> datetime:
    """So many actions; returns when the last one was created."""
    last = datetime.now(UTC)
    made = sa.text(
        "INSERT INTO actions (id, name, parameters, user_name, context_marker, exclusive, inputs, state, created_at,"
        " ended_at) SELECT lpad(number::text, 26, '0'), CASE WHEN number % 3 > 0 THEN 'deploy_site' ELSE 'test_site' "
        "END, '{}', 'ann', '', false, '{}', 'success', moment, moment FROM (SELECT number, :last - (:many - number) "
        "* interval '30 minutes' AS moment FROM generate_series(1, :many) AS number) AS moments"
    )
    with engine.begin() as connection:
        connection.execute(made, {"last": last, "many": MANY})
        connection.execute(sa.text("ANALYZE actions"))
    return last


def looked_at(engine: sa.Engine, question: Callable[[], Any]) -> int:
    """How many rows of actions the database reads for a question, those that it then leaves out included."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        question()
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    ((statement, parameters),) = asked
    with engine.connect() as connection:
        (plan,) = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
    return _read(plan["Plan"])


def _read(plan: Mapping[str, Any]) -> int:
    own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if "Relation Name" in plan else 0
    return int(own) + sum(map(_read, plan.get("Plans", ())))


def test_some_of_many_are_found_without_looking_at_the_others(store: Store, engine: sa.Engine, many: datetime) -> None:
    found: list[Any] = []
    moment = many - timedelta(minutes=30 * (MANY % 3))

    def ask_for_one() -> None:
        with store.begin() as tx:
            found.append(tx.actions.created_at(ActionName("test_site"), moment))

    assert looked_at(engine, ask_for_one) <= 2
    assert found[0] is not None
    assert found[0].id == f"{MANY - MANY % 3:026}"

    for names, limit in product([(), (ActionName("test_site"),)], [None, 100]):
        wanted = ActionFilters(names=names, since=many - timedelta(hours=24))
        found.clear()

        def ask(wanted: ActionFilters = wanted, limit: int | None = limit) -> None:
            with store.begin() as tx:
                found.extend(tx.actions.matching(wanted, limit=limit))

        assert looked_at(engine, ask) <= 49, (names, limit)
        assert len(found) == (16 if names else 49)


def _create(store: Store) -> ActionId | None:
    try:
        with store.begin() as tx:
            return tx.actions.create(new_action("a")).id
    except Conflict:
        return None
