"""The nodes of the committed design, as ``shipyard inventory`` prints them."""

DOCUMENTATION = r"""
name: nodes
short_description: The nodes of the committed design
description:
  - Runs C(shipyard inventory), which has to be installed where Ansible runs.
  - The file's name ends in C(shipyard.yml).
options:
  plugin: {description: The name of this plugin., required: true, choices: [shipyard.site.nodes]}
  command: {description: The command line of Shipyard., default: shipyard}
  network: {description: The network of the design to whose addresses Ansible connects., default: ""}
  url: {description: The address of the server., env: [{name: SHIPYARD_URL}]}
  token: {description: A token for it., env: [{name: SHIPYARD_TOKEN}]}
"""

import json
import os
import subprocess

from ansible.errors import AnsibleParserError

from ansible.plugins.inventory import BaseInventoryPlugin


class InventoryModule(BaseInventoryPlugin):
    """Groups and variables are those of the command."""

    NAME = "shipyard.site.nodes"

    def verify_file(self, path):
        """Return whether a file is for this plugin."""
        return super().verify_file(path) and path.endswith(("shipyard.yml", "shipyard.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        """Fill the inventory."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        network = self.get_option("network")
        command = [self.get_option("command"), "inventory", *(["--network", network] if network else [])]
        server = {"SHIPYARD_URL": self.get_option("url"), "SHIPYARD_TOKEN": self.get_option("token")}
        environment = os.environ | {name: value for name, value in server.items() if value}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        except OSError as error:
            raise AnsibleParserError(f"{command[0]}: {error}") from error
        if done.returncode:
            raise AnsibleParserError(done.stderr.strip())
        groups = json.loads(done.stdout)
        variables = groups.pop("_meta")["hostvars"]
        for host, values in variables.items():
            self.inventory.add_host(host)
            for name, value in values.items():
                self.inventory.set_variable(host, name, value)
        for group, content in groups.items():
            self.inventory.add_group(group)
            for host in content.get("hosts", []):
                self.inventory.add_host(host, group)
            for child in content.get("children", []):
                self.inventory.add_group(child)
                self.inventory.add_child(group, child)
