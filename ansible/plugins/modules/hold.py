"""Hold a node, or release it."""

DOCUMENTATION = r"""
module: hold
short_description: Hold a node so that no action touches it, or release it
description:
  - A hold is found again by its node and its reason, so a second run changes nothing.
options:
  node:
    description: The node.
    type: str
    required: true
  reason:
    description: Why; a hold is found again by its node and its reason.
    type: str
    required: true
  kind:
    description: The kind of a new hold.
    type: str
    choices: [operator, maintenance, hardware]
    default: operator
  state:
    description: Whether the node is to be held.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment: [shipyard.site.server]
attributes:
  check_mode: {support: full, description: Can run in check mode.}
author: The Shipyard developers (@shipyard)
"""
EXAMPLES = r"""
- name: Nothing touches the node while its disk is replaced
  shipyard.site.hold: {node: cmp01-1, reason: replacing the disk, kind: hardware}
"""
RETURN = r"""
holds: {description: The holds of this reason before., type: list, elements: dict, returned: always}
"""

from ansible_collections.shipyard.site.plugins.module_utils.server import Server, module


def main():
    """Run the module."""
    ansible = module(
        node={"type": "str", "required": True},
        reason={"type": "str", "required": True},
        kind={"type": "str", "choices": ["operator", "maintenance", "hardware"], "default": "operator"},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    )
    server, given = Server(ansible), ansible.params
    active = (server.get("/holds") or {"holds": []})["holds"]
    holds = [one for one in active if (one["node"], one["reason"]) == (given["node"], given["reason"])]
    is_wanted = given["state"] == "present"
    changed = is_wanted is not bool(holds)
    if changed and not ansible.check_mode:
        if is_wanted:
            body = {"reason": given["reason"], "kind": given["kind"]}
            server.write("POST", f"/nodes/{given['node']}/holds", body)
        for one in holds:
            server.write("DELETE", f"/holds/{one['id']}")
    ansible.exit_json(changed=changed, holds=holds)


if __name__ == "__main__":
    main()
