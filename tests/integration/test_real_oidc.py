"""A real OpenID provider before our API: bearer tokens, the page's sign-in as a browser plays it, and `shipyard login`.

Runs where ``OIDC_PROVIDER`` names a directory with oidc-provider of npm (``.ci/real_oidc.py``), and authlib and joserfc
are installed.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
import requests

from shipyard_api.child_processes import die_with_parent
from tests.conftest import ROOT
from tests.integration.api.served import Server, gunicorn
from tests.openid import PROVIDER, provider
from tests.sshd import free_port
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(not PROVIDER, reason="OIDC_PROVIDER names no real OpenID provider")

ACTIONS = "/api/v1.0/actions"


@dataclass(frozen=True)
class World:
    """Our API, and the port and the page that the provider is for."""

    server: Server
    page: str
    port: int

    def get(self, path: str, token: str = "", **headers: str) -> requests.Response:
        sent = {"Authorization": f"Bearer {token}", **headers} if token else headers
        return requests.get(f"{self.page}{path}", headers=sent, timeout=PATIENCE)


@pytest.fixture(scope="module")
def world(module_database_url: str) -> Iterator[World]:
    port, serving = free_port("127.0.0.1"), free_port("127.0.0.1")
    page = f"http://127.0.0.1:{serving}"
    with gunicorn(
        module_database_url,
        "shipyard_none",
        port=serving,
        SHIPYARD_IDENTITY_KIND="oidc",
        SHIPYARD_OIDC_ISSUER=f"http://127.0.0.1:{port}",
        SHIPYARD_OIDC_AUDIENCE="shipyard, cli",
        SHIPYARD_OIDC_ROLES="site-admins: admin; site-readers: viewer",
        SHIPYARD_OIDC_CLIENT_ID="page",
        SHIPYARD_OIDC_CLIENT_SECRET="page-secret",
        SHIPYARD_OIDC_PAGE_URL=page,
        SHIPYARD_OIDC_CLI_CLIENT_ID="cli",
        SHIPYARD_OIDC_SCOPES="openid profile",
    ) as server:
        yield World(server, page, port)


@pytest.fixture(scope="module")
def running() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def issuer(world: World, running: ExitStack) -> str:
    return running.enter_context(provider(world.port, world.page))


class Browser(requests.Session):
    """Follows redirects and fills in the provider's forms, as a person who signs in under a name does.

    ``visited``: every answer of the newest walk.
    """

    def __init__(self, person: str) -> None:
        super().__init__()
        self.person = person
        self.visited: list[requests.Response] = []

    def ask(self, method: str, url: str, **options: Any) -> requests.Response:
        """Send one request; a browser counts loopback as secure."""
        for cookie in self.cookies:
            cookie.secure = False
        return self.request(method, url, allow_redirects=False, timeout=PATIENCE, **options)

    def open(self, url: str) -> requests.Response:
        self.visited = [self.ask("GET", url)]
        for _ in range(20):
            answer = self.visited[-1]
            form = re.search(r"<form[^>]*action=\"([^\"]+)\"[^>]*>(.*?)</form>", answer.text, re.DOTALL)
            if answer.is_redirect:
                self.visited.append(self.ask("GET", urljoin(answer.url, answer.headers["Location"])))
            elif form:
                fields = {name: value for name, value in map(_field, re.findall(r"<input([^>]*)>", form[2])) if name}
                fields |= {name: self.person for name in ("login", "password") if name in fields}
                self.visited.append(self.ask("POST", urljoin(answer.url, html.unescape(form[1])), data=fields))
            else:
                return answer
        raise AssertionError(self.visited[-1].text)


def _field(text: str) -> tuple[str, str]:
    found = dict(re.findall(r"(\w+)=\"([^\"]*)\"", text))
    return found.get("name", ""), html.unescape(found.get("value", ""))


def bearer(issuer: str, person: str) -> dict[str, str]:
    """Get tokens by the device code flow, without anything of ours."""
    client = {"client_id": "cli", "scope": "openid profile"}
    begun = requests.post(f"{issuer}/device/auth", data=client, timeout=PATIENCE).json()
    Browser(person).open(begun["verification_uri_complete"])
    grant = "urn:ietf:params:oauth:grant-type:device_code"
    wanted = {"client_id": "cli", "grant_type": grant, "device_code": begun["device_code"]}
    answer = requests.post(f"{issuer}/token", data=wanted, timeout=PATIENCE)
    assert answer.ok, answer.text
    found: dict[str, str] = answer.json()
    return found


def test_a_bearer_token_has_the_roles_of_its_groups(world: World, issuer: str) -> None:
    admin, reader, nobody = (
        bearer(issuer, person)["access_token"] for person in ("ann+site-admins", "bob+site-readers+staff", "eve+staff")
    )

    caller = world.get("/api/v1.0/caller", admin).json()
    assert (caller["user"], caller["roles"]) == ("ann (oidc:ann+site-admins)", ["admin"])
    assert world.get("/api/v1.0/caller", reader).json()["roles"] == ["viewer"]
    assert [world.get(ACTIONS, token).status_code for token in (admin, reader, nobody)] == [200, 200, 403]
    assert world.get(ACTIONS, "", **{"X-Auth-Token": admin}).status_code == 200
    post = {"headers": {"X-Auth-Token": reader}, "json": {"name": "deploy_site"}, "timeout": PATIENCE}
    assert requests.post(f"{world.page}{ACTIONS}", **post).status_code == 403


def test_what_the_provider_did_not_sign_for_us_is_refused(world: World, issuer: str) -> None:
    tokens = bearer(issuer, "ann+site-admins")
    head, body, signature = tokens["access_token"].split(".")
    other = "A" if signature[0] != "A" else "B"

    for forged in (f"{head}.{body}.", f"{head}.{body}.{other}{signature[1:]}", f"{head}.{body}", "a.b.c"):
        answer = world.get(ACTIONS, forged)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="Shipyard"')
    # The ID token is for the client, which the settings accept as well.
    assert world.get(ACTIONS, tokens["id_token"]).status_code == 200


def test_api_tokens_go_on_working(world: World, issuer: str, module_database_url: str) -> None:
    words = ["token", "create", "--name", "robot", "--role", "viewer"]
    made = shipyard(words, {"DATABASE_URL": module_database_url})
    (token,) = re.findall(r"shipyard_[\w-]{32}", made)

    assert world.get("/api/v1.0/caller", token).json()["user"] == "robot"


def test_the_page_signs_in_and_out(world: World, issuer: str) -> None:
    browser = Browser("ann+site-admins")
    assert browser.ask("GET", f"{world.page}/oidc").json()["signed_in"] is False

    began = browser.ask("GET", f"{world.page}/oidc/sign-in")
    asked = dict(parse_qsl(urlsplit(began.headers["Location"]).query))
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    (flow,) = began.headers["Set-Cookie"].split("\n")
    assert {"HttpOnly", "Secure", "SameSite=Lax"} <= set(flow.split("; "))

    landed = browser.open(f"{world.page}/oidc/sign-in")
    assert landed.url == f"{world.page}/", landed.text
    cookies = browser.visited[-2].headers["Set-Cookie"]
    assert re.search(
        r"shipyard_session=shipyard_session_[\w-]{32}; HttpOnly; Max-Age=3600; Path=/; SameSite=Strict; Secure", cookies
    )
    assert browser.ask("GET", f"{world.page}/oidc").json()["signed_in"] is True
    caller = browser.ask("GET", f"{world.page}/api/v1.0/caller", headers={"X-Auth-Token": ""}).json()
    assert (caller["user"], caller["roles"]) == ("ann (oidc:ann+site-admins)", ["admin"])

    # The cookie is sent unasked, so a write needs the word of the browser that the page sent it.
    write = f"{world.page}/events/tickets"
    for headers, code in (
        ({}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": world.page}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ):
        assert browser.ask("POST", write, headers=headers).status_code == code, headers

    stolen = browser.cookies.get("shipyard_session")
    out = browser.ask("POST", f"{world.page}/oidc/sign-out")
    assert out.status_code == 403
    out = browser.ask("POST", f"{world.page}/oidc/sign-out", headers={"Origin": world.page})
    assert out.json()["end_session"].startswith(f"{issuer}/session/end?client_id=page&")
    again = requests.get(f"{world.page}{ACTIONS}", cookies={"shipyard_session": stolen or ""}, timeout=PATIENCE)
    assert again.status_code == 401


def test_a_callback_that_no_sign_in_of_this_browser_began_opens_no_session(world: World, issuer: str) -> None:
    attacker = Browser("eve+site-readers")
    began = attacker.ask("GET", f"{world.page}/oidc/sign-in")
    # The attacker's own code, handed to a victim.
    attacker.cookies.clear()
    attacker.open(began.headers["Location"])
    (stolen,) = (answer.url for answer in attacker.visited if "/oidc/callback" in answer.url)
    victim = requests.get(stolen, allow_redirects=False, timeout=PATIENCE)

    assert victim.headers["Location"].startswith("/#refused=")
    assert "shipyard_session=" not in victim.headers.get("Set-Cookie", "")
    used = attacker.ask("GET", stolen)
    assert used.headers["Location"].startswith("/#refused=")


def test_the_command_line_logs_in_and_keeps_the_token_to_itself(world: World, issuer: str, tmp_path: Path) -> None:
    environment = {"SHIPYARD_URL": world.page, "XDG_CONFIG_HOME": str(tmp_path), "PYTHON_KEYRING_BACKEND": ""}
    kept = tmp_path / "shipyard" / "logins.json"
    assert f"Logged in to {world.page}. The login is kept in {kept}." in log_in("bob+site-readers", environment)
    assert kept.stat().st_mode & 0o777 == 0o600

    assert "Name" in shipyard(["get", "actions"], environment)
    login = json.loads(kept.read_text())[world.page]
    kept.write_text(json.dumps({world.page: login | {"ends_at": 0.0}}))
    assert "Name" in shipyard(["get", "actions"], environment)
    assert json.loads(kept.read_text())[world.page]["token"] != login["token"]

    assert f"Logged out of {world.page}." in shipyard(["logout"], environment)
    assert json.loads(kept.read_text()) == {}


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A session of a desktop with GNOME's keyring; gives the environment of its programs, which find keyring."""
    packages = os.environ.get("KEYRING_PACKAGES", "")
    if not (packages and shutil.which("gnome-keyring-daemon") and shutil.which("dbus-run-session")):
        pytest.skip("KEYRING_PACKAGES names no keyring and SecretStorage, or there is no gnome-keyring or dbus")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_RUNTIME_DIR": str(tmp_path)}
    unlock = "printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null"
    process = subprocess.Popen(
        ["dbus-run-session", "--", "sh", "-c", f'{unlock}; echo "$DBUS_SESSION_BUS_ADDRESS"; exec cat'],
        env=clean() | home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
        text=True,
    )
    try:
        assert process.stdout is not None
        bus = process.stdout.readline().strip()
        assert bus, "the session did not come up"
        path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
        yield {**home, "DBUS_SESSION_BUS_ADDRESS": bus, "PYTHONPATH": path}
    finally:
        process.communicate(timeout=PATIENCE)


def test_the_keyring_of_the_system_keeps_the_login(world: World, issuer: str, desktop: dict[str, str]) -> None:
    environment = desktop | {"SHIPYARD_URL": world.page}
    held = ["-c", f"import keyring; print(keyring.get_password('shipyard', '{world.page}'))"]
    files = Path(desktop["HOME"])

    said = log_in("bob+site-readers", environment)
    assert f"Logged in to {world.page}. The login is kept in the system's keyring." in said
    login = json.loads(python(held, environment))
    assert world.get("/api/v1.0/caller", login["token"]).json()["user"] == "bob (oidc:bob+site-readers)"
    assert "Name" in shipyard(["get", "actions"], environment)
    secrets = [login[name].encode() for name in ("token", "refresh_token")]
    written = [file for file in files.rglob("*") if file.is_file()]
    assert [file for file in written if any(secret in file.read_bytes() for secret in secrets)] == []
    assert files / "config" / "shipyard" / "logins.json" in written

    away = {name: value for name, value in environment.items() if name != "DBUS_SESSION_BUS_ADDRESS"}
    assert "out of reach here" in shipyard(["get", "actions"], away, code=1)
    assert "out of reach here" in shipyard(["logout"], away, code=1)

    assert f"Logged out of {world.page}." in shipyard(["logout"], environment)
    assert python(held, environment) == "None\n"
    assert "No token was sent" in shipyard(["get", "actions"], environment, code=1)


def test_a_locked_keyring_costs_no_login(world: World, issuer: str, desktop: dict[str, str]) -> None:
    environment = desktop | {"SHIPYARD_URL": world.page}
    lock = "import secretstorage; secretstorage.get_default_collection(secretstorage.dbus_init()).lock()"
    log_in("bob+site-readers", environment)
    python(["-c", lock], environment)

    assert "the system's keyring, which refuses" in shipyard(["get", "actions"], environment, code=1)
    kept = Path(desktop["HOME"], "config", "shipyard", "logins.json")
    assert f"The login is kept in {kept}." in log_in("bob+site-readers", environment)
    assert "Name" in shipyard(["get", "actions"], environment)


def test_new_keys_of_the_provider_are_found(world: World, running: ExitStack, issuer: str) -> None:
    old = bearer(issuer, "ann+site-admins")["access_token"]
    assert world.get(ACTIONS, old).status_code == 200
    running.close()
    # Nobody asks the provider about a key that is known.
    assert world.get(ACTIONS, old).status_code == 200

    running.enter_context(provider(world.port, world.page))
    new = bearer(issuer, "ann+site-admins")["access_token"]
    until(lambda: world.get(ACTIONS, new).status_code == 200)
    assert world.get(ACTIONS, old).status_code == 401


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("SHIPYARD_", "DATABASE_URL"))}


def log_in(person: str, environment: dict[str, str]) -> str:
    """Run `shipyard login`, open the address that it prints as the person would, and return the rest of its output."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", "from shipyard_api.cli.main import main; main()", "login"],
        env=clean() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    opened = process.stdout.readline()
    assert opened.startswith("Open "), opened + process.stdout.read()
    Browser(person).open(opened.removeprefix("Open ").strip())
    rest, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, rest
    return rest


def shipyard(words: list[str], environment: dict[str, str], code: int = 0) -> str:
    return python(["-c", "from shipyard_api.cli.main import main; main()", *words], environment, code)


def python(words: list[str], environment: dict[str, str], code: int = 0) -> str:
    """Run Python, and return its output, with that of errors if it has to end with one."""
    done = subprocess.run(
        [sys.executable, *words],
        env=clean() | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr if code else done.stdout
