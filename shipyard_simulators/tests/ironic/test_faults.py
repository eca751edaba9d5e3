"""Faults of the service."""

import pytest
import requests

from shipyard_simulators.tests.ironic.client import StartIronic, add, said


@pytest.mark.parametrize(
    ("status", "text"), [(409, "Node n1 is locked by host"), (503, "lack of free conductor workers"), (500, "database")]
)
def test_a_fault_of_the_service_speaks_as_ironic_does(start: StartIronic, status: int, text: str) -> None:
    ironic = start(f"service: [{{method: PATCH, path: '/nodes/*', status: {status}, first: 1}}]")
    ironic.create("n1")

    answer = ironic.patch("n1", add("/extra/a", 1))

    assert (answer.status_code, text in said(answer)) == (status, True)
    assert ironic.node("n1")["extra"] == {}
    assert ironic.patch("n1", add("/extra/a", 1)).status_code == 200


@pytest.mark.parametrize(("action", "effect"), [("drop", False), ("drop_after_effect", True)])
def test_a_connection_is_cut(start: StartIronic, action: str, effect: bool) -> None:
    ironic = start(f"service: [{{method: PUT, path: '/nodes/*/states/provision', action: {action}, first: 1}}]")
    ironic.create("n1")

    with pytest.raises(requests.ConnectionError):
        ironic.verb("n1", "manage")

    ironic.clock.passes(60)
    assert ("manageable" in ironic.states("n1")) is effect
    assert ironic.get("/simulator/requests")[-1]["fault"] == action


def test_faults_can_be_played_while_it_runs(start: StartIronic) -> None:
    ironic = start()
    answer = ironic.call("POST", "/simulator/faults", [{"path": "/nodes", "status": 503}])
    assert answer.json() == {"count": 1}
    assert ironic.call("GET", "/v1/nodes").status_code == 503
    ironic.call("DELETE", "/simulator/faults")
    assert ironic.call("GET", "/v1/nodes").status_code == 200
    assert ironic.call("POST", "/simulator/faults", [{"color": 1}]).status_code == 400
