"""What no story can say: requests at the same time, random ones, and the size of an answer."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

from shipyard_simulators.tests.maas.player import simulated
from shipyard_simulators.tests.waiting import MeetingClock


def test_requests_wait_for_their_turn() -> None:
    scenario = {"machines": {"n1-never-bmc": "Deployed"}, "region": {"requests_at_once": 2}}
    with simulated(scenario, clock=MeetingClock(2)) as maas, ThreadPoolExecutor(6) as pool:
        list(pool.map(maas.get, ["machines/<n1-never-bmc>/?op=query_power_state"] * 6))
        assert max(each["at_once"] for each in maas.get("/simulator/requests")) == 2


def test_two_callers_never_get_the_same_machine() -> None:
    with simulated({"machines": {f"n{number}": "Ready" for number in range(8)}}) as maas, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(maas.call, ["POST machines/?op=allocate"] * 12))
        assert sorted(answer.status for answer in answers) == [200] * 8 + [409] * 4
        assert len({answer.text for answer in answers if answer.status == 200}) == 8


def test_a_machine_is_as_large_as_maas_documents_it() -> None:
    with simulated({"machines": {"n1": "Ready"}}) as maas:
        maas.call("GET machines/")
        (asked,) = maas.get("/simulator/requests")
        assert 17_000 < asked["sent"] < 20_000


# Every way that a machine may go: by an operation, or as time brings it.
RELEASED = {"Releasing", "Disk erasing"}
KEPT = {"Allocated", "Deployed"}
FAILED = {"Failed deployment", "Failed disk erasing", "Releasing failed"}
WAYS: dict[str, set[str]] = {
    "New": {"Commissioning"},
    "Commissioning": {"Testing", "Ready", "New", "Failed commissioning", "Broken"},
    "Failed commissioning": {"Commissioning", "Testing", "Broken"},
    "Testing": {"Ready", "Failed testing", "Failed commissioning", "Broken"} | KEPT | FAILED,
    "Failed testing": {"Testing", "Ready", "Deployed", "Broken"},
    "Ready": {"Commissioning", "Testing", "Allocated"},
    "Allocated": {"Deploying", "Testing"} | RELEASED,
    "Deploying": {"Deployed", "Failed deployment", "Allocated"} | RELEASED,
    "Disk erasing": {"Releasing", "Failed disk erasing", "Broken"},
    "Releasing": {"Ready", "Releasing failed", "Broken"},
    "Broken": {"Commissioning", "Testing", "Ready"} | RELEASED,
    **dict.fromkeys({"Deployed"} | FAILED, {"Testing"} | RELEASED),
}


def test_a_random_sequence_of_operations_makes_only_known_transitions() -> None:
    rules = {"n0": {"prepare": "slow"}, "n1": {"deploy": "fail", "times": 2}, "n2": {"bmc": "flaps"}}
    rules |= {"n3": {"erase": "fail", "times": 1}}
    words = """
    commission test deploy release abort mark_broken mark_fixed override_failed_testing power_off query_power_state
    release?quick_erase
    """
    operations, random, statuses = words.split(), Random(7), set()
    with simulated({"machines": dict.fromkeys(rules, "New"), "nodes": rules}) as maas:
        for _ in range(300):
            operation, _, erase = random.choice(operations).partition("?")
            method = "GET" if operation.startswith("query") else "POST"
            path = f"machines/<n{random.randrange(4)}>/?op={operation}"
            statuses.add(maas.call(f"{method} {path}", {erase: "true"} if erase else None).status)
            maas.clock.passes(random.choice((0, 10, 100, 500)))
        events = maas.get("events/?op=query")
        histories = [machine["changes"] for machine in maas.get("/simulator/machines")]
    assert statuses == {200, 400, 403, 409}
    assert (events["count"], len(events["events"])) == (100, 100)
    for history in histories:
        changes = [each for each in history if each["kind"] == "status"]
        assert len(changes) > 10
        assert [each["from"] for each in changes[1:]] == [each["to"] for each in changes[:-1]]
        assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)
        for each in changes[1:]:
            assert each["to"] in WAYS[each["from"]], f"{each['from']} to {each['to']}"
