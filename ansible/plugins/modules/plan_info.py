"""Read what an action would do."""

DOCUMENTATION = r"""
module: plan_info
short_description: Read what an action would do
description:
  - Asks the server what an action would do; nothing is stored and nothing is started.
options:
  name:
    description: The action.
    type: str
    required: true
  parameters:
    description: Its parameters.
    type: dict
    default: {}
extends_documentation_fragment: [shipyard.site.server]
attributes:
  check_mode: {support: full, description: Changes nothing.}
author: The Shipyard developers (@shipyard)
"""
EXAMPLES = r"""
- name: What would be deployed
  shipyard.site.plan_info: {name: deploy_site}
"""
RETURN = r"""
plan: {description: The plan., type: dict, returned: always}
"""

from ansible_collections.shipyard.site.plugins.module_utils.server import Server, module


def main():
    """Run the module."""
    ansible = module(name={"type": "str", "required": True}, parameters={"type": "dict", "default": {}})
    server, given = Server(ansible), ansible.params
    plan = server.write("POST", "/plans", {"name": given["name"], "parameters": given["parameters"]})
    ansible.exit_json(changed=False, plan=plan)


if __name__ == "__main__":
    main()
