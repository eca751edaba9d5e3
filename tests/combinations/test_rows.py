"""Each pair of options of the product in some run, in virtual time; ``./dev crash`` takes each triple."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.domain.actions import Control, RunState
from tests.combinations.model import FAULTS, OPTIONS, REFUSALS, TARGETED, Row, is_accepted, refusal
from tests.combinations.oracle import Asked, complaints
from tests.combinations.pairwise import rows
from tests.combinations.site import API, CHANGED, NODES, TEMPLATE, TIMEOUT, Site, failing, reason_of, targets_of
from tests.waiting import PATIENCE

PLAIN: Row = {name: values[0] for name, values in OPTIONS.items()}
PAIRS = Path(__file__).with_name("pairs.txt")
SLOW = 1000  # seconds, in which Ironic syncs the power of its nodes several times
CONTROLS: dict[str, dict[int, Control | str]] = {
    "none": {},
    "pause": {3: Control.PAUSE, 6: Control.UNPAUSE},
    "stop": {4: Control.STOP},
    "limits": {3: "limits"},
    "retry": {3: "retry"},
}
HERE = "tests/combinations/test_rows.py"


@cache
def triples() -> Sequence[Row]:
    """Return the rows of ./dev crash, which take half a minute to find; those of ``CHANGING`` have pairs alone."""
    options = {name: values for name, values in OPTIONS.items() if name not in ("on_change", "on_removed")}
    return [{**PLAIN, **row} for row in rows(options, is_accepted, strength=3)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Find the triples only where they are played."""
    if "triple" in metafunc.fixturenames:
        skipped = metafunc.config.getoption("markexpr") == "not crash"
        metafunc.parametrize("triple", [] if skipped else cases(triples()))


def row_id(row: Row) -> str:
    """Return the action, the provisioner, and every value of the row that is not plain."""
    first, second, *others = row
    return " ".join([row[first], row[second], *(f"{one}={row[one]}" for one in others if row[one] != PLAIN[one])])


def row_of(line: str) -> Row:
    """Return the row with this id."""
    first, second, *others = line.split()
    return {**PLAIN, "action": first, "provisioner": second, **dict(one.split("=") for one in others)}


# Fewer rows than a search finds in the seconds that each process of a run could give it.
ACCEPTED = [row_of(line) for line in PAIRS.read_text("utf-8").splitlines()]
# Those that only pairs with on_change and on_removed need.
EVERY_DAY = 2  # the first ones; ./dev crash plays all others
CHANGING = [row_of(line) for line in PAIRS.with_name("changes.txt").read_text("utf-8").splitlines()]


def cases(found: Sequence[Row]) -> list[Any]:
    """Return the rows as cases; those of a known fault must fail."""
    why = {row_id(row): [pytest.mark.xfail(reason=one.name) for one in FAULTS if one.applies(row)] for row in found}
    return [pytest.param(row, id=row_id(row), marks=why[row_id(row)]) for row in found]


def _refused() -> dict[tuple[str, str], list[Row]]:
    """Return the rows that are refused, by provisioner and cluster: one site answers them, the held node last."""
    found: dict[tuple[str, str], list[Row]] = {}
    for one in sorted(REFUSALS, key=lambda one: "held" in one.values):
        for provisioner in one.values.get("provisioner", OPTIONS["provisioner"]):
            row = {**PLAIN, **{name: values[0] for name, values in one.values.items()}, "provisioner": provisioner}
            found.setdefault((provisioner, row["cluster"]), []).append(row)
    return found


REFUSED = _refused()


# No pair asks for it: a teardown that failed is retried with Drydock.
RETRIED: Row = {**PLAIN, "cluster": "none", "fails": "first", "phase": "teardown", "force": "yes"}


# Nodes of two groups side by side, of which one fails while another is prepared yet.
SIDE_BY_SIDE: Row = {
    **PLAIN,
    "action": "deploy_site",
    "groups": "shared",
    "pipeline": "in_flight",
    "cluster": "none",
    "fails": "first",
}


# A retry keeps the limits that were set while the action ran.
LIMITED: Row = {**PLAIN, "targets": "1", "fails": "first", "phase": "drain", "control": "limits", "cured": "no"}

# No pair asks for it: servers that a policy binds, and that nobody forces past it.
IN_WINDOWS: Row = {**PLAIN, "targets": "3", "batch": "2", "policy": "window", "cluster": "promenade"}
ONE_BY_ONE: Row = {**IN_WINDOWS, "policy": "one", "cluster": "kubernetes", "fails": "last", "phase": "deploy"}

PLAYED = [*ACCEPTED, RETRIED, SIDE_BY_SIDE, LIMITED, IN_WINDOWS, ONE_BY_ONE]


@pytest.mark.parametrize("row", cases([*PLAYED, *CHANGING[:EVERY_DAY]]))
def test_a_row_keeps_every_promise(module_database_url: str, row: Row) -> None:
    _play(module_database_url, row, "test_a_row_keeps_every_promise", "test")


@pytest.mark.crash
@pytest.mark.parametrize("row", cases(CHANGING[EVERY_DAY:]))
def test_each_update_of_changed_servers_keeps_every_promise(module_database_url: str, row: Row) -> None:
    _play(module_database_url, row, "test_each_update_of_changed_servers_keeps_every_promise", "crash")


@pytest.mark.crash
def test_each_triple_keeps_every_promise(module_database_url: str, triple: Row) -> None:
    _play(module_database_url, triple, "test_each_triple_keeps_every_promise", "crash")


@pytest.mark.parametrize("rows", REFUSED.values(), ids=map(" ".join, REFUSED))
def test_what_is_refused_touches_nothing(module_database_url: str, rows: list[Row]) -> None:
    with closing(Site(module_database_url, rows[0])) as site:
        site.keep_template()
        _prepared(site, {**rows[0], "action": "redeploy_server", "held": "no"})
        begun = site.touched()
        for row in rows:
            why = refusal(row)
            assert why is not None
            _hold(site, row)
            body = {"name": row["action"], "parameters": _parameters(row)}
            plan = site.plan(body)
            answer = site.create(body["name"], body["parameters"])
            assert (answer.status_code, plan["refused"] is not None) == (why.status, True), (why.name, answer.text)
            assert plan["refused"]["reason"] in answer.json["reason"]
            assert site.touched() == begun


def test_a_reason_outlives_the_power_sync_of_ironic(module_database_url: str) -> None:
    """A node fails early, its group ends later, and Ironic has cleared its ``last_error`` by then."""
    row = {**PLAIN, "action": "deploy_site", "provisioner": "ironic", "fails": "first"}
    with closing(Site(module_database_url, row)) as site:
        body = _prepared(site, row)
        slow = {name: {"deploy": "ok", "seconds": SLOW} for name in NODES[1:]}
        site.play({NODES[0]: {"deploy": "fail", "reason": reason_of(NODES[0])}, **slow})
        assert _done(site, row, body) == []
        ended = {one.node: one.at for one in site.peer.ended() if one.phase == "deploy"}
        assert (ended[NODES[1]] - ended[NODES[0]]).total_seconds() > SLOW / 2


def test_one_caller_has_few_plans_under_way_and_others_are_served(module_database_url: str) -> None:
    """The plans wait for a lock meanwhile: how fast the machine is does not matter."""
    row = {**PLAIN, "action": "deploy_site"}
    with closing(Site(module_database_url, row)) as site, ThreadPoolExecutor(20) as threads:
        body, sent = json.dumps(_prepared(site, row)), {"Content-Type": "application/json"}
        other = site.caller("other")
        with site.database.begin() as connection:
            connection.exec_driver_sql("LOCK TABLE actions IN ACCESS EXCLUSIVE MODE")
            asked = [
                threads.submit(site.client.simulate_post, f"{API}/plans", body=body, headers=sent) for _ in range(20)
            ]
            refused = [one.result() for one in islice(as_completed(asked, timeout=PATIENCE), 16)]
        assert [one.status_code for one in refused] == [429] * 16
        assert all(int(one.headers["Retry-After"]) >= 1 for one in refused)
        assert sorted(one.result().status_code for one in asked) == [200] * 4 + [429] * 16
        assert other.simulate_post(f"{API}/plans", body=body, headers=sent).status_code == 200


def test_every_pair_that_may_occur_is_in_some_row() -> None:
    played = [*PLAYED, *CHANGING]
    assert all(map(is_accepted, played))
    lacking = rows(OPTIONS, is_accepted, known=played)
    assert [row_id(row) for row in lacking] == [], f"add these lines to {PAIRS.name}, or to changes.txt"


def _play(url: str, row: Row, test: str, command: str) -> None:
    """Play a row to its end; raise AssertionError with the row, what is wrong, and how to see it again."""
    with closing(Site(url, row)) as site:
        try:
            found = _first(site, row)
            if not found and row["cured"] == "no" and site.may_be_retried():
                found = _retried(site, row, is_cured=False)
            # Drydock needs one retry to release a machine whose deployment has failed, and one to deploy it.
            retries = (1, 0) if row["provisioner"] == "drydock" and row["phase"] == "deploy" else (0,)
            # A retry that had failed as well is retried by ./dev crash.
            for left in retries if row["cured"] == "yes" or command == "crash" else ():
                if not found and site.may_be_retried():
                    found = _retried(site, row, is_cured=True, left=left)
            found = found or site.breaches(f"row {row_id(row)}")
        except AssertionError as error:
            found = [str(error)]
        journal = site.journal() if site.actions else ""
    again = f"to see it again: ./dev {command} '{HERE}::{test}[{row_id(row)}]'"
    assert not found, "\n".join([*found, again, f"the row: {dict(row)}", "-- events of the newest action", journal])


def _parameters(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if row["action"] in TARGETED:
        found["target_nodes"] = ",".join(targets_of(row))
    if row["force"] == "yes":
        found["force"] = "true"
    if row["action"] == "service_server":
        found["template"] = TEMPLATE
    if row["batch"] != "1":
        found["max_parallel_nodes"] = int(row["batch"])
    if row["phase"] in ("drain", "budget"):
        found |= {"drain-timeout": TIMEOUT, "grace-period": 10}
    if row["on_change"] != "leave":
        found["on-change"] = row["on_change"]
    if row["on_removed"] == "remove":
        found["on-removed"] = "remove"
    if row["wipe"] == "preserve":
        found["preserve-local-storage"] = "true"
    if row["wipe"] == "rebuild":
        found["mode"] = "rebuild"
    return found


def _prepared(site: Site, row: Row) -> dict[str, Any]:
    """Bring the site to where the action of the row begins; return the action."""
    if row["templates"] == "requested" or row["action"] == "service_server":
        site.keep_template()
    if row["software"] != "none":
        site.task_graph()
    site.commit()
    if row["action"] != "deploy_site":
        assert site.create("deploy_site", {}).status_code == 201
        site.run()
        assert site.state() is RunState.SUCCESS, site.journal()
        site.populate()
    if row["action"] == "update_site":
        site.change()
    elif row["revision"] == "newer":
        site.commit(newer="yes")
    site.fail(failing(row))
    site.hosts.forget_all()
    site.fail_task()
    _hold(site, row)
    site.clock.advance(60)
    return {"name": row["action"], "parameters": _parameters(row)}


def _hold(site: Site, row: Row) -> None:
    if row["held"] == "yes":
        site.ask("POST", f"/nodes/{targets_of(row)[0]}/holds", {"reason": "new disk"}, expect=201)


def _first(site: Site, row: Row) -> list[str]:
    return _done(site, row, _prepared(site, row))


def _done(site: Site, row: Row, body: dict[str, Any]) -> list[str]:
    asked = _asked(site, site.plan(body), failing(row), stopped=row["control"] == "stop")
    plan = site.approved_plan(body) if row["plan"] == "approved" else ""
    answer = site.create(body["name"], body["parameters"], plan=plan)
    if answer.status_code != 201:
        return [f"refused: {answer.status_code} {answer.text}"]
    if plan and not (f"plan {plan} " in site.journal() and "approved by second" in site.journal()):
        return [f"the action does not name its plan: {site.journal()}"]
    site.run(CONTROLS[row["control"]])
    return complaints(site, asked)


def _retried(site: Site, row: Row, *, is_cured: bool, left: int = 0) -> list[str]:
    """Whatever failed can be retried, and the retry ends; ``left``: how many further ones it may need."""
    if is_cured:
        site.cure()
    site.settle()
    force = row["force"] == "yes"
    plan = site.plan({"retry": site.action}, force=force)
    asked = _asked(site, plan, () if is_cured else failing(row), finished=site.finished(), is_retry=True)
    answer = site.retry(force=force)
    if answer.status_code != 201:
        return [f"the retry is refused: {answer.status_code} {answer.text}"]
    site.run()
    found = complaints(site, asked)
    if is_cured and not left and site.state() is not RunState.SUCCESS:
        found.append(f"nothing fails any more, and the retry ended {site.state().value}")
    return [f"retry: {one}" for one in found]


def _asked(site: Site, plan: Any, names: Sequence[str], **more: Any) -> Asked:
    limits = {"drain-timeout": CHANGED if site.row["control"] == "limits" else TIMEOUT}
    return Asked(site.clock.now(), plan, names, site.peer.erased(), len(site.hosts.begun), limits, **more)
