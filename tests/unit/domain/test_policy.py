"""The table of rules: complete, sound, and what the contract says."""

import re

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.policy import ANYONE, BASIS, GUARDS, PREFIX, RULES, SUGGESTED_ROLES, default_roles
from tests.unit.tables import every_row

ADMINS = {"admin", "admin_ucp"}
VIEWERS = ADMINS | {"admin_ucp_viewer", "viewer"}
# Contract: shipyard-rest, chapter 4.
CONTRACT = {
    "list_actions": VIEWERS,
    "create_action": ADMINS,
    "get_action": VIEWERS,
    "get_action_step": VIEWERS,
    "get_action_step_logs": VIEWERS,
    "get_action_validation": VIEWERS,
    "invoke_action_control": ADMINS,
    "get_configdocs_status": VIEWERS,
    "create_configdocs": ADMINS,
    "get_configdocs": VIEWERS,
    "get_configdocs_cleartext": ADMINS,
    "commit_configdocs": ADMINS,
    "get_renderedconfigdocs": VIEWERS,
    "get_renderedconfigdocs_cleartext": ADMINS,
    "list_workflows": VIEWERS,
    "get_workflow": VIEWERS,
    "get_notedetails": VIEWERS,
    "get_site_statuses": VIEWERS,
    "action_deploy_site": ADMINS,
    "action_update_site": ADMINS,
    "action_update_software": ADMINS,
    "action_redeploy_server": ADMINS,
    "action_remove_server": ADMINS,
    "action_relabel_nodes": ADMINS,
    "action_service_server": ADMINS,
    "action_power_cycle": ADMINS,
    "action_test_site": ADMINS,
}
# Ours that guard a parameter instead of a route.
PARAMETERS = {
    "action_force_hold": {"admin"},
    "action_force_policy": {"admin"},
    "action_delete_blocked": {"admin"},
    "action_without_approval": {ANYONE},
}
# What a provisioner needs besides.
PEERS = {"get_renderedconfigdocs", "get_renderedconfigdocs_cleartext"}


def test_the_rules_are_those_of_the_contract_and_more() -> None:
    """What the others let through: tests/integration/api/test_who_may_what.py, for every route."""
    assert {PREFIX + name for name in CONTRACT} < {rule.name for rule in GUARDS}
    assert len(RULES) == len(GUARDS) + len(BASIS)


@every_row([*CONTRACT, *PARAMETERS])
def test_a_rule_is_satisfied_by_the_roles_of_the_contract(name: str) -> None:
    assert default_roles(PREFIX + name) == {**CONTRACT, **PARAMETERS}[name] | ({"peer"} if name in PEERS else set())


def test_every_action_has_a_rule_of_its_own() -> None:
    named = {rule.name.removeprefix(f"{PREFIX}action_") for rule in GUARDS if f"{PREFIX}action_" in rule.name}

    assert named == {
        *(name for name in ACTIONS.listed),
        "force_hold",
        "force_policy",
        "delete_blocked",
        "without_approval",
    }


def test_the_basis_has_the_names_of_the_contract() -> None:
    assert RULES["admin_required"].check == "role:admin"
    assert RULES["deny_all"].check == "!"
    assert default_roles("deny_all") == set()


@every_row(RULES.values())
def test_a_check_is_roles_and_rules_that_are_there_with_or_between_them(rule: object) -> None:
    name, check = rule.name, rule.check  # type: ignore[attr-defined]
    atoms = check.split(" or ")
    assert all(re.fullmatch(r"role:\w+|rule:\w+|!", atom) for atom in atoms), name
    assert {atom.removeprefix("rule:") for atom in atoms if atom.startswith("rule:")} <= set(RULES)


def test_the_suggested_roles_are_those_that_some_rule_names() -> None:
    assert {*SUGGESTED_ROLES, ANYONE} == set().union(*(default_roles(name) for name in RULES))


def test_every_rule_says_what_it_is_for_in_a_sentence() -> None:
    assert all(re.fullmatch(r"[A-Z].*\.", rule.description) for rule in RULES.values())
