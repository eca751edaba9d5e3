"""Creating, patching, claiming and deleting nodes."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic, add


def test_of_concurrent_claims_of_a_node_one_succeeds(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    with ThreadPoolExecutor(8) as pool:
        takers = [str(uuid4()) for _ in range(16)]
        answers = list(pool.map(lambda taker: shared.patch(name, add("/instance_uuid", taker)).status_code, takers))

    assert sorted(answers) == [200, *[409] * 15]
    assert shared.node(name)["instance_uuid"] == takers[answers.index(200)]


def test_of_concurrent_verbs_one_is_accepted(shared: Ironic, name: str) -> None:
    shared.at(name, "available")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: shared.verb(name, "active").status_code, range(16)))

    assert answers.count(202) == 1
    assert set(answers) <= {202, 400, 409}
    shared.until(name, "active")
    assert shared.steps(name) == DEFAULTS


def test_reading_meanwhile_never_breaks(start: StartIronic) -> None:
    ironic = start(site=[SiteNode(f"n{number}") for number in range(40)], site_state="available")

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ironic.verb, f"n{number}", "active") for number in range(40)]
        lists = [pool.submit(ironic.call, "GET", "/v1/nodes/detail") for _ in range(20)]

    assert {each.result().status_code for each in asked} == {202}
    assert {each.result().status_code for each in lists} == {200}
