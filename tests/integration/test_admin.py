"""Looking after an installation: what works, and what an operator reads when something is in the way."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg2
import pytest

from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.domain.histories import Replication
from shipyard_api.ports.state.errors import UnsuitableDatabase
from shipyard_api.programs import launch
from shipyard_api.programs.admin import main
from shipyard_api.programs.launch import run_program
from shipyard_api.storage import migrations, schema
from shipyard_api.storage.measures import Measures
from shipyard_api.wiring import bootstrap, monitoring
from shipyard_api.wiring.settings import load
from tests.conftest import ROOT
from tests.forked import ToItsEnd


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


Admin = Callable[..., Ended]


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Admin:
    """The command in this process, with these settings and no others: starting one takes a second."""

    def run(*words: str, **settings: str) -> Ended:
        for name in [*os.environ]:
            if name.startswith(("SHIPYARD_", "DATABASE_URL")):
                monkeypatch.delenv(name)
        for name, value in {"SHIPYARD_CONFIG": os.devnull, **settings}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["shipyard", *words])
        try:
            code = run_program(lambda: main(prog_name="shipyard"))
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Ended(code, *capsys.readouterr())

    return run


NOWHERE = "postgresql://me:hunter2@127.0.0.1:9/nowhere"

KEY = {"SHIPYARD_SECRETS_KEYS": new_key()}
MAAS = {
    **KEY,
    "DATABASE_URL": NOWHERE,
    "SHIPYARD_PROVISIONER_KIND": "maas",
    "SHIPYARD_MAAS_URL": "http://maas:5240/MAAS/api/2.0",
    "SHIPYARD_MAAS_API_KEY": "consumer:token:secret",
}
IRONIC = {
    **KEY,
    "DATABASE_URL": NOWHERE,
    "SHIPYARD_PROVISIONER_KIND": "ironic",
    "SHIPYARD_IRONIC_URL": "http://ironic:6385",
}

IN_THE_WAY = {
    "no database named": (("db", "upgrade"), {}, 2, "DATABASE_URL is not set"),
    "no database there, upgrade": (("db", "upgrade"), {"DATABASE_URL": NOWHERE}, 1, "Connection refused"),
    "no database there, tokens": (("token", "list"), {"DATABASE_URL": NOWHERE}, 1, "Connection refused"),
    "not an address": (("db", "current"), {"DATABASE_URL": "hunter2"}, 1, "not of the form postgresql://"),
    "settings missing": (("config", "check"), {"DATABASE_URL": NOWHERE}, 2, "[drydock] url is not set"),
    "a number that is none": (
        ("config", "check"),
        {"SHIPYARD_WORKER_CONCURRENCY": "many"},
        2,
        "SHIPYARD_WORKER_CONCURRENCY: 'many' is not a whole number",
    ),
    "no such provisioner": (
        ("config", "check"),
        {"SHIPYARD_PROVISIONER_KIND": "foreman"},
        2,
        "SHIPYARD_PROVISIONER_KIND: there is no provisioner 'foreman'; installed: drydock, ironic, maas",
    ),
    "a key for nodes that is not there": (
        ("config", "check"),
        {**MAAS, "SHIPYARD_SSH_KEY_FILE": "/none", "SHIPYARD_SSH_KNOWN_HOSTS": "/none", "SHIPYARD_SSH_NETWORK": "mgmt"},
        2,
        "[ssh] key_file: there is no file /none",
    ),
    "a switch that is neither on nor off": (
        ("config", "check"),
        {**MAAS, "SHIPYARD_MAAS_KEEP_ENLISTED": "maybe"},
        2,
        "SHIPYARD_MAAS_KEEP_ENLISTED: 'maybe' is not true or false",
    ),
}


KEYSTONE = {
    **MAAS,
    "SHIPYARD_IDENTITY_KIND": "keystone",
    "SHIPYARD_KEYSTONE_AUTH_URL": "http://keystone:5000/v3",
    "SHIPYARD_KEYSTONE_USER": "shipyard",
    "SHIPYARD_KEYSTONE_PASSWORD": "hunter2",
    "SHIPYARD_KEYSTONE_PROJECT": "service",
}
IDENTITY_IN_THE_WAY = {
    "no such kind of identity": (
        {"SHIPYARD_IDENTITY_KIND": "ldap"},
        "'ldap' is not one of token, keystone, oidc, none",
    ),
    "a time below 0": ({"SHIPYARD_IDENTITY_TOKEN_CACHE_SECONDS": "-1"}, "'-1' is not a number, 0 or above"),
    "a policy file that is none": (
        {**MAAS, "SHIPYARD_POLICY_FILE": __file__},
        f"[policy] file: {__file__} is not YAML",
    ),
}


def test_old_actions_are_counted_and_deleted(admin: Admin, database_url: str) -> None:
    with closing(psycopg2.connect(database_url)) as connection, connection.cursor() as cursor:
        for which in range(3):
            cursor.execute(
                "INSERT INTO actions (id, name, parameters, user_name, context_marker, exclusive, inputs, state, "
                "ended_at)"
                " VALUES (%s, 'test_site', '{}', 'ann', '', false, '{}', 'success', now() - interval '40 days')",
                [f"{which:026}"],
            )
        connection.commit()

    def prune(*words: str, **settings: str) -> Ended:
        return admin("db", "prune", *words, DATABASE_URL=database_url, **settings)

    def deleted(actions: int, word: str = "deleted") -> str:
        return f"{actions} action(s), 0 revision(s), 0 stored plan(s) and 0 hold(s) {word}\n"

    assert prune().stdout == deleted(0)
    assert prune("--days=30", "--newest=1", "--dry-run").stdout == deleted(2, "would be deleted")
    assert prune("--days=30", SHIPYARD_ACTIONS_KEEP_NEWEST="2").stdout == deleted(1)
    assert prune("--days=30", "--newest=1").stdout == deleted(1)
    never = prune(SHIPYARD_ACTIONS_KEEP_DAYS="0")
    assert (never.returncode, "give --days" in never.stderr) == (2, True)


@pytest.mark.parametrize(("settings", "told"), IDENTITY_IN_THE_WAY.values(), ids=IDENTITY_IN_THE_WAY)
def test_identity_and_policy_that_cannot_be_used_are_told_by_the_check(
    admin: Admin, settings: dict[str, str], told: str
) -> None:
    ended = admin("config", "check", **settings)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert all(line.startswith("Error: ") for line in ended.stderr.splitlines())
    assert "hunter2" not in ended.stderr


def test_without_keystonemiddleware_the_check_says_what_to_install(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keystonemiddleware", None)
    # Other tests of this process may have imported it.
    for name in [one for one in sys.modules if one.startswith("keystonemiddleware.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "shipyard_api.adapters.keystone.identities", raising=False)

    ended = admin("config", "check", **KEYSTONE)

    assert ended.returncode == 2
    assert "[identity] kind is keystone: install keystonemiddleware, which shipyard[keystone] brings" in ended.stderr


@pytest.mark.parametrize("kind", ["token", "keystone", "none"])
def test_every_kind_of_identity_can_be_set(
    admin: Admin, database_url: str, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    ended = admin("config", "check", **{**KEYSTONE, "SHIPYARD_IDENTITY_KIND": kind, "DATABASE_URL": database_url})

    assert (ended.returncode, ended.stderr) == (0, "")
    assert [one.startswith("no authentication: every caller of this port") for one in caplog.messages] == (
        [True] if kind == "none" else []
    )


@pytest.mark.parametrize("settings", [MAAS, IRONIC], ids=["maas", "ironic"])
def test_without_drydock_nothing_of_drydock_needs_to_be_set(
    admin: Admin, database_url: str, settings: dict[str, str]
) -> None:
    ended = admin("config", "check", **{**settings, "DATABASE_URL": database_url})
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_check_refuses_the_databases_that_the_service_refuses(admin: Admin, empty_database_url: str) -> None:
    away = admin("config", "check", **MAAS)
    assert (away.returncode, away.stdout) == (1, "")
    assert "Connection refused" in away.stderr

    empty = admin("config", "check", **{**MAAS, "DATABASE_URL": empty_database_url})
    assert (empty.returncode, empty.stdout) == (2, "")
    assert re.fullmatch(r"Error: .*`shipyard db upgrade`.*\n", empty.stderr)


@pytest.mark.parametrize(("words", "settings", "code", "told"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_in_the_way_is_one_line_and_no_traceback(
    admin: Admin, words: tuple[str, ...], settings: dict[str, str], code: int, told: str
) -> None:
    ended = admin(*words, **settings)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert told in ended.stderr
    assert all(line.startswith(("Error: ", "\tIs the server")) for line in ended.stderr.splitlines())
    assert "hunter2" not in ended.stderr


@pytest.mark.parametrize(
    ("module", "words", "usage"),
    [
        ("admin", ("token", "create"), "shipyard token create [OPTIONS]"),
        ("stack", ("up",), "shipyard up [OPTIONS]"),
        ("worker", (), "shipyard worker [OPTIONS]"),
    ],
)
def test_programs_go_by_the_name_of_the_command_and_take_nothing_else(
    module: str, words: tuple[str, ...], usage: str
) -> None:
    code, output = ToItsEnd(f"shipyard_api.programs.{module}", [*words, "--no-such-option"], os.environ).end()
    assert (code, f"Usage: {usage}\n" in output) == (2, True), output


def test_the_worker_does_not_start_without_a_schema(empty_database_url: str) -> None:
    settings = {**MAAS, "SHIPYARD_CONFIG": os.devnull, "DATABASE_URL": empty_database_url}
    with pytest.raises(UnsuitableDatabase, match="no schema: run `shipyard db upgrade`"):
        bootstrap.worker(load(settings))


@pytest.mark.parametrize("words", [("token", "list"), ("db", "rotate-secrets")], ids=" ".join)
def test_a_database_without_a_schema_is_one_line(admin: Admin, empty_database_url: str, words: tuple[str, ...]) -> None:
    keys = {"SHIPYARD_SECRETS_KEYS": new_key()} if words[0] == "db" else {}

    ended = admin(*words, DATABASE_URL=empty_database_url, **keys)

    expected = "Error: the database has no schema: run `shipyard db upgrade`\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", expected)


NEWER = {
    "of no use": (None, 2, "", 1),
    "usable": (schema.NEWEST, 0, " (usable by releases from {} on)", 0),
}


@pytest.mark.parametrize(("usable_from", "code", "known", "current_code"), NEWER.values(), ids=NEWER)
def test_a_newer_schema_is_left_as_it_is(
    admin: Admin, database_url: str, usable_from: str | None, code: int, known: str, current_code: int
) -> None:
    with closing(psycopg2.connect(database_url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("UPDATE alembic_version SET version_num = '9999'")
        cursor.execute("COMMENT ON TABLE alembic_version IS %s", [usable_from])

    ended = admin("db", "upgrade", DATABASE_URL=database_url)
    current = admin("db", "current", DATABASE_URL=database_url)

    assert (ended.returncode, len((ended.stdout + ended.stderr).splitlines())) == (code, 1)
    if code:
        assert ended.stderr.startswith("Error: the database has schema 9999, and this release knows only ")
    known = known.format(usable_from)
    assert current.returncode == current_code
    assert current.stdout == f"database is at 9999{known}, this release supports {schema.supported()}\n"


def test_a_token_is_made_listed_without_its_secret_and_revoked(admin: Admin, database_url: str) -> None:
    made = admin("token", "create", "--name", "night shift", "--role", "viewer", DATABASE_URL=database_url)
    assert made.returncode == 0, made.stderr
    secret = made.stdout.strip()
    listed = admin("token", "list", DATABASE_URL=database_url).stdout
    assert "night shift" in listed
    assert secret not in listed
    head, row = listed.splitlines()
    token = row.split()[0]
    assert head.split() == ["ID", "STATE", "ROLES", "CREATED", "EXPIRES", "LAST", "USED", "NAME"]
    assert row.split()[1:3] == ["valid", "viewer"]
    revoked = admin("token", "revoke", token, DATABASE_URL=database_url)
    assert revoked.stdout == f"{token} is revoked; API processes that have it cached accept it for up to 2 s more\n"
    again = admin("token", "revoke", token, DATABASE_URL=database_url)
    assert (again.returncode, again.stderr) == (1, f"Error: Token not found: No valid token has the id {token}\n")


def test_the_list_of_tokens_tells_their_state_roles_and_last_use(admin: Admin, database_url: str) -> None:
    tokens = launch.tokens(load({"SHIPYARD_CONFIG": os.devnull, "DATABASE_URL": database_url}))
    _, secret = tokens.create("busy", "admin", "peer")
    tokens.authenticate(secret)
    tokens.create("over", "viewer", lifetime=timedelta(seconds=-1))
    gone, _ = tokens.create("gone", "admin_ucp_viewer", lifetime=timedelta(days=3))
    tokens.revoke(gone.id)

    head, *rows = admin("token", "list", DATABASE_URL=database_url).stdout.splitlines()

    starts = [head.index(word) for word in ("ID", "STATE", "ROLES", "CREATED", "EXPIRES", "LAST USED", "NAME")]
    ends = [*starts[1:], None]
    cells = {row.split()[-1]: [row[a:b].strip() for a, b in zip(starts, ends, strict=True)] for row in rows}
    assert list(cells) == ["busy", "over", "gone"]
    assert {name: one[1] for name, one in cells.items()} == {"busy": "valid", "over": "expired", "gone": "revoked"}
    assert cells["busy"][2] == "admin,peer"
    assert [cells[name][4] == "never" for name in cells] == [True, False, False]
    assert [cells[name][5] == "never" for name in cells] == [False, True, True]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", cells["busy"][5])


def test_a_role_that_no_rule_names_is_made_with_a_warning(admin: Admin, database_url: str) -> None:
    made = admin(
        *("token", "create", "--name", "x", "--role", "admin", "--role", "night-watch", "--days", "2"),
        DATABASE_URL=database_url,
    )

    assert made.returncode == 0
    assert made.stderr == "Warning: no default rule uses the role night-watch; it needs a policy file that does\n"
    assert re.fullmatch(r"shipyard_\S{32}\n", made.stdout)
    assert "admin,night-watch" in admin("token", "list", DATABASE_URL=database_url).stdout


def test_without_a_role_a_token_only_looks(admin: Admin, database_url: str) -> None:
    admin("token", "create", "--name", "x", DATABASE_URL=database_url)

    assert admin("token", "list", DATABASE_URL=database_url).stdout.splitlines()[1].split()[2] == "viewer"


def test_the_schema_is_brought_up_and_told(admin: Admin, empty_database_url: str) -> None:
    assert admin("db", "current", DATABASE_URL=empty_database_url).returncode == 1
    upgraded = admin("db", "upgrade", DATABASE_URL=empty_database_url)
    assert upgraded.returncode == 0, upgraded.stderr
    current = admin("db", "current", DATABASE_URL=empty_database_url)
    newest = migrations.head(ROOT / "migrations")
    assert (current.returncode, current.stdout) == (
        0,
        f"database is at {newest}, this release supports {schema.supported()}\n",
    )


def test_the_check_warns_of_asynchronous_replication(
    admin: Admin, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    standby = Replication(standbys=1, synchronous=0, names="", commit="on")
    monkeypatch.setattr(Measures, "replication", lambda _self: standby)
    monkeypatch.setattr(monitoring, "clock_ahead", lambda *_, **__: 0.0)

    ended = admin("config", "check", **{**MAAS, "DATABASE_URL": database_url})

    assert (ended.returncode, ended.stderr) == (0, f"Warning: {standby.finding}\n")


def test_the_check_warns_of_missing_keys_for_secrets(admin: Admin, database_url: str) -> None:
    ended = admin("config", "check", **{**MAAS, "DATABASE_URL": database_url, "SHIPYARD_SECRETS_KEYS": ""})

    warning = "Warning: [secrets] keys is not set: designs with encrypted documents are refused\n"
    assert (ended.returncode, ended.stderr) == (0, warning)


def test_the_check_shows_clocks_and_warns_of_one_that_is_off(
    admin: Admin, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitoring, "clock_ahead", lambda *_, **__: -3600.0)

    ended = admin("config", "check", **{**MAAS, "DATABASE_URL": database_url})

    assert ended.returncode == 0
    assert re.search(r"^clock of database: [+-]0\.\d s from this host$", ended.stdout, re.MULTILINE)
    assert "clock of MAAS: -3600.0 s from this host\n" in ended.stdout
    assert ended.stderr == "Warning: the clock of MAAS is off by more than 5 minutes: use NTP\n"


def test_all_sites_of_a_directory_are_upgraded_whatever_becomes_of_one(
    admin: Admin, tmp_path: Path, empty_database_url: str
) -> None:
    words = ("db", "upgrade", "--sites", str(tmp_path))
    assert admin(*words) == Ended(0, "", "")

    for name, url in (("berlin", NOWHERE), ("oslo", empty_database_url), ("rome", "")):
        (tmp_path / f"{name}.conf").write_text(f"[database]\nurl = {url}\n")
    ended = admin(*words)

    assert ended.returncode == 1
    assert ended.stdout.splitlines() == ["berlin:", "oslo:", f"database is at {schema.NEWEST}"]
    assert re.fullmatch(r"Error: berlin: .*Connection refused.*\nError: rome: .*url is not set\n", ended.stderr)
    assert admin("config", "check", "--sites", str(tmp_path), DATABASE_URL=NOWHERE).returncode == 2
