"""``shipyard node``: single operations that take a node out of its cluster; and the health of etcd."""

from collections.abc import Mapping

import click

from shipyard_api.cli.client import Api, Query, json_content
from shipyard_api.cli.commands import shared_options, software
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import deploy_step_tables, drain_tables, hardware_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.printout import Printout, sections
from shipyard_api.cli.output.shapes import list_at, parse_object
from shipyard_api.cli.output.status_text import done
from shipyard_api.domain.node_sets import InvalidNodeSet, expand

# An answer comes when the operation has ended; the server knows its limits.
_LONGEST = 7 * 86_400.0
_SECONDS = click.IntRange(1)
_GOES_ON = "The operation may go on: the same command waits for it again."


@click.group(
    "node",
    short_help="Operate on one node: drain it, take it out of its cluster; its deploy steps.",
    epilog=examples("shipyard node drain compute11", "shipyard node decommission compute11"),
)
def node() -> None:
    """Run one operation on a node and wait for its end, or show its deploy steps.

    An interrupted command does not stop the operation: the same command waits for it again. `shipyard describe node
    NAME` shows its action, which `shipyard stop` stops.
    """


@click.command(
    "decommission",
    short_help="Take a node out of Kubernetes and etcd.",
    epilog=examples("shipyard node decommission compute11", "shipyard node decommission compute11 --revision 3"),
)
@click.argument("name")
@shared_options.revision
@click.option("--drain-node-timeout", type=_SECONDS, help="Seconds for the drain.")
@click.option("--drain-node-grace-period", type=_SECONDS, help="Seconds for each pod to end.")
@click.option("--clear-labels-timeout", type=_SECONDS, help="Seconds for pods to go after their labels.")
@click.option("--remove-etcd-timeout", type=_SECONDS, help="Seconds for the removal of etcd members.")
@click.option("--etcd-ready-timeout", type=_SECONDS, help="Seconds for etcd to become healthy.")
@click.pass_obj
def decommission(options: GlobalOptions, /, name: str, revision: int | None, **limits: int | None) -> None:
    """Drain the node NAME, clear its labels, remove its etcd members, wait for etcd, and shut down its kubelet."""
    _run(options, "decommission", name, limits, with_design=True, revision=revision)


@click.command("drain", short_help="Drain a node.", epilog=examples("shipyard node drain compute11 --timeout 7200"))
@click.argument("name")
@click.option("--timeout", type=_SECONDS, help="Seconds for the drain.")
@click.option("--grace-period", type=_SECONDS, help="Seconds for each pod to end; less than the timeout.")
@click.option(
    "--on-blocked",
    type=click.Choice(["wait", "fail", "delete"]),
    help="Pods that a budget keeps: wait for it, fail at once if it never gives way, or delete them past it.",
)
@click.pass_obj
def drain(options: GlobalOptions, /, name: str, **limits: int | str | None) -> None:
    """Cordon the node NAME and evict its pods, within their budgets unless --on-blocked=delete. It stays cordoned."""
    _run(options, "drain", name, limits)


@click.command(
    "clear-labels", short_help="Clear the labels of a node.", epilog=examples("shipyard node clear-labels compute11")
)
@click.argument("name")
@click.option("--timeout", type=_SECONDS, help="Seconds for pods to go after their labels.")
@click.pass_obj
def clear_labels(options: GlobalOptions, /, name: str, **limits: int | None) -> None:
    """Remove the labels of the node NAME that are not Kubernetes' own, and wait for the pods that they held."""
    _run(options, "clear-labels", name, limits)


@click.command(
    "remove-etcd",
    short_help="Remove the etcd members of a node.",
    epilog=examples("shipyard node remove-etcd compute11"),
)
@click.argument("name")
@shared_options.revision
@click.option("--timeout", type=_SECONDS, help="Seconds for the removal.")
@click.pass_obj
def remove_etcd(options: GlobalOptions, /, name: str, revision: int | None, **limits: int | None) -> None:
    """Remove the members of the node NAME from the etcd clusters, if the rest keeps its quorum."""
    _run(options, "remove-etcd", name, limits, with_design=True, revision=revision)


@click.command(
    "shutdown-kubelet",
    short_help="Shut down the kubelet of a node.",
    epilog=examples("shipyard node shutdown-kubelet compute11"),
)
@click.argument("name")
@click.pass_obj
def shutdown_kubelet(options: GlobalOptions, /, name: str) -> None:
    """Have the kubelet of the node NAME stopped, and wait until it is silent."""
    _run(options, "shutdown-kubelet", name, {})


@click.command(
    "remove-from-cluster",
    short_help="Remove a drained node from Kubernetes.",
    epilog=examples("shipyard node remove-from-cluster compute11"),
)
@click.argument("name")
@click.pass_obj
def remove_from_cluster(options: GlobalOptions, /, name: str) -> None:
    """Delete the node NAME from Kubernetes. It must be cordoned, and have neither pods nor labels."""
    _run(options, "remove-from-cluster", name, {})


@click.command(
    "uncordon",
    short_help="Uncordon a node that Shipyard has cordoned.",
    epilog=examples("shipyard node uncordon compute11"),
)
@click.argument("name")
@click.pass_obj
def uncordon(options: GlobalOptions, /, name: str) -> None:
    """Let pods run again on the node NAME, which a drain or a service has cordoned.

    The cordon of another person stays.
    """
    _run(options, "uncordon", name, {})


@click.command(
    "etcd-health",
    short_help="Show the health of the etcd clusters.",
    epilog=examples("shipyard get etcd-health", "shipyard get etcd-health --revision 3"),
)
@shared_options.revision
@click.pass_obj
def etcd_health(options: GlobalOptions, /, revision: int | None) -> None:
    """Show the health of every etcd cluster that the design manages."""

    def read(api: Api) -> Answer:
        return api.get("etcd-cluster-health-statuses", [("design_ref", _href(revision or _committed(api)))])

    show(options, read, cli=drain_tables.etcd_health)


@click.command(
    "deploy-steps",
    short_help="Show the deploy steps that a node supports.",
    epilog=examples("shipyard node deploy-steps compute11", "shipyard node deploy-steps compute11 -o json"),
)
@click.argument("name", metavar="NODE")
@click.pass_obj
def deploy_steps(options: GlobalOptions, /, name: str) -> None:
    """Show what a deploy template may ask for on NODE: its steps, their arguments and default priorities."""
    path = f"nodes/{path_segment(name.removeprefix('node/'))}/deploy-steps"
    show(options, lambda api: api.get(path), cli=deploy_step_tables.node_steps)


@click.command(
    "describe-hardware",
    short_help="Show the hardware of a node.",
    epilog=examples(
        "shipyard node describe-hardware compute11",
        "shipyard node describe-hardware compute11 --as-document > expected-hardware.yaml",
    ),
)
@click.argument("name", metavar="NODE")
@click.option("--as-document", is_flag=True, help="Print a document that expects this hardware.")
@click.pass_obj
def describe_hardware(options: GlobalOptions, /, name: str, *, as_document: bool) -> None:
    """Show what the provisioner has seen of NODE, and how it differs from the committed design.

    With --as-document: print it as a document that servers of the same hardware profile are compared with. Choose a
    server that is as it should be.
    """
    path = f"nodes/{path_segment(name.removeprefix('node/'))}/hardware"
    printed = hardware_tables.document if as_document else hardware_tables.hardware
    show(options, lambda api: api.get(path), cli=printed)


@click.command(
    "adopt",
    short_help="Record that servers have what a revision gives them.",
    epilog=examples("shipyard node adopt compute[11-14] --revision 3", "shipyard node adopt compute11,compute12"),
)
@click.argument("nodes", metavar="NODES")
@click.option("--revision", type=click.IntRange(1), help="What the servers have. (default: committed)")
@click.pass_obj
def adopt(options: GlobalOptions, /, nodes: str, revision: int | None) -> None:
    """Record that NODES, comma-separated, have what a revision gives them. Nothing is sent to a server.

    Plans show servers as unknown that the provisioner shows as deployed, and of which Shipyard has no record: those
    that were deployed before it. Adopt them, and later plans say what a change of the design does to them.
    """
    try:
        names = [name.removeprefix("node/") for name in expand([nodes])]
    except InvalidNodeSet as error:
        raise click.UsageError(f"NODES: {error}") from error

    def post(api: Api) -> Answer:
        return api.post("adoptions", json={"nodes": names, "revision": revision or _committed(api)})

    def adopted(text: str) -> Printout:
        body = parse_object(text)
        return sections(f"Adopted with revision {body.get('revision')}: {listed(list_at(body, 'nodes'))}")

    show(options, post, cli=adopted)


@click.command(
    "drain-plan",
    short_help="Show what a drain of a node would do.",
    epilog=examples("shipyard drain-plan compute11", "shipyard drain-plan compute11 -o json"),
)
@click.argument("name", metavar="NODE")
@click.pass_obj
def drain_plan(options: GlobalOptions, /, name: str) -> None:
    """Show what a drain of NODE would do now, without changing anything.

    Every pod has the class that a drain gives it. Below are the etcd clusters, with how many members may fail now and
    without the node, and what forbids a teardown.
    """
    path = f"nodes/{path_segment(name.removeprefix('node/'))}/drain-plan"
    show(options, lambda api: api.get(path), cli=drain_tables.drain_plan)


def _run(
    options: GlobalOptions,
    operation: str,
    name: str,
    limits: Mapping[str, int | str | None],
    *,
    with_design: bool = False,
    revision: int | None = None,
) -> None:
    path = f"nodes/{path_segment(name.removeprefix('node/'))}/{operation}"
    query: Query = [(limit.replace("_", "-"), str(value)) for limit, value in limits.items() if value is not None]

    def call(api: Api) -> Answer:
        body = None
        if with_design:
            body = {"rel": "design", "href": _href(revision or _committed(api)), "type": "application/x-yaml"}
        try:
            return api.post(path, query, json=body)
        except ApiError as error:
            if error.sent:
                click.echo(_GOES_ON, err=True)
            raise
        except KeyboardInterrupt:
            click.echo(_GOES_ON, err=True)
            raise

    show(options, call, cli=lambda text: done(f"{operation} of {name}", text), timeout=_LONGEST)


def _committed(api: Api) -> int:
    """Return the committed revision, which every plan names."""
    plan = json_content(api.post("plans", json={"name": "test_site"}))
    if not plan.get("revision"):
        raise ApiError("Error: Nothing is committed yet, so no design names etcd clusters: give --revision")
    return int(plan["revision"])


def _href(revision: int) -> str:
    """Return a reference to a design of the server. It reads its own documents and ignores the host."""
    return f"deckhand+http://shipyard/api/v1.0/revisions/{revision}/rendered-documents"


for command in (
    software.run,
    adopt,
    deploy_steps,
    describe_hardware,
    decommission,
    drain,
    clear_labels,
    remove_etcd,
    shutdown_kubelet,
    remove_from_cluster,
    uncordon,
):
    node.add_command(command)
