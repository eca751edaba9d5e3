"""The policy rules of the API and their default checks.

Names come from the contracts (shipyard-rest, chapter 4; Ironic deploy templates, 12); some are our own.
Checks are in the language of oslo.policy; the defaults only use roles and other rules, joined by ``or``.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

ANYONE = "anyone"
"""A role that every authenticated caller has."""

PREFIX = "workflow_orchestrator:"
"""Prefix of every rule that guards a route or a parameter."""

TEMPLATE_PREFIX = "baremetal:deploy_template:"
"""Prefix of the rules of deploy templates, which have Ironic's names."""

SOFTWARE_PREFIX = "software:"
"""Prefix of the rules of task graphs, roles and tags."""

WITHOUT_APPROVAL = f"{PREFIX}action_without_approval"
"""The rule for callers who start actions that no second person has approved."""

DELETE_BLOCKED = f"{PREFIX}action_delete_blocked"
"""The rule for callers who let a drain delete pods that a budget keeps."""

SUGGESTED_ROLES = ("admin", "admin_ucp", "admin_ucp_viewer", "viewer", "peer", "health")
"""The roles in the default checks."""

_ATOM = re.compile(r"(role|rule):(\S+)")


class Rule(Struct, frozen=True):
    """A policy rule. ``check``: the default. ``description``: what it guards, for authors of policy files."""

    name: str
    check: str
    description: str


BASIS = (
    Rule("admin_required", "role:admin", "Who may do everything."),
    Rule("write_access", "rule:admin_required or role:admin_ucp", "Who may change something."),
    Rule("read_access", "rule:write_access or role:admin_ucp_viewer or role:viewer", "Who may look."),
    Rule("design_access", "rule:read_access or role:peer", "Who fetches designs; a provisioner has the role peer."),
    Rule("secrets_access", "rule:write_access or role:peer", "Who sees passwords; a provisioner needs them."),
    Rule("deny_all", "!", "Nobody."),
)
"""Rules that the checks of other rules refer to."""


def _rules(prefix: str, *rows: tuple[str, str, str]) -> Iterator[Rule]:
    return (Rule(prefix + name, check, description) for name, check, description in rows)


_READ, _WRITE = "rule:read_access", "rule:write_access"

GUARDS = (
    *_rules(
        PREFIX,
        ("list_actions", _READ, "See all actions."),
        ("create_action", _WRITE, "Create an action; which one it is has a rule of its own as well."),
        ("get_action", _READ, "See an action, its groups, nodes and report, and its notes."),
        ("get_action_step", _READ, "See a step of an action, and its notes."),
        ("get_action_step_logs", _READ, "Read what happened in a step of an action."),
        ("get_task_output", _READ, "Read the output of a task on a node, which Shipyard fetches from there."),
        ("get_action_validation", _READ, "See a validation of an action."),
        ("invoke_action_control", _WRITE, "Pause, unpause, stop, retry or acknowledge an action."),
        ("create_plan", _READ, "See what an action would do; it changes nothing."),
        ("store_plan", _WRITE, "Store a plan, so that an action can be started from it."),
        ("get_plan", _READ, "See stored plans and who has approved them."),
        ("approve_plan", _WRITE, "Approve a plan that another person has stored."),
        (
            "action_without_approval",
            f"role:{ANYONE}",
            "Start or retry an action without a plan that another person has approved.",
        ),
        ("get_forecast", _READ, "See how an action is likely to go."),
        ("get_configdocs_status", _READ, "Compare versions of the documents."),
        ("create_configdocs", _WRITE, "Load documents."),
        ("get_configdocs", _READ, "Read the documents of a collection, without secrets."),
        ("get_configdocs_cleartext", _WRITE, "Read the documents of a collection with secrets in clear text."),
        ("commit_configdocs", _WRITE, "Put the loaded documents into force."),
        ("get_renderedconfigdocs", "rule:design_access", "Read the rendered design, without secrets."),
        ("get_renderedconfigdocs_cleartext", "rule:secrets_access", "Read the rendered design with its secrets."),
        ("list_workflows", _READ, "See the runs of all actions as workflows."),
        ("get_workflow", _READ, "See the run of an action as a workflow."),
        ("get_notedetails", _READ, "Read what a note leads to."),
        ("get_site_statuses", _READ, "See the machines as the provisioner sees them."),
        ("list_nodes", _READ, "See the nodes of the site as their latest actions left them."),
        ("set_action_limits", _WRITE, "Change the limits of an action while it runs."),
        ("reconcile_action", _WRITE, "Say whose jobs are that an action may have begun, after a loss of history."),
        ("approve_action", _WRITE, "Approve or refuse what follows a wave of an action."),
        ("action_delete_blocked", "rule:admin_required", "Let a drain delete pods that a budget keeps."),
        ("get_metrics", _READ, "Scrape the metrics of the site and of the API."),
        ("adopt_nodes", _WRITE, "Record that servers have what a revision gives them."),
        ("list_holds", _READ, "See the holds on nodes."),
        ("place_hold", _WRITE, "Hold a node, so that no action touches it."),
        ("release_hold", _WRITE, "Release a hold."),
        ("report_health", f"{_WRITE} or role:health", "Report whether a node is healthy, which holds it or ends that."),
        ("action_force_hold", "rule:admin_required", "Override holds with force when an action is created."),
        (
            "action_force_policy",
            "rule:admin_required",
            "Pass the budgets and windows of a rollout policy with force when an action is created.",
        ),
        ("node_decommission", _WRITE, "Take a node out of Kubernetes and etcd: all operations but its removal."),
        ("node_drain", _WRITE, "Drain a node."),
        ("node_clear_labels", _WRITE, "Clear the labels of a node."),
        ("node_remove_etcd", _WRITE, "Remove the etcd members of a node."),
        ("node_shutdown_kubelet", _WRITE, "Shut down the kubelet of a node."),
        ("node_remove_from_cluster", _WRITE, "Remove a node from Kubernetes."),
        ("node_uncordon", _WRITE, "Uncordon a node that Shipyard has cordoned."),
        ("get_drain_plan", _READ, "See what a drain of a node would do."),
        ("get_deploy_steps", _READ, "See the deploy steps that a node supports."),
        ("get_node_hardware", _READ, "See the hardware of a node."),
        ("get_etcd_health", _READ, "See the health of the etcd clusters."),
        ("action_deploy_site", _WRITE, "Create the action deploy_site."),
        ("action_update_site", _WRITE, "Create the action update_site."),
        ("action_update_software", _WRITE, "Create the action update_software."),
        ("action_redeploy_server", _WRITE, "Create the action redeploy_server."),
        ("action_remove_server", _WRITE, "Create the action remove_server."),
        ("action_relabel_nodes", _WRITE, "Create the action relabel_nodes."),
        ("action_service_server", _WRITE, "Create the action service_server."),
        ("action_power_cycle", _WRITE, "Create the action power_cycle."),
        ("action_test_site", _WRITE, "Create the action test_site."),
    ),
    *_rules(
        TEMPLATE_PREFIX,
        ("get", _READ, "See deploy templates."),
        ("create", _WRITE, "Create a deploy template."),
        ("update", _WRITE, "Change a deploy template."),
        ("delete", _WRITE, "Delete a deploy template."),
    ),
    *_rules(
        SOFTWARE_PREFIX,
        ("get", _READ, "See releases, clusters and nodes, with their tasks, roles, tags and settings."),
        ("update_graph", _WRITE, "Change releases, clusters, their tasks and settings."),
        ("update_labels", _WRITE, "Change the roles and tags of releases and clusters."),
        ("assign", _WRITE, "Assign roles and tags to nodes."),
    ),
)
"""Rules that guard routes and parameters."""

RULES = {rule.name: rule for rule in (*BASIS, *GUARDS)}
"""Every rule by its name, in the order of the reference page."""


def default_roles(name: str) -> frozenset[str]:
    """Return the roles that satisfy a rule by default; any of them is enough."""
    return frozenset(_roles(name))


def _roles(name: str) -> Iterator[str]:
    for kind, value in _ATOM.findall(RULES[name].check):
        if kind == "role":
            yield value
        else:
            yield from _roles(value)
