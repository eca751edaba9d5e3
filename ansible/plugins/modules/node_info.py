"""Read nodes."""

DOCUMENTATION = r"""
module: node_info
short_description: Read a node, or all nodes that actions have worked on
description:
  - Reads what the actions have left on each node.
options:
  name:
    description: The node; by default all of them.
    type: str
extends_documentation_fragment: [shipyard.site.server]
attributes:
  check_mode: {support: full, description: Changes nothing.}
author: The Shipyard developers (@shipyard)
"""
EXAMPLES = r"""
- name: One node
  shipyard.site.node_info: {name: cmp01-1}
"""
RETURN = r"""
nodes: {description: The nodes., type: list, elements: dict, returned: always}
"""

from ansible_collections.shipyard.site.plugins.module_utils.server import Server, module


def main():
    """Run the module."""
    ansible = module(name={"type": "str"})
    server, name = Server(ansible), ansible.params["name"]
    if name:
        found = server.get(f"/nodes/{name}")
        ansible.exit_json(changed=False, nodes=[found] if found else [])
    nodes, query = [], {"limit": 1000}
    while True:
        page = server.get("/nodes", query)
        nodes += page["nodes"]
        if not page["next"]:
            ansible.exit_json(changed=False, nodes=nodes)
        query["marker"] = page["next"]


if __name__ == "__main__":
    main()
