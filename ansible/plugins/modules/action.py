"""Start an action, and wait for it."""

DOCUMENTATION = r"""
module: action
short_description: Start an action once, and wait until it ends
description:
  - Starts an action under a key. A second run with the same key starts nothing, and waits for the same action.
options:
  name:
    description: The action, such as V(deploy_site).
    type: str
    required: true
  parameters:
    description: Its parameters.
    type: dict
    default: {}
  key:
    description: Says which run this is, such as the revision of the repository of the design.
    type: str
    required: true
  plan:
    description: The stored plan to start it from.
    type: str
  wait:
    description: Whether to wait until it ends; it fails if the action does.
    type: bool
    default: true
  timeout:
    description: Seconds to wait.
    type: int
    default: 14400
  retries:
    description: How often a failed action is retried in one run.
    type: int
    default: 0
extends_documentation_fragment: [shipyard.site.server]
attributes:
  check_mode: {support: full, description: Can run in check mode.}
author: The Shipyard developers (@shipyard)
"""
EXAMPLES = r"""
- name: Deploy what is committed
  shipyard.site.action:
    name: deploy_site
    key: "deploy-{{ design_revision }}"
"""
RETURN = r"""
action: {description: The action., type: dict, returned: always}
"""

from ansible_collections.shipyard.site.plugins.module_utils.server import Server, module


def main():
    """Run the module."""
    ansible = module(
        name={"type": "str", "required": True},
        parameters={"type": "dict", "default": {}},
        key={"type": "str", "required": True, "no_log": False},
        plan={"type": "str"},
        wait={"type": "bool", "default": True},
        timeout={"type": "int", "default": 14400},
        retries={"type": "int", "default": 0},
    )
    server, given = Server(ansible), ansible.params
    body = {"name": given["name"], "parameters": given["parameters"]}
    if ansible.check_mode:
        # Whether the key has started it already is known to the server alone, which would start it to say so.
        plan = server.write("POST", "/plans", body)
        ansible.exit_json(changed=True, plan=plan)
    query = {"plan": given["plan"]} if given["plan"] else {}
    found = server.write("POST", "/actions", body, query, {"Idempotency-Key": given["key"]})
    changed = found["context_marker"] == server.marker
    if not given["wait"]:
        ansible.exit_json(changed=changed, action=found)
    found = server.wait(found["id"], given["timeout"])
    retries = given["retries"]
    while retries and found["action_lifecycle"] == "Failed":
        retries -= 1
        again = server.write("POST", f"/actions/{found['id']}/control/retry")
        found, changed = server.wait(again["id"], given["timeout"]), True
    if found["action_lifecycle"] == "Failed":
        ansible.fail_json(msg=f"{found['name']} {found['id']} failed", action=found, changed=changed)
    ansible.exit_json(changed=changed, action=found)


if __name__ == "__main__":
    main()
