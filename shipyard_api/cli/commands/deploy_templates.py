"""``shipyard deploy-template``: create, list, show, change and delete deploy templates (seed 003, CLI impact)."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shipyard_api.cli.client import TEMPLATES, Api
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.errors import UnreadableError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import deploy_step_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.shapes import objects_at, parse_json, parse_object
from shipyard_api.cli.output.wording import yaml_fault

_NAME = "CUSTOM_BM_CONFIG_RAID_DISK_MIRROR"
_LARGEST = 1024 * 1024  # bytes; the server reads no more
_STEPS = "The steps as JSON or YAML: the text itself, @FILE or the name of a file, or - for standard input."


_extra = click.option(
    "--extra", multiple=True, metavar="KEY=VALUE", help="A note of yours, as JSON or text. (repeatable)"
)


@click.group(
    "deploy-template",
    short_help="Manage deploy templates: the deploy steps that a trait asks for.",
    epilog=examples(
        f"shipyard deploy-template create {_NAME} --steps mirror.yaml", f"shipyard deploy-template show {_NAME}"
    ),
)
def deploy_template() -> None:
    """Manage deploy templates. A template has the name of a trait; a node whose deployment requests the trait gets its
    steps.
    """


@click.command(
    "create",
    short_help="Create a deploy template.",
    epilog=examples(
        f"shipyard deploy-template create {_NAME} --steps mirror.yaml",
        f"shipyard deploy-template create {_NAME} --steps @mirror.json",
    ),
)
@click.argument("name")
@click.option("--steps", required=True, help=f"{_STEPS} (required)")
@click.option("--uuid", "template_id", type=click.UUID, help="The id of the template. (default: a new one)")
@_extra
@click.pass_obj
def create(options: GlobalOptions, /, name: str, steps: str, template_id: object, extra: tuple[str, ...]) -> None:
    """Create a deploy template for the trait NAME: CUSTOM_… or a standard trait."""
    body: dict[str, Any] = {"name": name, "steps": read_steps(steps)}
    body |= {"uuid": str(template_id)} if template_id else {}
    body |= {"extra": dict(map(_pair, extra))} if extra else {}
    _show(options, lambda api: api.post("deploy_templates", json=body), expected=201)


@click.command("list", short_help="List all deploy templates.", epilog=examples("shipyard deploy-template list"))
@click.pass_obj
def list_templates(options: GlobalOptions, /) -> None:
    """List all deploy templates with their steps, in order of name."""
    _show(options, _all, cli=deploy_step_tables.templates)


@click.command("show", short_help="Show a deploy template.", epilog=examples(f"shipyard deploy-template show {_NAME}"))
@click.argument("template")
@click.pass_obj
def show_template(options: GlobalOptions, /, template: str) -> None:
    """Show the deploy template TEMPLATE, by its name or UUID. Secrets among its arguments are hidden."""
    _show(options, lambda api: api.get(_path(template)))


@click.command(
    "set",
    short_help="Change a deploy template.",
    epilog=examples(f"shipyard deploy-template set {_NAME} --extra owner=storage"),
)
@click.argument("template")
@click.option("--name", help="The new name: another trait.")
@click.option("--steps", help=f"{_STEPS} They replace all steps.")
@_extra
@click.pass_obj
def set_template(
    options: GlobalOptions, /, template: str, name: str | None, steps: str | None, extra: tuple[str, ...]
) -> None:
    """Change the deploy template TEMPLATE, by its name or UUID. Actions that exist already keep the old steps."""
    changes: list[dict[str, Any]] = []
    if name is not None:
        changes.append({"op": "add", "path": "/name", "value": name})
    if steps is not None:
        changes.append({"op": "add", "path": "/steps", "value": read_steps(steps)})
    changes += [{"op": "add", "path": f"/extra/{key}", "value": value} for key, value in map(_pair, extra)]
    if not changes:
        raise click.UsageError("Give --name, --steps or --extra: without them, nothing would change.")
    _show(options, lambda api: api.patch(_path(template), changes))


@click.command(
    "unset",
    short_help="Remove notes from a deploy template.",
    epilog=examples(f"shipyard deploy-template unset {_NAME} --extra owner"),
)
@click.argument("template")
@click.option("--extra", "keys", multiple=True, required=True, metavar="KEY", help="The note to remove. (repeatable)")
@click.pass_obj
def unset_template(options: GlobalOptions, /, template: str, keys: tuple[str, ...]) -> None:
    """Remove notes from the deploy template TEMPLATE, by its name or UUID."""
    changes = [{"op": "remove", "path": f"/extra/{key}"} for key in keys]
    _show(options, lambda api: api.patch(_path(template), changes))


@click.command(
    "delete", short_help="Delete a deploy template.", epilog=examples(f"shipyard deploy-template delete {_NAME}")
)
@click.argument("template")
@click.pass_obj
def delete_template(options: GlobalOptions, /, template: str) -> None:
    """Delete the deploy template TEMPLATE, by its name or UUID. Actions that exist already keep its steps."""
    deleted = Printout([f"Deploy template {template} is deleted."])
    _show(options, lambda api: api.delete(_path(template)), expected=204, cli=lambda _: deleted)


for command in (create, list_templates, show_template, set_template, unset_template, delete_template):
    deploy_template.add_command(command)


def read_steps(written: str) -> Any:
    """Return steps that are given as JSON or YAML text, as the name of a file, or as - for standard input."""
    if not written.strip():
        raise click.UsageError("--steps is empty: give the steps, the name of a file, or -.")
    if written == "-":
        source, content = "standard input", sys.stdin.buffer.read(_LARGEST + 1)
    elif written.lstrip().startswith(("[", "{")):
        source, content = "--steps", written.encode()
    else:
        path = Path(written.removeprefix("@"))
        source = f"the file {path}"
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST + 1)
        except OSError as error:
            raise click.UsageError(f"The steps cannot be read: {path}: {error.strerror}.") from error
    if len(content) > _LARGEST:
        raise click.UsageError(f"The steps in {source} are longer than {_LARGEST} bytes.")
    return _parsed(content, source)


def _parsed(content: bytes, source: str) -> Any:
    import yaml

    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    try:
        # BaseLoader would read numbers as text; tags of a safe loader are plain values, dates too, which JSON has not.
        return json.loads(json.dumps(yaml.safe_load(content), allow_nan=False))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise click.UsageError(f"The steps in {source} are neither JSON nor YAML: {yaml_fault(error)}") from error


def _pair(written: str) -> tuple[str, Any]:
    key, separator, value = written.partition("=")
    if not key or not separator:
        raise click.UsageError(f"--extra {written!r}: write it as KEY=VALUE.")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _path(template: str) -> str:
    return f"deploy_templates/{path_segment(template)}"


def _show(
    options: GlobalOptions,
    request: "Callable[[Api], Answer]",
    *,
    expected: int = 200,
    cli: Callable[[str], Printout] = deploy_step_tables.template,
) -> None:
    show(options, lambda api: _in_words(request(api)), expected=expected, cli=cli, base=TEMPLATES)


def _all(api: Api) -> Answer:
    """Return all pages as one answer in order of name; the first error, if there is one."""
    query = [("detail", "true"), ("sort_key", "name")]
    first = answer = api.get("deploy_templates", query)
    templates: list[Mapping[str, Any]] = []
    while answer.status == 200:
        page = parse_object(answer.text)
        templates += objects_at(page, "deploy_templates")
        if not page.get("next") or not templates:
            return replace(first, text=json.dumps({"deploy_templates": templates}))
        answer = api.get("deploy_templates", [*query, ("marker", str(templates[-1]["uuid"]))])
    return answer


def _in_words(answer: Answer) -> Answer:
    """Return an answer of this dialect with its error as a Status, as the other commands print it."""
    if answer.status < 400:
        return answer
    try:
        template = parse_object(answer.text)
        inner = parse_json(template["error_message"]) if "error_message" in template else template
        text = str(inner.get("faultstring") or inner.get("description"))
    except (UnreadableError, LookupError, TypeError, AttributeError):
        return answer
    status = {"kind": "Status", "status": "Failure", "message": text, "reason": f"status {answer.status}"}
    return replace(answer, text=json.dumps(status))
