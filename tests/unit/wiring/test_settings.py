"""Settings: defaults that make a promise together, and wrong values of each setting."""

from collections.abc import Iterator
from enum import Enum
from typing import get_type_hints

import pytest

from shipyard_api.adapters.git import Directory, Reference, Repository
from shipyard_api.adapters.oidc import RoleTable
from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.settings.plugins import PluginName
from shipyard_api.settings.types import Address, Contact, Count, HeaderSecret, NodePage, Port, Seconds, Share
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import EngineOptions, LogLevel, SettingsError, load, section_types, unknown_variables
from tests.unit.tables import every_row

RESTART = 1.0  # docs/howto/install.md, RestartSec
START = 4.0  # of a worker on a loaded machine; a second on a quiet one
ASKING = 1.0  # the peer, for what the killed worker submitted


def test_the_work_of_a_killed_worker_goes_on_within_ten_seconds() -> None:
    engine, worker = EngineOptions(), WorkerOptions()
    taken_over = max(RESTART + START, worker.heartbeat_seconds)

    assert max(taken_over, engine.settle_seconds) + worker.poll_seconds + ASKING < 8


def test_a_worker_with_a_silent_database_ends_before_others_take_over() -> None:
    worker = WorkerOptions()

    assert worker.heartbeat_seconds + worker.stalled_seconds / 2 < worker.stalled_seconds


NEEDED = {
    "SHIPYARD_CONFIG": "/dev/null",
    "DATABASE_URL": "postgresql://127.0.0.1:9/none",
    "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
    "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
}
MAAS = {
    "SHIPYARD_PROVISIONER_KIND": "maas",
    "SHIPYARD_MAAS_URL": "http://127.0.0.1:9",
    "SHIPYARD_MAAS_API_KEY": "a:b:c",
}
IRONIC = {"SHIPYARD_PROVISIONER_KIND": "ironic", "SHIPYARD_IRONIC_URL": "http://127.0.0.1:9"}
BASIC = {**IRONIC, "SHIPYARD_IRONIC_AUTH": "basic", "SHIPYARD_IRONIC_USER": "me", "SHIPYARD_IRONIC_PASSWORD": "word"}
KEYSTONE = {
    "SHIPYARD_IDENTITY_KIND": "keystone",
    "SHIPYARD_KEYSTONE_AUTH_URL": "http://127.0.0.1:9",
    "SHIPYARD_KEYSTONE_USER": "me",
    "SHIPYARD_KEYSTONE_PASSWORD": "word",
    "SHIPYARD_KEYSTONE_PROJECT": "service",
}
OIDC = {
    "SHIPYARD_IDENTITY_KIND": "oidc",
    "SHIPYARD_OIDC_ISSUER": "https://id.example.org",
    "SHIPYARD_OIDC_AUDIENCE": "shipyard",
    "SHIPYARD_OIDC_ROLES": "site-admins: admin",
}
DECKHAND = {
    "SHIPYARD_DESIGNS_STORE": "deckhand",
    "SHIPYARD_DECKHAND_URL": "http://127.0.0.1:9",
    "SHIPYARD_SECRETS_KEYS": "key",
}
KUBERNETES = {"SHIPYARD_KUBERNETES_URL": "https://127.0.0.1:9"}
PROMETHEUS = {"SHIPYARD_PROMETHEUS_URL": "https://127.0.0.1:9090"}
SSH = {
    "SHIPYARD_SSH_KEY_FILE": "/dev/null",
    "SHIPYARD_SSH_KNOWN_HOSTS": "/etc/hostname",
    "SHIPYARD_SSH_NETWORK": "oam",
}

# Wrong values of the types; every setting of a type gets all of them.
WRONG = {
    int: ("many", "1.5", "0", "-1", "9" * 30),
    float: ("long", "0", "-1", "nan", "inf", "1e300"),
    bool: ("maybe", ""),
    Count: ("many", "-1", "9" * 30),
    Port: ("http", "-1", "65536"),
    Seconds: ("long", "-1", "nan", "inf"),
    Share: ("half", "0", "1.1", "nan"),
    Address: ("nonsense", "ftp://host", "http://", "http://me:hunter2@host", "http://host/?a=b", "http://host:99999"),
    HeaderSecret: ("hunter2\n", "hunter2\N{LATIN SMALL LETTER A WITH DIAERESIS}"),
    RoleTable: ("nonsense", "a:", ":b", "a: b c"),
    Contact: ("security@example.org", "mailto:a b"),
    NodePage: ("nonsense", "http://host/no-node"),
    Repository: ("nonsense", "http://me:hunter2@host/site", "git@host:site", "https://me:hunter2@host"),
    Reference: ("", "--upload-pack=a", "a..b"),
    Directory: ("../other", "a\x1bb"),
}
GIT = {"SHIPYARD_GIT_URL": "https://git.example.org/site.git"}
# Wrong values of texts: what else must be set, and the error.
TEXTS = {
    "DATABASE_URL": [({}, "", "is not set"), ({}, "hunter2", "DATABASE_URL is not of the form postgresql://")],
    "SHIPYARD_DRYDOCK_URL": [({}, "", "[drydock] url is not set")],
    "SHIPYARD_DRYDOCK_DESIGN_URL": [
        ({}, "", "[drydock] design_url is not set"),
        ({}, "http://127.0.0.1:9/", "write {revision} in it"),
        ({}, "{revision}", "its scheme must be one of"),
        ({}, f"http://{'h' * 130}/{{revision}}", "[drydock] design_url"),
    ],
    "SHIPYARD_DRYDOCK_TOKEN": [
        ({**KEYSTONE, "SHIPYARD_IDENTITY_KIND": "token", "SHIPYARD_DRYDOCK_AUTH": "keystone"}, "a", "auth is keystone")
    ],
    "SHIPYARD_DRYDOCK_CONNECT_TIMEOUT_SECONDS": [({}, "4", "at most half of [engine] settle_seconds")],
    "SHIPYARD_MAAS_URL": [(MAAS, "", "[maas] url is not set")],
    "SHIPYARD_MAAS_API_KEY": [
        (MAAS, "", "is not set"),
        (MAAS, "a:b", "[maas] api_key: a MAAS API key has three parts"),
    ],
    "SHIPYARD_MAAS_CONNECT_TIMEOUT_SECONDS": [(MAAS, "4", "at most half of [engine] settle_seconds")],
    "SHIPYARD_MAAS_USER_DATA_FILE": [(MAAS, "/none", "[maas] user_data_file")],
    "SHIPYARD_IRONIC_URL": [(IRONIC, "", "[ironic] url is not set")],
    "SHIPYARD_IRONIC_USER": [(BASIC, "", "is not set"), (BASIC, "a:b", "colon"), (IRONIC, "me", "auth is none")],
    "SHIPYARD_IRONIC_PASSWORD": [(BASIC, "", "is not set"), (IRONIC, "word", "auth is none")],
    "SHIPYARD_IRONIC_CA_FILE": [
        (IRONIC, "/none", "[ironic] ca_file: there is no file /none"),
        (IRONIC, __file__, "[ironic] ca_file: "),
    ],
    "SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": [(IRONIC, "4", "at most half of [engine] settle_seconds")],
    "SHIPYARD_IRONIC_INSTANCE_INFO_FILE": [
        (IRONIC, "/none", "[ironic] instance_info_file"),
        (IRONIC, __file__, "JSON"),
    ],
    "SHIPYARD_IRONIC_DEPLOY_STEPS_FILE": [(IRONIC, "/none", "[ironic] deploy_steps_file"), (IRONIC, __file__, "JSON")],
    "SHIPYARD_KEYSTONE_AUTH_URL": [(KEYSTONE, "", "[keystone] auth_url is not set")],
    "SHIPYARD_KEYSTONE_USER": [(KEYSTONE, "", "[keystone] user is not set")],
    "SHIPYARD_KEYSTONE_PASSWORD": [(KEYSTONE, "", "[keystone] password is not set")],
    "SHIPYARD_KEYSTONE_PROJECT": [
        (KEYSTONE, "", "[keystone] project is not set"),
    ],
    "SHIPYARD_KEYSTONE_CA_FILE": [
        (KEYSTONE, "/none", "there is no file /none"),
        (KEYSTONE, __file__, "no certificates"),
    ],
    "SHIPYARD_OIDC_ISSUER": [(OIDC, "", "[oidc] issuer is not set"), (OIDC, "http://id.example.org", "is not https")],
    "SHIPYARD_OIDC_AUDIENCE": [(OIDC, " , ", "[oidc] audience is not set")],
    "SHIPYARD_OIDC_ROLES": [(OIDC, "", "[oidc] roles is not set")],
    "SHIPYARD_OIDC_CLIENT_ID": [(OIDC, "page", "[oidc] page_url is not set")],
    "SHIPYARD_OIDC_CA_FILE": [(OIDC, "/none", "there is no file /none"), (OIDC, __file__, "no certificates")],
    "SHIPYARD_GIT_KEY": [(GIT, "/none", "[git] key: there is no file /none")],
    "SHIPYARD_GIT_KNOWN_HOSTS": [(GIT, "/none", "[git] known_hosts: there is no file /none")],
    "SHIPYARD_GIT_CA_FILE": [(GIT, "/none", "there is no file /none"), (GIT, __file__, "no certificates")],
    "SHIPYARD_PROMENADE_TEARDOWN": [({}, "true", "[promenade] url is not set")],
    "SHIPYARD_POLICY_FILE": [({}, "/none", "[policy] file"), ({}, __file__, "is not YAML")],
    "SHIPYARD_DECKHAND_URL": [(DECKHAND, "", "[deckhand] url is not set")],
    "SHIPYARD_SECRETS_KEYS": [({}, "short", "[secrets] keys"), (DECKHAND, "", "[secrets] keys is not set")],
    "SHIPYARD_SECRETS_KEYS_FILE": [({}, "/none", "[secrets] keys_file")],
    "SHIPYARD_KUBERNETES_URL": [({"SHIPYARD_KUBERNETES_KUBECONFIG": "/dev/null"}, "https://a", "give one of them")],
    "SHIPYARD_KUBERNETES_KUBECONFIG": [
        ({}, "/none", "there is no file /none"),
        ({}, "/etc/hostname", "is no kubeconfig"),
    ],
    "SHIPYARD_KUBERNETES_CONTEXT": [(KUBERNETES, "a", "needs a kubeconfig")],
    "SHIPYARD_KUBERNETES_TOKEN": [({}, "a", "needs url")],
    "SHIPYARD_KUBERNETES_CA_FILE": [(KUBERNETES, "/none", "no file /none"), (KUBERNETES, __file__, "no certificates")],
    "SHIPYARD_PROMETHEUS_CA_FILE": [
        (PROMETHEUS, "/none", "no file /none"),
        (PROMETHEUS, __file__, "no certificates"),
    ],
    "SHIPYARD_SSH_KEY_FILE": [(SSH, "/none", "there is no file /none"), (SSH, __file__, "is not a private key")],
    "SHIPYARD_SSH_KNOWN_HOSTS": [
        (SSH, "", "needed together"),
        (SSH, "/none", "no file"),
        ({}, "/none", "needs key_file"),
    ],
    "SHIPYARD_SSH_NETWORK": [(SSH, "", "[ssh] network: needed together with key_file")],
    "SHIPYARD_SSH_PORT": [({}, "65536", "[ssh] port: 65536 is above 65535")],
    "SHIPYARD_SSH_MASTER": [({}, "192.0.2.1", "[ssh] master: needs key_file")],
    "SHIPYARD_SSH_FILES": [(SSH, "/none", "[ssh] files: there is no directory /none")],
    "SHIPYARD_SSH_JUMP_HOST": [(SSH, "host:port", "[ssh] jump_host"), ({}, "host", "needs key_file")],
    "SHIPYARD_WEBHOOKS_FILE": [({}, "/none", "[webhooks] file"), ({}, __file__, "[webhooks] file")],
    "SHIPYARD_WORKER_HEARTBEAT_SECONDS": [({}, "6", "[worker] heartbeat_seconds must be at most half")],
    "SHIPYARD_LOG_AUDIT_FILE": [({}, "/none/log", "[log] audit_file"), ({}, "/", "[log] audit_file")],
}
# Texts of which Shipyard knows no wrong one: names of others, and words that only the peer can refuse.
FREE = {
    *("SHIPYARD_DRYDOCK_DESIGN_URL", "SHIPYARD_MAAS_DISTRO_SERIES", "SHIPYARD_MAAS_HWE_KERNEL"),
    *("SHIPYARD_KEYSTONE_USER_DOMAIN", "SHIPYARD_KEYSTONE_PROJECT_DOMAIN", "SHIPYARD_KEYSTONE_REGION"),
    *("SHIPYARD_IDENTITY_SERVICE_TOKEN_ROLES", "SHIPYARD_IDENTITY_PROJECT", "SHIPYARD_IDENTITY_PROJECT_DOMAIN"),
    *("SHIPYARD_OIDC_ROLES_CLAIM", "SHIPYARD_OIDC_NAME_CLAIM", "SHIPYARD_OIDC_SCOPES"),
    *("SHIPYARD_OIDC_CLIENT_SECRET", "SHIPYARD_OIDC_CLI_CLIENT_ID"),
    *("SHIPYARD_SSH_USER", "SHIPYARD_SSH_KEY_PASSPHRASE"),
    *("SHIPYARD_DOCUMENT_INFO_DEPLOYMENT_VERSION_NAME", "SHIPYARD_DOCUMENT_INFO_DEPLOYMENT_VERSION_SCHEMA"),
    "SHIPYARD_GIT_COLLECTION",
    "SHIPYARD_WORKER_STATUS_ADDRESS",  # whether it is one of this machine is known when the worker takes it
}


def of_types() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each setting whose type has wrong values, with all of them."""
    for section, kind in section_types().items():
        for name, type_ in get_type_hints(kind).items():
            if wrong := ("nonsense", "") if issubclass(type_, (Enum, PluginName)) else WRONG.get(type_, ()):
                yield f"SHIPYARD_{section}_{name}".upper(), (*wrong,)


@every_row(list(of_types()))
def test_a_wrong_value_is_refused_by_its_type(name: str, wrong: tuple[str, ...]) -> None:
    for value in wrong:
        with pytest.raises(SettingsError) as refused:
            load({**NEEDED, name: value})
        (fault,) = refused.value.faults
        assert fault.startswith(f"{name}: "), value
        assert len(fault) < 200, value
        assert "hunter2" not in fault, value


ROWS = [(name, *row) for name, rows in TEXTS.items() for row in rows]


@every_row(ROWS)
def test_a_wrong_text_is_refused_before_the_service_starts(
    name: str, others: dict[str, str], value: str, error: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        bootstrap.check(load({**NEEDED, **others, name: value}))
    assert any(error in fault for fault in refused.value.faults), refused.value.faults
    assert "hunter2" not in str(refused.value)


def test_every_setting_has_a_wrong_value_here_or_has_none() -> None:
    every = {
        f"SHIPYARD_{section}_{name}".upper()
        for section, kind in section_types().items()
        for name in get_type_hints(kind)
    }
    assert every - {name for name, _ in of_types()} - set(TEXTS) - FREE == {"SHIPYARD_DATABASE_URL"}


@every_row([{}, MAAS, IRONIC, BASIC, KEYSTONE, DECKHAND, KUBERNETES])
def test_what_the_rows_change_is_right_without_the_change(others: dict[str, str]) -> None:
    assert bootstrap.check(load({**NEEDED, **others})).provisioner


def test_a_level_may_be_written_in_small_letters() -> None:
    assert load({**NEEDED, "SHIPYARD_LOG_LEVEL": "warning"}).log.level is LogLevel.WARNING


@every_row(
    [
        ("SHIPYARD_DRYDOCK_URLL", "a", "there is no such setting; did you mean SHIPYARD_DRYDOCK_URL?"),
        ("SHIPYARD_API_COLOUR", "a", "there is no such setting"),
        ("SHIPYARD_WORKER_PORT", "9001", "there is no such setting"),
        ("SHIPYARD_SITE", "a", None),
        ("SHIPYARD_API_SERVICE_HOST", "10.0.0.1", None),
        ("SHIPYARD_API_SERVICE_PORT_HTTP", "9000", None),
        ("SHIPYARD_API_PORT", "tcp://10.0.0.1:9000", None),
        ("SHIPYARD_API_PORT_9000_TCP_ADDR", "10.0.0.1", None),
    ],
)
def test_a_misspelt_variable_is_named_and_those_of_others_are_left_alone(
    name: str, value: str, fault: str | None
) -> None:
    if fault is None:
        assert load({**NEEDED, name: value}) == load(NEEDED)
        return
    with pytest.raises(SettingsError) as refused:
        load({**NEEDED, name: value})
    assert refused.value.faults[0].startswith(f"{name}: {fault}")
    assert unknown_variables({name: value, "SHIPYARD_TOKEN": "a", "SHIPYARD_SITE": "b"}) == sorted(
        [name, "SHIPYARD_SITE"]
    )
