"""A real Ironic that wants tokens of a real Keystone: they end, are revoked, are refused, and are for too little.

Runs where the environment names both (``tests/real_ironic.py``). Users, projects and nodes are its own, and removed
again. Start Keystone with ``KEYSTONE_TOKEN_TTL=15``, or the tests that wait for the end of a token are left out.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.keystone.tokens import Tokens
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import JobReport, JobState, Marker, Operation, Work
from shipyard_api.wiring import provisioners
from shipyard_api.wiring.settings import load
from tests import real_ironic
from tests.real_ironic import KEYSTONE_URL, call, remove
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(
    not (real_ironic.URL and KEYSTONE_URL), reason="IRONIC_URL and KEYSTONE_URL name no real Ironic with its Keystone"
)

LONGEST_WAIT = 60.0  # seconds that a test waits for a token to end
PASSWORD = "pw-" + uuid.uuid4().hex


class Keystone:
    """The real service, asked by the user who may do everything; what is made here is removed again."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        headers |= {"X-Auth-Token": real_ironic.admin_tokens().token()}
        answer = requests.request(method, f"{KEYSTONE_URL}/{path}", json=body, headers=headers, timeout=PATIENCE)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def make(self, kind: str, **fields: object) -> Any:
        made = self.ask("POST", f"{kind}s", {kind: fields})[kind]
        self._made.append(f"{kind}s/{made['id']}")
        return made

    def project(self) -> Any:
        return self.make("project", name=f"t-{uuid.uuid4().hex[:8]}", domain_id="default")

    def user(self) -> Any:
        return self.make("user", name=f"t-{uuid.uuid4().hex[:8]}", domain_id="default", password=PASSWORD)

    def give(self, role: str, user: Any, project: Any) -> None:
        [found] = self.ask("GET", f"roles?name={role}")["roles"]
        self.ask("PUT", f"projects/{project['id']}/users/{user['id']}/roles/{found['id']}")

    def announce(self, url: str, region: str) -> None:
        """Put an Ironic into the catalog."""
        self.make("region", id=region)
        service = self.make("service", type="baremetal", name="ironic", enabled=True)
        for interface, address in {"public": "http://127.0.0.1:9", "internal": url}.items():
            self.make("endpoint", service_id=service["id"], interface=interface, region_id=region, url=address)

    def remove(self) -> None:
        for one in reversed(self._made):
            self.ask("DELETE", one)


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    real = Keystone()
    yield real
    real.remove()


class Nodes:
    """Freshly enrolled nodes, of a project or of nobody."""

    def __init__(self) -> None:
        self.names: list[NodeName] = []

    def enrol(self, owner: str | None = None) -> NodeName:
        name = NodeName(f"t{uuid.uuid4().hex[:8]}")
        call("POST", "/v1/nodes", {"driver": "fake-hardware", "name": name, "owner": owner})
        self.names.append(name)
        return name

    def inventory(self, _: int) -> Inventory:
        return Inventory.of(map(Node, self.names))

    def remove(self) -> None:
        remove(self.names)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    enrolled = Nodes()
    yield enrolled
    enrolled.remove()


def options(user: Any, project: Any, **changes: Any) -> KeystoneOptions:
    told = {"user": user["name"], "password": PASSWORD, "project": project["name"], **changes}
    return KeystoneOptions(auth_url=KEYSTONE_URL, **told)


def port_of(tokens: Tokens, nodes: Nodes) -> IronicProvisioner:
    client = IronicClient(real_ironic.URL, token=tokens.token, renew_token=tokens.renew)
    return IronicProvisioner(client, nodes.inventory)


def run(port: Any, operation: Operation, *names: NodeName) -> JobReport:
    work = Work(operation, "revision:1", names)
    job = port.submit(Marker(str(uuid.uuid4())), work)

    def ended() -> JobReport | None:
        report: JobReport = port.report(job, work)
        return None if report.state is JobState.RUNNING else report

    return until(ended, every=0.1)


class Counted(KeystoneClient):
    """A client that keeps what it was given."""

    def __init__(self, told: KeystoneOptions) -> None:
        super().__init__(told)
        self.grants: list[Any] = []

    def grant(self) -> Any:
        self.grants.append(super().grant())
        return self.grants[-1]


@pytest.fixture
def admin() -> Counted:
    """A client of the user who may do everything."""
    settings = load(real_ironic.settings())
    return Counted(settings.keystone)


def short_lived(client: Counted) -> float:
    """Return how long tokens last, in seconds; skips the test if that is too long to wait for."""
    lifetime: float = client.grant().lifetime
    client.grants.clear()
    if lifetime > LONGEST_WAIT:
        pytest.skip(f"tokens of this Keystone last {lifetime:g} s: start it with KEYSTONE_TOKEN_TTL=15")
    return lifetime


def test_as_the_settings_say_nodes_are_prepared_and_deployed_by_an_ironic_out_of_the_catalog(
    keystone: Keystone, nodes: Nodes
) -> None:
    region = f"t-{uuid.uuid4().hex[:8]}"
    keystone.announce(f"{real_ironic.URL}/v1", region)
    catalog = {"SHIPYARD_IRONIC_URL": "", "SHIPYARD_KEYSTONE_INTERFACE": "internal", "SHIPYARD_KEYSTONE_REGION": region}
    port = provisioners.provisioner(load(real_ironic.settings() | catalog), nodes.inventory)
    names = [nodes.enrol(), nodes.enrol()]
    port.check_health()
    assert run(port, Operation.PREPARE_NODES, *names).ok
    assert run(port, Operation.DEPLOY_NODES, *names).ok
    assert {one.status for one in port.conditions() if one.name in names} == {"active"}


def test_a_region_without_ironic_is_refused(keystone: Keystone, nodes: Nodes) -> None:
    del keystone
    catalog = {"SHIPYARD_IRONIC_URL": "", "SHIPYARD_KEYSTONE_REGION": "nowhere"}
    port = provisioners.provisioner(load(real_ironic.settings() | catalog), nodes.inventory)
    with pytest.raises(Refused, match="no public endpoint of a baremetal service in region nowhere"):
        port.check_health()


def test_work_goes_on_when_tokens_end(admin: Counted, nodes: Nodes) -> None:
    lifetime = short_lived(admin)
    port, name = port_of(Tokens(admin), nodes), nodes.enrol()
    end = time.monotonic() + 2 * lifetime
    while time.monotonic() < end:
        port.check_health()
        assert [one.status for one in port.conditions() if one.name == name] == ["enroll"]
        time.sleep(0.5)
    assert len({one.token for one in admin.grants}) == len(admin.grants) == 3  # for the first 3/4 of their time, each


def test_a_token_that_ends_before_its_time_is_renewed_by_the_request_that_meets_it(
    admin: Counted, nodes: Nodes
) -> None:
    lifetime = short_lived(admin)
    port, name = port_of(Tokens(admin, monotonic=lambda: 0.0), nodes), nodes.enrol()
    assert run(port, Operation.PREPARE_NODES, name).ok
    time.sleep(lifetime + 1)
    assert run(port, Operation.DEPLOY_NODES, name).ok
    assert len(admin.grants) == 2


def test_a_revoked_token_is_renewed(admin: Counted, nodes: Nodes, keystone: Keystone) -> None:
    tokens = Tokens(admin)
    keystone.ask("DELETE", "auth/tokens", **{"X-Subject-Token": tokens.token()})
    port_of(tokens, nodes).check_health()
    assert len(admin.grants) == 2


def test_a_wrong_password_is_refused_and_not_told(keystone: Keystone, nodes: Nodes) -> None:
    user, project = keystone.user(), keystone.project()
    keystone.give("admin", user, project)
    wrong = "wr0ng-" + uuid.uuid4().hex
    with pytest.raises(Refused) as refused:
        port_of(Tokens(KeystoneClient(options(user, project, password=wrong))), nodes).check_health()
    told = str(refused.value)
    assert "answered 401" in told
    assert user["name"] in told
    assert project["name"] in told
    assert wrong not in told


@pytest.mark.parametrize("changes", [{}, {"project": "there-is-none"}, {"user_domain": "there-is-none"}])
def test_a_user_without_a_role_is_refused(keystone: Keystone, nodes: Nodes, changes: dict[str, str]) -> None:
    told = replace(options(keystone.user(), keystone.project()), **changes)
    with pytest.raises(Refused, match="answered 401") as refused:
        port_of(Tokens(KeystoneClient(told)), nodes).check_health()
    assert {name for name in (told.user, told.project, told.user_domain) if name not in str(refused.value)} == set()


def test_the_nodes_of_a_project_are_enough_for_its_administrator(keystone: Keystone, nodes: Nodes) -> None:
    user, project = keystone.user(), keystone.project()
    keystone.give("admin", user, project)
    ours, foreign = nodes.enrol(project["id"]), nodes.enrol()
    port = port_of(Tokens(KeystoneClient(options(user, project))), nodes)
    port.check_health()
    assert [one.name for one in port.conditions()] == [ours]
    assert [one.message for one in port.validate_design("revision:1") if foreign in one.message]
    assert run(port, Operation.PREPARE_NODES, ours).ok
    assert run(port, Operation.DEPLOY_NODES, ours).ok


def test_a_role_that_may_only_look_is_refused_with_what_ironic_says(keystone: Keystone, nodes: Nodes) -> None:
    user, project = keystone.user(), keystone.project()
    keystone.give("reader", user, project)
    ours = nodes.enrol(project["id"])
    before = call("GET", f"/v1/nodes/{ours}")
    port = port_of(Tokens(KeystoneClient(options(user, project))), nodes)
    port.check_health()
    with pytest.raises(Refused, match=r"may change none of the nodes.*Access was denied"):
        run(port, Operation.PREPARE_NODES, ours)
    assert call("GET", f"/v1/nodes/{ours}") == before
