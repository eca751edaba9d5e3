"""``shipyard inventory``: the committed design as a dynamic inventory of Ansible."""

import json
from typing import Any

import click

from shipyard_api.cli.client import SOFTWARE, Api, json_content
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import ansible_inventory
from shipyard_api.cli.output.ansible_inventory import InventoryError
from shipyard_api.cli.output.shapes import as_object, as_objects
from shipyard_api.cli.output.wording import printable_lines


@click.command(
    short_help="Print the nodes as an inventory of Ansible.",
    epilog=examples("shipyard inventory --list --network oam", "shipyard inventory --host compute11"),
)
@click.option("--list", "lists", is_flag=True, help="All nodes and groups, the default; Ansible calls it so.")
@click.option("--host", metavar="NAME", help="Only the variables of this node.")
@click.option(
    "--network",
    envvar="SHIPYARD_INVENTORY_NETWORK",
    show_envvar=True,
    help="Connect to the addresses that nodes have in this network of the design. (default: to their names)",
)
@click.pass_obj
def inventory(options: GlobalOptions, /, lists: bool, host: str | None, network: str | None) -> None:
    """Print the nodes of the committed design as the JSON of an Ansible inventory script.

    Groups are deployment groups, racks, node tags, roles, tags of the software stage, and the status of nodes, such as
    group_compute_nodes, rack_r1, tag_gpu, role_db, software_tag_mysql and status_success. Errors are on stderr.
    """
    if lists and host is not None:
        raise click.UsageError("Give either --list or --host.")
    try:
        hosts = _read(options, network)
    except (ApiError, InventoryError) as error:
        # Ansible shows what an inventory script writes to stderr.
        click.echo(printable_lines("Error: " + str(error).removeprefix("Error: ")), err=True)
        raise SystemExit(1) from error
    if host is not None:
        variables = hosts["_meta"]["hostvars"]
        if host not in variables:
            click.echo(printable_lines(f"Error: The committed design has no node '{host}'"), err=True)
            raise SystemExit(1)
        hosts = variables[host]
    click.echo(json.dumps(hosts, indent=4))


def _read(options: GlobalOptions, network: str | None) -> dict[str, Any]:

    api = Api(options)
    plan = as_object(json_content(api.post("plans", json={"name": "deploy_site"})), "the plan")
    if plan.get("revision") and not plan.get("mode"):
        raise InventoryError(
            f"revision {plan['revision']} has no usable groups: `shipyard plan deploy_site` shows what is wrong with it"
        )
    nodes = as_objects(json_content(Api(options, base=SOFTWARE).get("nodes")), "the nodes")
    statuses = {str(node.get("name")): str(node.get("status")) for node in api.pages("nodes", "nodes")}
    return ansible_inventory.inventory(plan, nodes, statuses, network)
