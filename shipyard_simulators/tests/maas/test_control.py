"""What only the simulator has: its log, scenarios, sites, and random sequences of operations."""

from random import Random

import pytest

from shipyard_simulators.maas.simulator import MaasSimulator
from shipyard_simulators.maas.site import SiteInvalid, parse_site, read_site
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.maas.client import STATUSES, Maas, StartMaas
from shipyard_simulators.tests.programs import FIVE_GROUPS


def test_the_log_has_each_change_with_its_cause(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready}")
    maas.do("n1", "deploy", comment="a-7")
    maas.watch("n1", "Deployed")
    changes = [each for each in maas.control("GET", "log") if each["event"] == "machine" and each["kind"] == "status"]
    answered = [(each["from"], each["to"], each["cause"]["name"], each["cause"]["user"]) for each in changes]
    assert answered == [
        (None, "Ready", "scenario", None),
        ("Ready", "Allocated", "deploy", "shipyard"),
        ("Allocated", "Deploying", "deploy", "shipyard"),
        ("Deploying", "Deployed", "deployment ended", None),
    ]
    asked = {each["number"]: each for each in maas.control("GET", "requests")}
    request = asked[changes[1]["cause"]["request"]]
    assert (request["method"], request["operation"], request["status"]) == ("POST", "deploy", 200)
    assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)


def test_histories_are_kept_after_deletion(start: StartMaas) -> None:
    maas = start("machines: {n1: Ready}")
    maas.call("DELETE", f"machines/{maas.id_of('n1')}/")
    (machine,) = maas.control("GET", "machines")
    assert (machine["status"], machine["changes"][-1]["to"]) == (None, None)
    assert machine["changes"][-1]["cause"]["user"] == "shipyard"


def test_another_scenario_is_played_from_now_on(start: StartMaas) -> None:
    maas = start("machines: {n1: New}")
    answered = maas.control("POST", "scenario", data="{name: bad, machines: {n1: Ready}, nodes: {n1: {deploy: fail}}}")
    assert answered["name"] == "bad"
    maas.do("n1", "deploy")
    maas.watch("n1", "Failed deployment")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("scenario", "nodes: {n1: {fly: fail}}"),
        ("scenario", "region: {requests_at_once: 0}"),
        ("machines", "[{hostname: UPPER}]"),
        ("faults", "[{action: bite}]"),
    ],
)
def test_invalid_control_bodies_are_refused_with_their_faults(maas: Maas, path: str, body: str) -> None:
    answer = maas.call("POST", f"/simulator/{path}", data=body)
    assert answer.status_code == 400
    assert answer.json()["faults"]


def test_a_site_design_is_read(start: StartMaas) -> None:
    with unserved(MaasSimulator(machines=read_site(FIVE_GROUPS))) as simulator:
        maas = Maas(simulator.url)
        machines = {each["hostname"]: each for each in maas.get("machines/")}
        assert len(machines) == 16
        ntp = machines["ntp01"]
        assert (ntp["status_name"], ntp["zone"]["name"]) == ("New", "rack01")
        assert {"ntp", "rack01", "ntp-server__enabled", "site__five-groups"} <= set(ntp["tag_names"])
        assert maas.ask("ntp01", "power_parameters")["power_address"] == "10.23.0.11"
        assert len(maas.get("machines/?tags=compute&zone=rack02")) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not YAML"),
        ("just text", "should be a list of machines"),
        ("[{hostname: n1}, {hostname: n1}]", "'n1' is there twice"),
        ("[{hostname: n1, status: Asleep}]", "machines[0].status"),
        ("[{hostname: n1, colour: red}]", "machines[0].colour is not known"),
        ("[{hostname: n1, tags: x}]", "machines[0].tags should be a list"),
        ("[{hostname: n1, tags: ['a=b']}]", "no name of a tag"),
        ("[{hostname: n1, memory: much}]", "machines[0].memory should be of the type int"),
        ("[7]", "should be"),
    ],
)
def test_sites_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(SiteInvalid) as refused:
        parse_site(text)
    assert message in str(refused.value)


# Every way that a machine may go: by an operation, or as time brings it.
RELEASED = {"Releasing", "Disk erasing"}
WAYS: dict[str, set[str]] = {
    "New": {"Commissioning", "Broken"},
    "Commissioning": {"Testing", "Ready", "New", "Failed commissioning", "Broken"},
    "Failed commissioning": {"Commissioning", "Testing", "Broken"},
    "Testing": set(STATUSES) - {"Commissioning", "Deploying", "Testing"} - RELEASED,
    "Failed testing": {"Testing", "Ready", "Deployed", "Broken"},
    "Ready": {"Commissioning", "Testing", "Allocated", "Broken"},
    "Allocated": {"Deploying", "Testing"} | RELEASED,
    "Deploying": {"Deployed", "Failed deployment", "Allocated"} | RELEASED,
    "Deployed": {"Testing"} | RELEASED,
    "Failed deployment": {"Testing"} | RELEASED,
    "Disk erasing": {"Releasing", "Failed disk erasing", "Broken"},
    "Failed disk erasing": {"Testing"} | RELEASED,
    "Releasing": {"Ready", "Releasing failed", "Broken"},
    "Releasing failed": {"Testing"} | RELEASED,
    "Broken": {"Commissioning", "Testing", "Ready"} | RELEASED,
}


def test_a_random_sequence_of_operations_makes_only_known_transitions(start: StartMaas) -> None:
    nodes = "n0: {prepare: slow}, n1: {deploy: fail, times: 2}, n2: {bmc: flaps}, n3: {erase: fail, times: 1}"
    maas = start(f"{{machines: {{n0: New, n1: New, n2: New, n3: New}}, nodes: {{{nodes}}}}}")
    ids = [maas.id_of(f"n{number}") for number in range(4)]
    words = """
    commission test deploy release abort mark_broken mark_fixed override_failed_testing power_off query_power_state
    release?quick_erase
    """
    operations, random, statuses = words.split(), Random(7), set()
    for _ in range(300):
        operation, _, erase = random.choice(operations).partition("?")
        method = "GET" if operation.startswith("query") else "POST"
        form = {erase: "true"} if erase else {"comment": "x"}
        path = f"machines/{random.choice(ids)}/?op={operation}"
        statuses.add(maas.call(method, path, data=form if method == "POST" else None).status_code)
        maas.clock.passes(random.choice((0, 10, 100, 500)))
    assert statuses == {200, 400, 403, 409}
    for machine in maas.control("GET", "machines"):
        changes = [each for each in machine["changes"] if each["kind"] == "status"]
        assert len(changes) > 10
        assert [each["from"] for each in changes[1:]] == [each["to"] for each in changes[:-1]]
        assert [each["at"] for each in changes] == sorted(each["at"] for each in changes)
        for each in changes[1:]:
            assert each["to"] in WAYS[each["from"]], f"{each['from']} to {each['to']}"
