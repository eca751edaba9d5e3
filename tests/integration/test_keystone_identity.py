"""A real Keystone in front of our API, as ``[identity] kind = keystone`` has it: gunicorn, tokens as curl gets them.

Runs where KEYSTONE_URL names one that the recipe run_keystone.sh has filled: the service account shipyard, and in the
project demo the users operator (member) and viewer (reader). KEYSTONE_PASSWORD is the password of its admin. Start it
with KEYSTONE_TOKEN_TTL=15, or the test that waits for the end of a token is left out. KEYSTONE_PID_FILE names the file
with its process id: with it Keystone is halted for a moment, and goes on, if no other tests run meanwhile (`-n 0`).
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from shipyard_api.child_processes import die_with_parent
from shipyard_api.wiring.settings import share_directory
from tests.waiting import PATIENCE

URL = os.environ.get("KEYSTONE_URL", "").rstrip("/")
ADMIN_PASSWORD = os.environ.get("KEYSTONE_PASSWORD", "admin-pw")
ACCOUNT_PASSWORD = os.environ.get("SHIPYARD_PASSWORD", "shipyard-pw")
PID_FILE = os.environ.get("KEYSTONE_PID_FILE", "")
LONGEST_WAIT = 60.0  # seconds that a test waits for a token to end, or for Keystone to be asked again

pytestmark = pytest.mark.skipif(not URL, reason="KEYSTONE_URL names no real Keystone")


def token_of(user: str, password: str, project: str | None) -> requests.Response:
    """Ask for a token as `openstack token issue` and curl do."""
    domain = {"id": "default"}
    identity = {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}}
    scope = {"scope": {"project": {"name": project, "domain": domain}}} if project else {"scope": "unscoped"}
    answer = requests.post(f"{URL}/auth/tokens", json={"auth": {"identity": identity, **scope}}, timeout=PATIENCE)
    assert answer.status_code == 201, answer.text
    return answer


def token(user: str, password: str, project: str | None) -> str:
    return token_of(user, password, project).headers["X-Subject-Token"]


class Directory:
    """Users and roles that a test makes, and that are gone after it."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        # A token for each request: an API that starts meanwhile may take longer than one lasts.
        headers["X-Auth-Token"] = token("admin", ADMIN_PASSWORD, "admin")
        answer = requests.request(method, f"{URL}/{path}", json=body, headers=headers, timeout=PATIENCE)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def _make(self, kind: str, **fields: object) -> Any:
        made = self.ask("POST", f"{kind}s", {kind: fields})[kind]
        self._made.append(f"{kind}s/{made['id']}")
        return made

    def role(self, name: str) -> str:
        found = self.ask("GET", f"roles?name={name}")["roles"] or [self._make("role", name=name)]
        return str(found[0]["id"])

    def user(self, project: str, *roles: str) -> tuple[str, str]:
        """Return the name and the password of a new user with these roles in a project."""
        name, password = f"t-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        [found] = self.ask("GET", f"projects?name={project}")["projects"]
        user = self._make("user", name=name, domain_id="default", password=password)
        for role in roles:
            self.ask("PUT", f"projects/{found['id']}/users/{user['id']}/roles/{self.role(role)}")
        return name, password

    def revoke(self, revoked: str) -> None:
        self.ask("DELETE", "auth/tokens", **{"X-Subject-Token": revoked})

    def remove(self) -> None:
        for one in reversed(self._made):
            self.ask("DELETE", one)


@pytest.fixture
def directory() -> Iterator[Directory]:
    made = Directory()
    yield made
    made.remove()


@dataclass(frozen=True)
class Api:
    """Our API, as a program."""

    url: str

    def ask(self, method: str, path: str, shown: str | None = None, **headers: str) -> requests.Response:
        sent = {"X-Auth-Token": shown, **headers} if shown else headers
        return requests.request(method, f"{self.url}{path}", headers=sent, timeout=PATIENCE)

    def see(self, shown: str, **headers: str) -> int:
        return self.ask("GET", "/api/v1.0/actions", shown, **headers).status_code


@contextmanager
def serving(database_url: str, log: Path, **settings: str) -> Iterator[Api]:
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as out:
        told = {
            "SHIPYARD_CONFIG": os.devnull,
            "DATABASE_URL": database_url,
            "SHIPYARD_BIND": f"fd://{listener.fileno()}",
            "SHIPYARD_API_WORKERS": "1",
            "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
            "SHIPYARD_IDENTITY_KIND": "keystone",
            "SHIPYARD_KEYSTONE_AUTH_URL": URL,
            "SHIPYARD_KEYSTONE_USER": "shipyard",
            "SHIPYARD_KEYSTONE_PASSWORD": ACCOUNT_PASSWORD,
            "SHIPYARD_KEYSTONE_PROJECT": "service",
            **settings,
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
        configuration = share_directory() / "etc" / "gunicorn.conf.py"
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", str(configuration), "shipyard_api.programs.asgi:app"],
            env={**kept, **told},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            pass_fds=(listener.fileno(),),
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            api = Api(f"http://127.0.0.1:{listener.getsockname()[1]}")
            answer = api.ask("GET", "/health")
            assert answer.status_code == 204, answer.text
            yield api
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture(scope="module")
def api(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(module_database_url, tmp_path_factory.mktemp("api") / "api.log") as running:
        yield running


@pytest.fixture
def other(database_url: str, tmp_path: Path) -> Callable[..., Any]:
    """Makes an API with other settings."""
    return lambda **settings: serving(database_url, tmp_path / "other.log", **settings)


def told(answer: requests.Response) -> tuple[int, Any, Any]:
    return answer.status_code, answer.json()["message"], answer.json()["reason"]


NOT_KNOWN = (401, "Unauthenticated", "Credentials are not established")
NOT_ALLOWED = (403, "Forbidden", "Credentials do not permit access")


def test_the_token_of_an_administrator_sees_and_changes(api: Api) -> None:
    admin = token("admin", ADMIN_PASSWORD, "admin")

    assert api.see(admin) == 200
    answer = api.ask("POST", "/api/v1.0/actions", admin)
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("user", ["viewer", "operator"])
def test_a_user_whose_roles_no_rule_names_is_forbidden(api: Api, user: str) -> None:
    """The users of the recipe: a reader and a member of the project demo."""
    shown = token(user, "demo-pw", "demo")

    for method, path in (("GET", "actions"), ("POST", "actions"), ("GET", "nodes"), ("POST", "commitconfigdocs")):
        assert told(api.ask(method, f"/api/v1.0/{path}", shown)) == NOT_ALLOWED


@pytest.mark.parametrize(
    ("role", "sees", "changes"),
    [("admin_ucp", 200, 400), ("admin_ucp_viewer", 200, 403), ("viewer", 200, 403), ("peer", 403, 403)],
)
def test_roles_mean_what_the_rules_say(api: Api, directory: Directory, role: str, sees: int, changes: int) -> None:
    shown = token(*directory.user("demo", role), "demo")

    assert api.see(shown) == sees
    assert api.ask("POST", "/api/v1.0/actions", shown).status_code == changes


def test_a_policy_file_can_name_roles_of_keystone(other: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"read_access": "rule:write_access or role:reader"')

    with other(SHIPYARD_POLICY_FILE=str(file)) as api:
        assert api.see(token("viewer", "demo-pw", "demo")) == 200
        assert api.ask("POST", "/api/v1.0/commitconfigdocs", token("viewer", "demo-pw", "demo")).status_code == 403


@pytest.mark.parametrize("shown", [None, "nonsense", "gAAAAABm" + "x" * 180])
def test_whoever_is_not_known_is_told_where_tokens_are(api: Api, shown: str | None) -> None:
    answer = api.ask("GET", "/api/v1.0/actions", shown)

    assert told(answer) == NOT_KNOWN
    assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{URL}"'


def test_headers_that_pretend_to_come_from_the_middleware_count_for_nothing(api: Api) -> None:
    forged = {"X-Identity-Status": "Confirmed", "X-Roles": "admin", "X-User-Id": "x", "X-Project-Id": "y"}

    assert told(api.ask("GET", "/api/v1.0/actions", None, **forged)) == NOT_KNOWN
    assert told(api.ask("GET", "/api/v1.0/actions", token("viewer", "demo-pw", "demo"), **forged)) == NOT_ALLOWED


def test_a_token_for_no_project_is_good_for_nothing(api: Api) -> None:
    assert told(api.ask("GET", "/api/v1.0/actions", token("viewer", "demo-pw", None)))[0] in (401, 403)


def test_the_service_acts_as_itself_when_it_shows_its_own_token(
    other: Callable[..., Any], directory: Directory
) -> None:
    service, no_service = directory.user("service", "service", "admin"), directory.user("service", "admin")
    with other(SHIPYARD_IDENTITY_PROJECT="service") as api:
        user = token("viewer", "demo-pw", "demo")
        assert api.see(user) == 403
        assert api.see(user, **{"X-Service-Token": token(*service, "service")}) == 200
        assert api.see(user, **{"X-Service-Token": token(*no_service, "service")}) == 401


def test_a_token_of_another_project_is_refused_if_one_is_set(other: Callable[..., Any]) -> None:
    with other(SHIPYARD_IDENTITY_PROJECT="demo") as api:
        answer = api.ask("GET", "/api/v1.0/actions", token("admin", ADMIN_PASSWORD, "admin"))

    assert told(answer) == (403, "Forbidden", "The token is not for the project demo of the domain Default")


def test_a_token_that_has_ended_is_not_good_although_it_was_known(api: Api) -> None:
    issued = token_of("admin", ADMIN_PASSWORD, "admin")
    shown, body = issued.headers["X-Subject-Token"], issued.json()["token"]
    lifetime = (datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["issued_at"])).total_seconds()
    if lifetime > LONGEST_WAIT:
        pytest.skip(f"tokens of this Keystone last {lifetime:g} s: start it with KEYSTONE_TOKEN_TTL=15")
    assert api.see(shown) == 200

    time.sleep(lifetime + 1)

    assert told(api.ask("GET", "/api/v1.0/actions", shown)) == NOT_KNOWN


def test_a_revoked_token_is_good_for_no_longer_than_it_is_remembered(
    other: Callable[..., Any], directory: Directory
) -> None:
    user = directory.user("demo", "viewer")
    with other(SHIPYARD_IDENTITY_KEYSTONE_CACHE_SECONDS="0") as api:
        shown = token(*user, "demo")
        assert api.see(shown) == 200
        directory.revoke(shown)
        assert api.see(shown) == 401


@pytest.mark.skipif(not PID_FILE, reason="KEYSTONE_PID_FILE does not say which process Keystone is")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="it would keep Keystone from other tests: use -n 0")
def test_without_keystone_callers_who_are_known_go_on_and_others_are_told_to_come_back(api: Api) -> None:
    known, unknown = token("admin", ADMIN_PASSWORD, "admin"), token("admin", ADMIN_PASSWORD, "admin")
    assert api.see(known) == 200

    shown = [unknown, *(uuid.uuid4().hex for _ in range(15))]
    with halted(int(Path(PID_FILE).read_text())), ThreadPoolExecutor(len(shown)) as strangers:
        asked = [strangers.submit(api.ask, "GET", "/api/v1.0/actions", one) for one in shown]
        for _ in range(20):
            assert api.see(known) == 200
            assert api.ask("GET", "/api/v1.0/health").status_code == 204
        answers = [one.result() for one in asked]
        answers.append(api.ask("GET", "/api/v1.0/actions", unknown))

    for answer in answers:
        assert answer.status_code == 503
        assert answer.json()["message"] == "Keystone does not answer as it should"
        assert answer.json()["retry"] is True
    fresh, deadline = token("admin", ADMIN_PASSWORD, "admin"), time.monotonic() + LONGEST_WAIT
    while api.see(fresh) != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)


@contextmanager
def halted(master: int) -> Iterator[None]:
    """Keep Keystone's processes from running; it is started by somebody else, and goes on afterwards."""
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    processes = [master, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
