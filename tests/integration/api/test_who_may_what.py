"""Every route, for every role, with every kind of token: who gets in, and what the others are told."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.identity import IdentityKind, IdentityOptions, Seconds
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.api.mount import Mount
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.programs import launch
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from tests import simulated_keystone
from tests.integration.api import description
from tests.integration.api.conftest import settings
from tests.integration.api.wire import Caller
from tests.unit.tables import every_row

if TYPE_CHECKING:
    from tests.databases import Databases

V1 = "/api/v1.0"
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
WRITE = {"admin", "admin_ucp"}
READ = {*WRITE, "admin_ucp_viewer", "viewer"}
DESIGN = {*READ, "peer"}
HEALTH = {*WRITE, "health"}
OPEN = None

# The contract's table (shipyard-rest, chapter 4) and what we added to it, written down once more and by hand.
EXPECTED: dict[tuple[str, str], set[str] | None] = {
    ("GET", "/versions"): OPEN,
    ("GET", "/.well-known/security.txt"): OPEN,
    ("GET", "/health"): OPEN,
    ("GET", "/health/live"): OPEN,
    ("GET", "/health/ready"): OPEN,
    ("GET", "/metrics"): READ,
    ("GET", "/openapi.json"): OPEN,
    ("GET", f"{V1}/health"): OPEN,
    ("GET", "/oidc"): OPEN,
    ("GET", "/oidc/sign-in"): OPEN,
    ("GET", "/oidc/callback"): OPEN,
    ("POST", "/oidc/sign-out"): OPEN,
    ("GET", "/events"): READ,
    ("POST", "/events/tickets"): READ,
    ("GET", f"{V1}/configdocs"): READ,
    ("GET", f"{V1}/configdocs/design"): READ,
    ("POST", f"{V1}/configdocs/design"): WRITE,
    ("GET", f"{V1}/configdocs/design?cleartext-secrets=true"): WRITE,
    ("GET", f"{V1}/renderedconfigdocs"): DESIGN,
    ("GET", f"{V1}/renderedconfigdocs?cleartext-secrets=true"): {*WRITE, "peer"},
    ("POST", f"{V1}/commitconfigdocs"): WRITE,
    ("GET", f"{V1}/revisions/1/rendered-documents"): DESIGN,
    ("GET", f"{V1}/actions"): READ,
    ("POST", f"{V1}/actions"): WRITE,
    ("GET", f"{V1}/actions/{ULID}"): READ,
    ("POST", f"{V1}/actions/{ULID}/control/pause"): WRITE,
    ("GET", f"{V1}/actions/{ULID}/limits"): READ,
    ("PATCH", f"{V1}/actions/{ULID}/limits"): WRITE,
    ("GET", f"{V1}/actions/{ULID}/reconciliation"): READ,
    ("PATCH", f"{V1}/actions/{ULID}/reconciliation"): WRITE,
    ("GET", f"{V1}/actions/{ULID}/approvals"): READ,
    ("POST", f"{V1}/actions/{ULID}/approvals"): WRITE,
    ("GET", f"{V1}/actions/{ULID}/steps/x"): READ,
    ("GET", f"{V1}/actions/{ULID}/steps/x/logs"): READ,
    ("GET", f"{V1}/actions/{ULID}/validations/x"): READ,
    ("GET", f"{V1}/actions/{ULID}/groups"): READ,
    ("GET", f"{V1}/actions/{ULID}/nodes"): READ,
    ("GET", f"{V1}/actions/{ULID}/overview"): READ,
    ("GET", f"{V1}/actions/{ULID}/node-places"): READ,
    ("GET", f"{V1}/caller"): READ,
    ("GET", f"{V1}/actions/{ULID}/report"): READ,
    ("GET", f"{V1}/actions/{ULID}/tasks"): READ,
    ("GET", f"{V1}/actions/{ULID}/tasks/x/nodes/n1/output"): READ,
    ("GET", f"{V1}/notedetails/{ULID}"): READ,
    ("GET", f"{V1}/workflows"): READ,
    ("GET", f"{V1}/workflows/deploy_site__2026-11-21T01:23:55.638118"): READ,
    ("GET", f"{V1}/nodes"): READ,
    ("GET", f"{V1}/nodes/n1"): READ,
    ("POST", f"{V1}/nodes/n1/holds"): WRITE,
    ("PUT", f"{V1}/nodes/n1/health"): HEALTH,
    ("POST", f"{V1}/adoptions"): WRITE,
    ("GET", f"{V1}/holds"): READ,
    ("GET", f"{V1}/holds/{ULID}"): READ,
    ("DELETE", f"{V1}/holds/{ULID}"): WRITE,
    **{("POST", f"{V1}/nodes/n1/{one.value}"): WRITE for one in NodeOperation},
    ("GET", f"{V1}/nodes/n1/drain-plan"): READ,
    ("GET", f"{V1}/nodes/n1/deploy-steps"): READ,
    ("GET", f"{V1}/nodes/n1/hardware"): READ,
    ("GET", f"{V1}/nodes/n1/tasks"): READ,
    ("GET", f"{V1}/etcd-cluster-health-statuses"): READ,
    ("GET", f"{V1}/site/differences"): READ,
    ("GET", f"{V1}/site_statuses"): READ,
    ("GET", f"{V1}/plans"): READ,
    ("POST", f"{V1}/plans"): READ,
    ("GET", f"{V1}/plans/{ULID}"): READ,
    ("POST", f"{V1}/plans/{ULID}/approvals"): WRITE,
    ("POST", f"{V1}/forecasts"): READ,
    ("GET", f"{V1}/actions/{ULID}/forecast"): READ,
}
ROLES = ("admin", "viewer", "peer", "health", "operator")
NOT_KNOWN = ("Unauthenticated", "Credentials are not established")
NOT_ALLOWED = ("Forbidden", "Credentials do not permit access")


@dataclass(frozen=True)
class Place:
    """An API with a way to get tokens for it."""

    app: Mount
    give: Callable[..., str]
    bad: dict[str, Callable[[str], str | None]]
    challenge: str
    known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def token(self, role: str, what: str = "") -> str | None:
        """A token with that role, or what is none any more; each is made once."""
        if (role, what) not in self.known:
            self.known[role, what] = self.bad[what](role) if what else self.give(role)
        return self.known[role, what]

    def ask(self, method: str, address: str, token: str | None, **headers: str) -> Any:
        path, _, query = address.partition("?")
        return Caller(self.app, token).ask(method, path, query=query or None, headers=headers)


@pytest.fixture(scope="module")
def url(postgres: "Databases") -> Iterator[str]:
    with postgres.migrated() as address:
        yield address


@pytest.fixture(scope="module")
def keystone() -> Iterator[simulated_keystone.Keystone]:
    with simulated_keystone.running() as running:
        yield running


@pytest.fixture(scope="module")
def engine(url: str) -> Iterator[sa.Engine]:
    engine = connect(url, pool_size=2)
    yield engine
    engine.dispose()


def account(keystone: simulated_keystone.Keystone, **more: Any) -> KeystoneOptions:
    """We before the simulated Keystone."""
    told: dict[str, Any] = {"connect_timeout_seconds": 1, "read_timeout_seconds": 2, **more}
    own = {"user": simulated_keystone.ACCOUNT, "password": simulated_keystone.PASSWORD, "project": "service"}
    return KeystoneOptions(auth_url=keystone.url, **{**own, **told})


@pytest.fixture(scope="module")
def places(url: str, engine: sa.Engine, keystone: simulated_keystone.Keystone) -> dict[str, Place]:
    tokens = ApiTokens(Store(engine, ProcrastinateWakeup()))

    def own(role: str, **more: Any) -> str:
        return tokens.create(f"who is {role}", role, **more)[1]

    def revoked(role: str) -> str:
        made, secret = tokens.create("was", role)
        tokens.revoke(made.id)
        return secret

    identity = IdentityOptions(kind=IdentityKind.KEYSTONE, project="site", keystone_cache_seconds=Seconds(60))

    def gone(role: str) -> str:
        token = keystone.give("was", role)
        del keystone.tokens[token]
        return token

    none: dict[str, Callable[[str], str | None]] = {"none": lambda _: None, "nonsense": lambda _: "nonsense"}
    return {
        "token": Place(
            bootstrap.api(settings(url)),
            own,
            {
                **none,
                "expired": lambda role: own(role, lifetime=timedelta(seconds=-1)),
                "revoked": revoked,
                "of Keystone": lambda role: keystone.give("else", role),
            },
            'Token realm="Shipyard"',
        ),
        "keystone": Place(
            bootstrap.api(settings(url, identity=identity, keystone=account(keystone))),
            lambda role, **more: keystone.give(f"who-is-{role}", role, **more),
            {
                **none,
                "expired": lambda role: keystone.give("late", role, seconds=-1),
                "revoked": gone,
                "our own": own,
            },
            f'Keystone uri="{keystone.url}"',
        ),
    }


@pytest.fixture(params=["token", "keystone"])
def place(request: pytest.FixtureRequest, places: dict[str, Place]) -> Place:
    return places[request.param]


def told(answer: Any) -> tuple[Any, Any]:
    return answer.json["message"], answer.json["reason"]


def is_template_of(template: str, path: str) -> bool:
    pairs = list(zip(template.split("/"), path.partition("?")[0].split("/"), strict=False))
    same = len(template.split("/")) == len(path.partition("?")[0].split("/"))
    return same and all(a == b or a.startswith("{") for a, b in pairs)


def test_the_table_has_every_route() -> None:
    served = {(method, path) for method, path, _ in description.airship_operations()}

    left_over = {(method, path) for method, path in served if not any(
        method == one and is_template_of(path, address) for one, address in EXPECTED)}  # fmt: skip
    assert left_over == set()
    assert all(
        any(one == method and is_template_of(path, address) for method, path in served) for one, address in EXPECTED
    )


@pytest.mark.parametrize("role", ROLES)
def test_a_role_gets_in_where_it_may_and_is_forbidden_elsewhere(places: dict[str, Place], role: str) -> None:
    """Which roles a rule has is in the tests of the policy; Keystone's come through to it."""
    of_keystone = {"admin": "admin_ucp", "viewer": "admin_ucp_viewer"}.get(role, role)
    asked = [("token", role, *row) for row in EXPECTED]
    asked += [("keystone", of_keystone, *row) for row in list(EXPECTED)[::6]]

    @every_row(asked)
    def judged(kind: str, role: str, method: str, address: str) -> None:
        allowed = EXPECTED[method, address]
        answer = places[kind].ask(method, address, places[kind].token(role))

        if allowed is OPEN or role in allowed:
            assert answer.status_code not in (401, 403, 417, 500), answer.text
        else:
            assert (answer.status_code, told(answer)) == (403, NOT_ALLOWED)
            assert answer.json["details"]["errorType"] == "ApiError"
            assert "WWW-Authenticate" not in answer.headers

    judged()


def test_who_has_no_token_or_one_that_is_none_is_not_known(places: dict[str, Place]) -> None:
    """What a token allowed is looked at after whether it is one, the same way for every route."""

    @every_row(
        [("token", "none", *row) for row in EXPECTED]
        + [(kind, what, "POST", f"{V1}/commitconfigdocs") for kind, place in places.items() for what in place.bad]
    )
    def unknown(kind: str, what: str, method: str, address: str) -> None:
        place = places[kind]
        answer = place.ask(method, address, place.token("admin", what))

        if EXPECTED[method, address] is OPEN:
            # Nobody is asked who they are; here is no identity provider.
            assert answer.status_code in ((404,) if address.startswith("/oidc") else (200, 204))
        else:
            assert (answer.status_code, told(answer)) == (401, NOT_KNOWN)
            assert answer.headers["WWW-Authenticate"] == place.challenge
            assert (answer.json["details"]["errorType"], answer.json["retry"]) == ("ApiError", False)

    unknown()


def test_a_token_of_keystone_counts_for_its_project_and_may_come_as_a_bearer_token(
    places: dict[str, Place], url: str, keystone: simulated_keystone.Keystone
) -> None:
    place = places["keystone"]
    for project, domain in (("other", "Default"), ("site", "Other"), (None, "Default")):
        answer = place.ask("POST", f"{V1}/actions", place.give("admin", project=project, domain=domain))
        assert answer.status_code == 403, project
        assert told(answer) == ("Forbidden", "The token is not for the project site of the domain Default")
    token = place.give("viewer")
    assert place.ask("GET", f"{V1}/actions", None, Authorization=f"Bearer {token}").status_code == 200
    assert place.ask("GET", f"{V1}/actions", None, **{"X-Storage-Token": token}).status_code == 401
    # Without a project in the settings, the admin of any is admin here.
    any_project = settings(url, identity=IdentityOptions(kind=IdentityKind.KEYSTONE), keystone=account(keystone))
    caller = Caller(bootstrap.api(any_project), keystone.give("bob", "admin", project="whatever"))
    assert caller.post("/commitconfigdocs").status_code not in (401, 403)


def test_the_checks_come_in_the_order_of_the_contract(place: Place, keystone: simulated_keystone.Keystone) -> None:
    """Verbosity, then route and method, then policy, then the body (contract: shipyard-rest, chapter 1)."""
    before = keystone.validations()

    assert place.ask("GET", f"{V1}/actions?verbosity=9", "nonsense").status_code == 400
    assert place.ask("GET", f"{V1}/nothing", "nonsense").status_code == 404
    assert place.ask("DELETE", f"{V1}/actions", "nonsense").status_code == 405
    assert place.ask("OPTIONS", f"{V1}/actions", "nonsense").status_code == 200
    assert place.ask("GET", "/health", "nonsense").status_code == 204
    assert keystone.validations() == before
    assert place.ask("POST", f"{V1}/actions", "nonsense").status_code == 401
    assert place.ask("POST", f"{V1}/actions", place.give("viewer")).status_code == 403
    # Headers that carry identities count for nothing if a caller sends them.
    assert place.ask("GET", f"{V1}/actions", "nonsense", **FORGED).status_code == 401
    assert place.ask("POST", f"{V1}/commitconfigdocs", place.give("viewer"), **FORGED).status_code == 403


FORGED = {
    "X-Identity-Status": "Confirmed",
    "X-Service-Identity-Status": "Confirmed",
    "X-Roles": "admin",
    "X-Service-Roles": "admin",
    "X-User-Id": "root",
    "X-User-Name": "root",
    "X-Project-Name": "site",
    "X-Project-Domain-Name": "Default",
    "X-Is-Admin-Project": "True",
}


SLOW = IdentityOptions(token_cache_seconds=Seconds(3600))


def test_a_known_token_costs_no_query_and_none_is_taken_from_memory_when_memory_is_off(
    url: str, engine: sa.Engine
) -> None:
    made, secret = ApiTokens(Store(engine, ProcrastinateWakeup())).create("eve", "admin")
    remembers, forgets = (
        Caller(bootstrap.api(settings(url, identity=SLOW)), secret),
        Caller(bootstrap.api(settings(url)), secret),
    )
    assert [one.get("/actions").status_code for one in (remembers, forgets)] == [200, 200]

    ApiTokens(Store(engine, ProcrastinateWakeup())).revoke(made.id)

    assert [one.get("/actions").status_code for one in (remembers, forgets)] == [200, 401]
    fresh = Caller(bootstrap.api(settings(url, identity=SLOW)), secret)
    assert fresh.get("/actions").status_code == 401


def test_who_acts_is_told_by_the_action_and_by_keystones_name(places: dict[str, Place]) -> None:
    place = places["keystone"]
    answer = place.ask("POST", f"{V1}/actions", place.give("admin"), **{"Content-Type": "application/json"})
    assert answer.status_code == 400

    client = Caller(place.app, place.give("admin"))
    made = client.post("/actions", json.dumps({"name": "test_site"}), {"Content-Type": "application/json"})
    assert made.status_code == 201, made.text
    assert made.json["user"] == "who-is-admin"


@pytest.fixture
def policy_of(url: str, tmp_path: Any) -> Callable[[str], Place]:
    def make(text: str) -> Place:
        file = tmp_path / "policy.yaml"
        file.write_text(text)
        made = settings(url)
        app = bootstrap.api(replace(made, policy=replace(made.policy, file=str(file))))
        tokens = ApiTokens(launch.tokens(made).store)
        return Place(app, lambda role: tokens.create(role, role)[1], {}, "")

    return make


def test_a_policy_file_changes_who_may_what(policy_of: Callable[[str], Place]) -> None:
    place = policy_of(
        '"workflow_orchestrator:list_actions": "role:night-watch"\n"read_access": "role:auditor"\n'
        '"workflow_orchestrator:action_test_site": "role:tester"\n"software:update_graph": "role:author"\n'
        '"workflow_orchestrator:list_workflows": "role:anyone"\n'
        '"write_access": "role:author or role:operator or role:admin"'
    )
    run = json.dumps({"name": "update_software", "parameters": {"nodes": ["n1"], "command": "id"}})

    for path, role, code in (
        *(("/actions", "night-watch", 200), ("/actions", "admin", 403)),
        *(("/nodes", "auditor", 200), ("/nodes", "admin", 403), ("/workflows", "operator", 200)),
    ):
        assert place.ask("GET", f"{V1}{path}", place.give(role)).status_code == code, (path, role)
    assert place.ask("GET", f"{V1}/workflows", None).status_code == 401
    # The rule of an action is asked as well, and a command on nodes takes the right to change tasks.
    refused = Caller(place.app, place.give("admin")).act('{"name": "test_site"}')
    assert (refused.status_code, told(refused)) == (403, NOT_ALLOWED)
    answers = [Caller(place.app, place.give(role)).act(run) for role in ("operator", "author")]
    assert [answer.status_code for answer in answers] == [403, 400]


REDEPLOY = {"name": "redeploy_server", "parameters": {"target_nodes": ["n1"], "on_blocked": "delete"}}
UNDRAINED = {"name": "power_cycle", "parameters": {"target_nodes": ["n1"], "drain": "false"}}
COMMAND = {"name": "update_software", "parameters": {"nodes": ["n1"], "command": "id"}}
CHANGES = [
    (f"workflow_orchestrator:action_{action}", "POST", f"{V1}/actions", {"name": "update_site", "parameters": given})
    for action, given in (
        ("service_server", {"on-change": "least"}),
        ("redeploy_server", {"on-change": "reinstall"}),
        ("remove_server", {"on-removed": "remove"}),
    )
]
SECOND_RULES: list[tuple[str, str, str, object]] = [
    ("workflow_orchestrator:action_test_site", "POST", f"{V1}/actions", {"name": "test_site"}),
    ("workflow_orchestrator:action_delete_blocked", "POST", f"{V1}/actions", REDEPLOY),
    ("workflow_orchestrator:action_delete_blocked", "POST", f"{V1}/actions", UNDRAINED),
    *CHANGES,
    ("software:update_graph", "POST", f"{V1}/actions", COMMAND),
    ("workflow_orchestrator:create_action", "POST", f"{V1}/actions/{ULID}/control/retry", None),
    ("workflow_orchestrator:store_plan", "POST", f"{V1}/plans?store=true", {"name": "deploy_site"}),
    ("workflow_orchestrator:action_update_software", "PUT", "/api/v1/clusters/1/deploy", {}),
    ("workflow_orchestrator:action_update_software", "PUT", "/api/v1/clusters/1/deploy_tasks", ["a"]),
    ("workflow_orchestrator:get_action_step_logs", "GET", f"/events?action={ULID}", None),
    ("workflow_orchestrator:list_actions", "GET", "/events", None),
]


def test_the_second_rule_of_a_request_is_asked_as_well(policy_of: Callable[[str], Place]) -> None:
    rules = "\n".join(f'"{rule}": "role:special"' for rule in {rule for rule, *_ in SECOND_RULES})
    both = "role:special or role:admin"
    place = policy_of(f'{rules}\n"write_access": "{both}"\n"read_access": "{both}"')
    for rule, method, path, body in SECOND_RULES:
        target, _, query = path.partition("?")
        for role in ("admin", "special") if path != "/events" else ("admin",):
            caller = Caller(place.app, place.give(role))
            headers = {"Content-Type": "application/json"}
            answer = caller.ask(method, target, query=query, body=json.dumps(body), headers=headers)
            assert (answer.status_code == 403) == (role == "admin"), (rule, role, answer.text)


def test_rules_that_cannot_be_evaluated_let_nobody_in(policy_of: Callable[[str], Place]) -> None:
    """Contract: shipyard-rest, chapter 3."""
    place = policy_of('"workflow_orchestrator:list_actions": "http://127.0.0.1:9/%(user_id)s"')

    answer = place.ask("GET", f"{V1}/actions", place.give("admin"))

    assert (answer.status_code, told(answer)) == (417, ("Expectation Failed", None))
    assert answer.json["details"]["errorType"] == "ApiError"
    assert answer.json["retry"] is False
    assert place.ask("GET", f"{V1}/nodes", place.give("admin")).status_code == 200
