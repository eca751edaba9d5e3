"""Rules as oslo.policy evaluates them, and files that change them."""

import itertools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from shipyard_api.adapters import oslo_policy
from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.adapters.oslo_policy import policy as adapter
from shipyard_api.adapters.oslo_policy.policy import OsloPolicy, sample
from shipyard_api.domain.policy import ANYONE, GUARDS, RULES, default_roles
from shipyard_api.ports.identity import Identity, PolicyBroken
from shipyard_api.wiring import access
from shipyard_api.wiring.settings import Settings, SettingsError
from tests.unit.tables import table

LIST, CREATE = "workflow_orchestrator:list_actions", "workflow_orchestrator:create_action"
ROLES = ("admin", "admin_ucp", "admin_ucp_viewer", "viewer", "peer", "health", "operator", ANYONE)

_moments = itertools.count(1)


def who(*roles: str, **facts: str) -> Identity:
    return Identity("key", "ann", frozenset(roles), **facts)  # type: ignore[arg-type]


def written(file: Path, text: str) -> Path:
    """Write a file as if some time after the one before: clocks of file systems are coarse."""
    file.write_text(text)
    moment = 1_700_000_000 + next(_moments)
    os.utime(file, (moment, moment))
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def test_without_a_file_rules_are_satisfied_by_their_default_roles_and_no_other() -> None:
    policy = OsloPolicy()
    people = {role: who(role) for role in ROLES}
    for rule in (rule.name for rule in GUARDS):
        everyone = ANYONE in default_roles(rule)
        satisfied = {role for role, one in people.items() if policy.allows(rule, one)}
        assert satisfied == (set(ROLES) if everyone else default_roles(rule)), rule
        assert policy.allows(rule, who("operator", *default_roles(rule))), rule
        assert policy.allows(rule, who()) == everyone, rule
    assert policy.allows(CREATE, who("Admin"))  # whatever their case
    with pytest.raises(PolicyBroken, match="there is no rule workflow_orchestrator:fly"):
        policy.allows("workflow_orchestrator:fly", who("admin"))


def test_a_file_changes_what_it_names_and_nothing_else(file: Path) -> None:
    policy = OsloPolicy(written(file, f'"{LIST}": "role:night-watch"'))
    assert policy.allows(LIST, who("night-watch"))
    assert not policy.allows(LIST, who("admin"))
    assert policy.allows(CREATE, who("admin"))

    policy = OsloPolicy(written(file, '"read_access": "role:auditor"'))  # of which many rules are made
    assert policy.allows(LIST, who("auditor"))
    assert not policy.allows(LIST, who("viewer"))
    assert not policy.allows(CREATE, who("auditor"))

    for text in ("", "# nothing\n", "{}"):
        assert OsloPolicy(written(file, text)).allows(CREATE, who("admin"))


CHECKS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "everybody has the role anyone": ("role:anyone", {}, True),
    "everybody": ("@", {}, True),
    "an empty check is satisfied": ("", {}, True),
    "nobody": ("!", {}, False),
    "not": ("not role:admin", {}, False),
    "own project": ("role:admin and project_id:%(project_id)s", {"project_id": "p"}, True),
    "a user": ("user_id:u1", {"user_id": "u1"}, True),
    "another user": ("user_id:u1", {"user_id": "u2"}, False),
    "a domain of users": ("user_domain_id:d", {"user_domain_id": "d"}, True),
    "a domain of projects": ("project_domain_id:d", {"project_domain_id": "d"}, True),
    "the admin project": ("is_admin_project:True", {"is_admin_project": True}, True),
    "not the admin project": ("is_admin_project:True", {}, False),
}


def test_the_language_of_checks(file: Path) -> None:
    for title, (check, facts, allowed) in CHECKS.items():
        policy = OsloPolicy(written(file, f'"{LIST}": "{check}"'))
        assert policy.allows(LIST, who("admin", **facts)) is allowed, title


WRONG = {
    "no YAML": ("{", "is not YAML"),
    "no mapping": ("- a", "holds no rules"),
    "a number as a name": ("1: '@'", "holds no rules"),
    "no check, which would let everybody in": (f'"{CREATE}":', f"the rule {CREATE} has no check in quotation marks"),
    "a list of checks": ('"a": ["role:x"]', "the rule a has no check in quotation marks"),
    "a parenthesis too many": ('"a": "role:x or ("', "the rule a is invalid"),
    "a word that is no check": ('"a": "admin"', "the rule a is invalid"),
    "half a check": ('"a": "role:x or admin"', "the rule a is invalid"),
    "a rule of ours that is none": ('"workflow_orchestrator:fly": "@"', "there is no rule workflow_orchestrator:fly"),
    "a rule that is not there": (f'"{LIST}": "rule:nobody_wrote_this"', f"missing rules or to themselves: {LIST}"),
    "a circle": ('"read_access": "rule:write_access"\n"write_access": "rule:read_access"', "to themselves: "),
}


def test_a_file_that_cannot_be_used_is_refused_at_start_in_one_line(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ValueError, match="No such file"):
        OsloPolicy(file)
    for text, told in WRONG.values():
        with pytest.raises(ValueError, match=r"\w") as caught:
            OsloPolicy(written(file, text))
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
    assert caplog.records == []


def test_all_that_is_wrong_is_told_at_once(file: Path) -> None:
    with pytest.raises(ValueError, match=r"rule a .*; the rule b .*; there is no rule workflow_orchestrator:c"):
        OsloPolicy(written(file, '"a": "x"\n"b":\n"workflow_orchestrator:c": "@"'))


def test_a_change_of_the_file_counts_from_the_next_request_on(file: Path) -> None:
    policy = OsloPolicy(written(file, f'"{LIST}": "!"'))
    assert not policy.allows(LIST, who("admin"))

    written(file, f'"{LIST}": "@"')
    assert policy.allows(LIST, who("admin"))

    file.write_text("")
    os.utime(file, (1, 1))  # an older file in its place
    assert not policy.allows(LIST, who("operator"))

    written(file, f'"{CREATE}": "!"')
    assert not policy.allows(CREATE, who("admin"))
    file.unlink()  # which does not bring back what it forbade
    with pytest.raises(PolicyBroken):
        policy.allows(CREATE, who("admin"))


def test_a_change_of_the_file_may_wait_for_the_time_between_two_looks(file: Path) -> None:
    now = 5.0
    policy = OsloPolicy(written(file, f'"{LIST}": "!"'), seconds=2.0, monotonic=lambda: now)
    written(file, f'"{LIST}": "@"')

    now = 6.9
    assert not policy.allows(LIST, who("admin"))
    now = 7.0
    assert policy.allows(LIST, who("admin"))

    written(file, "")
    now = 8.9
    assert policy.allows(LIST, who("operator"))
    now = 9.0
    assert not policy.allows(LIST, who("operator"))


def test_while_the_file_cannot_be_used_nobody_is_let_in(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    policy = OsloPolicy(written(file, ""))
    for text, told in (WRONG["no YAML"], WRONG["a circle"]):
        assert policy.allows(LIST, who("admin"))
        written(file, text)
        for _ in range(3):
            with pytest.raises(PolicyBroken):
                policy.allows(LIST, who("admin"))
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert told in str(caplog.records[0].__dict__["trouble"])
        written(file, "")
        caplog.clear()
    assert policy.allows(LIST, who("admin"))


def test_a_server_that_a_rule_asks_and_that_is_not_there_lets_nobody_in(file: Path) -> None:
    policy = OsloPolicy(written(file, f'"{LIST}": "http://127.0.0.1:9/"'))

    with pytest.raises(PolicyBroken, match=LIST):
        policy.allows(LIST, who("admin"))
    assert policy.allows(CREATE, who("admin"))


def test_nobody_is_refused_or_let_in_by_mistake_while_the_file_changes(file: Path, tmp_path: Path) -> None:
    """One rule stays the same in every edition of the file; it must hold in every moment."""
    editions = [f'"{LIST}": "role:admin"\n"{CREATE}": "role:r{number}"' for number in range(30)]
    policy = OsloPolicy(written(file, editions[0]))
    wrong: list[object] = []
    going = True

    def ask() -> None:
        while going:
            try:
                if not policy.allows(LIST, who("admin")) or policy.allows(LIST, who("viewer")):
                    wrong.append("answered wrong")
            except PolicyBroken as error:
                wrong.append(error)

    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for edition in editions:
        written(tmp_path / "next", edition).replace(file)
        policy.allows(LIST, who("admin"))
    going = False
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_sample_has_every_rule_and_changes_none(file: Path) -> None:
    uncommented = sample().replace('\n#"', '\n"')

    assert yaml.safe_load(sample()) is None
    assert yaml.safe_load(uncommented) == {rule.name: rule.check for rule in RULES.values()}
    policy = OsloPolicy(written(file, uncommented))
    assert {role for role in ROLES if policy.allows(CREATE, who(role))} == default_roles(CREATE)
    assert all(rule.description in sample() for rule in RULES.values())


def test_a_usual_file_counts_once_it_is_made_and_lets_nobody_in_when_it_vanishes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "shipyard" / "policy.yaml"
    policy = OsloPolicy(usual=file)
    assert policy.allows(LIST, who("viewer"))
    file.parent.mkdir()
    assert policy.allows(LIST, who("viewer"))

    written(file, f'"{LIST}": "role:admin"')
    assert not policy.allows(LIST, who("viewer"))
    assert policy.allows(LIST, who("admin"))
    assert caplog.records == []

    file.unlink()
    for _ in range(3):
        with pytest.raises(PolicyBroken):
            policy.allows(LIST, who("admin"))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]

    written(file, "")
    assert policy.allows(LIST, who("viewer"))


def test_a_usual_file_that_is_made_with_a_fault_lets_nobody_in(file: Path) -> None:
    policy = OsloPolicy(usual=file)
    written(file, "{")

    with pytest.raises(PolicyBroken):
        policy.allows(LIST, who("admin"))


WRONG_FROM_THE_START = {
    "a fault": lambda file: file.write_text("{"),
    "a directory": lambda file: file.mkdir(),
    "a link to itself": lambda file: file.symlink_to(file),
}


@table("make", WRONG_FROM_THE_START)
def test_a_usual_file_that_cannot_be_read_is_not_taken_for_none(file: Path, make: Callable[[Path], object]) -> None:
    make(file)

    with pytest.raises(ValueError, match=r"policy\.yaml"):
        OsloPolicy(usual=file)


def test_a_named_file_has_to_be_there_whatever_the_usual_one_says(file: Path, tmp_path: Path) -> None:
    written(file, f'"{LIST}": "!"')
    with pytest.raises(ValueError, match="No such file"):
        OsloPolicy(tmp_path / "named.yaml", usual=file)

    named = written(tmp_path / "named.yaml", "")
    assert OsloPolicy(named, usual=file).allows(LIST, who("admin"))


def test_the_service_watches_for_the_usual_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(oslo_policy.USUAL_FILE) == "/etc/shipyard/policy.yaml"
    monkeypatch.setattr(oslo_policy, "USUAL_FILE", file)
    monkeypatch.setattr(access, "POLICY_SECONDS", 0.0)
    policy = access.policy(Settings())
    assert policy.allows(LIST, who("viewer"))

    written(file, f'"{LIST}": "!"')

    assert not policy.allows(LIST, who("viewer"))
    with pytest.raises(SettingsError, match="No such file"):
        access.policy(Settings(policy=PolicyOptions("/else/where")))


def test_a_decision_is_remembered_for_the_same_caller_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = adapter._decide

    def counted(enforcer: Any, rule: str, identity: Identity) -> bool:
        asked.append(identity.key)
        return real(enforcer, rule, identity)

    monkeypatch.setattr(adapter, "_decide", counted)
    policy = OsloPolicy()
    ann, ann_without_rights = who("admin"), who("anybody")

    assert [policy.allows(LIST, ann) for _ in range(3)] == [True] * 3
    assert [policy.allows(LIST, ann_without_rights) for _ in range(3)] == [False] * 3
    assert len(asked) == 2


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_DECIDED", 10)
    policy = OsloPolicy()

    for number in range(25):
        policy.allows(LIST, Identity(str(number), "x", frozenset()))

    assert len(policy._decided) <= 10
