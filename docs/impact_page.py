"""The page of impacts: what a change of each kind of document does to a server, from the table that decides it."""

from collections.abc import Iterator

from shipyard_api.domain.specification.impact import DONE, Impact, class_of
from shipyard_api.domain.specification.kinds import KINDS, OTHERS, Aspect, Kind

_WHEN = {
    Impact.UNCHANGED: ("all aspects are those of its record", "nothing"),
    Impact.NEW: ("the provisioner does not show it as deployed", "prepares and deploys it"),
    Impact.RELABEL: ("only `labels` or `placement` differ", "sets the labels, by Kubernetes or the provisioner"),
    Impact.SOFTWARE: (
        "beside these only `software` differs: the tasks that run on it, with its values in them",
        "runs its tasks, if it has any left, in the software stage",
    ),
    Impact.SERVICE: (
        "beside these only steps of deploy templates differ, and the provisioner runs steps on deployed servers",
        "`least`, `reinstall`: drains it, runs its changed steps, uncordons it; "
        "else nothing: [`service_server`](../howto/deploy-templates.md)",
    ),
    Impact.REINSTALL: (
        "any other aspect differs",
        "`reinstall`: takes it down and deploys it again; "
        "else nothing: [`redeploy_server`](../howto/redeploy-a-server.md)",
    ),
    Impact.REPLACE: (
        "`hardware` differs: another machine under its name",
        "as for `reinstall`; else nothing: `redeploy_server`",
    ),
    Impact.LEAVES: (
        "deployed, and not in the design any more",
        "`on-removed=remove`: takes it down for good; else nothing: `remove_server`",
    ),
    Impact.UNKNOWN: (
        "the provisioner shows it as deployed, and there is no record of it",
        "nothing: `shipyard node adopt`",
    ),
}
_INTRODUCTION = """# What a change does to a server

Every value of a design counts for one *aspect* of the nodes that it reaches. Shipyard keeps a digest of each aspect
that a server was given, and compares. The class of a node follows from the aspects that differ. Plans name it before
anything runs.

| class | when | `update_site`, with `on-change` |
|---|---|---|"""
_KINDS = """
Without `on-change`, `update_site` erases nothing and drains nothing. How it goes through a site with it is in
[Change a running site](../howto/change-a-running-site.md). Servers that it leaves with an older specification are named
until that is true no more: in its step and report, on the page, in the event `nodes_left`, in `shipyard get nodes`, in
the metric `shipyard_older_nodes`, and in every later plan.

A template that the design chose for a server and chooses no more is a difference, `gone:steps:TEMPLATE`: only a new
installation is without what its steps did. A template that only `service_server` ran is none.

A task that is changed or removed leaves on its servers what it did: nothing undoes it, and only a new installation is
without it. Such a server is of the class `software` all the same, and not of `reinstall` as with the steps of a
template: a run of tasks adds to what a server has, graphs change often, and the other tasks of the server still run.
The plan names these servers in the finding `TasksNotUndone`, a warning if one has no task any more. `update_site` then
runs none on it, and records that. To be without the traces of a task, let another task remove them, or redeploy the
server.

Values that no table names are of the aspect `other`, and need a reinstallation. A value inherited from a host profile
counts for every node below it. A secret counts by a keyed digest. A value that moves between a node and its profiles,
and stays the same, changes nothing. The address of a node in the network of its BMC (`oob.network`) is of `hardware`.
The task graph is no document: its tasks are of `software`.

## By kind of document
"""


def impact_page() -> str:
    """Return docs/reference/impact.md, without its notice."""
    lines = [_INTRODUCTION]
    lines += [f"| `{impact.value}` | {when} | {does} |" for impact, (when, does) in _WHEN.items()]
    lines.append(_KINDS)
    for name, kind in {**KINDS, **{f"{prefix}*": kind for prefix, kind in OTHERS.items()}}.items():
        lines += [f"### {name}\n", f"Reaches {kind.reach.value}.\n", *_fields(kind)]
    lines.append(
        "### Any other kind\n\nReaches no node: its values count in the documents that they are substituted into."
    )
    return "\n".join(lines) + "\n"


def _fields(kind: Kind) -> Iterator[str]:
    if not kind.fields and kind.rest is None:
        return
    yield from ("| field | aspect | class |", "|---|---|---|")
    for name, aspect in kind.fields.items():
        yield f"| `{name}` | {_cells(aspect, name)} |"
    yield f"| {'all others' if kind.fields else 'all'} | {_cells(kind.rest)} |"
    yield ""


def _cells(aspect: Aspect | None, name: str = "") -> str:
    if aspect is None:
        followed = "the profile that it names is followed" if name.endswith("_profile") else "none: no server holds it"
        return f"{followed} | `unchanged`"
    if aspect is Aspect.STEPS:
        return "`steps` | `service` or `reinstall`"
    found = class_of([aspect.value], services=False)
    return f"`{aspect.value}` | `{found.value}`{'' if found in DONE else ', left'}"
