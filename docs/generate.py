"""Generate pages and sample files from the code: settings, routes, REST API, errors, actions, states, command line.

``python docs/generate.py`` writes them. ``--check`` lists stale ones and exits with 1.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Any, cast, get_type_hints

import click
import yaml
from api_page import api_page

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.site_parts import Designs, Patience, Systems
from shipyard_api.adapters.oslo_policy import policy
from shipyard_api.api.airship import error_answers, texts
from shipyard_api.api.airship.app import Collaborators, routes
from shipyard_api.cli.main import shipyard
from shipyard_api.domain import transitions
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.policy import default_roles
from shipyard_api.setting_types import Secret
from shipyard_api.settings import DEFAULT_FILE, Settings, share_directory

ROOT = Path(__file__).resolve().parent.parent
NOTICE = "<!-- Made by ./dev docs from the code. Do not edit. -->\n"
_STATES: tuple[tuple[str, str, transitions.Transitions[Any]], ...] = (
    ("Action", "`dag_status` of an action.", transitions.ACTION),
    ("Step", "`state` of a step; null before it starts.", transitions.STEP),
    ("Group", "`status` of a deployment group in one action.", transitions.GROUP),
    ("Node", "`status` of a node in one action.", transitions.NODE),
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def settings_sample() -> str:
    """Return etc/shipyard.conf.sample: every setting with its default, commented out."""
    lines = [
        "# Settings of Shipyard. Made by ./dev docs from the code; do not edit the sample.",
        f"# Copy it to {DEFAULT_FILE}, or name another file in SHIPYARD_CONFIG. The environment beats the file:",
        "# SHIPYARD_<SECTION>_<NAME>, and DATABASE_URL for [database] url.",
    ]
    for section, settings in _sections():
        lines += ["", f"[{section}]"]
        for name, default, described in settings:
            lines += [f"# {described}"] if described else []
            lines.append(f"#{name} = {default}".rstrip())
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Return docs/reference/settings.md."""
    lines = [
        "# Settings\n",
        f"One INI file, `{DEFAULT_FILE}` or the one that `SHIPYARD_CONFIG` names; the environment beats it.",
        "`etc/shipyard.conf.sample` is the same list as a file. All faults are reported at once, unknown settings too;",
        "numbers must be above 0. Times are in seconds.",
    ]
    for section, settings in _sections():
        lines += [f"\n## [{section}]\n", "| setting | environment | default | meaning |", "|---|---|---|---|"]
        for name, default, described in settings:
            variable = f"SHIPYARD_{section}_{name}".upper()
            if variable == "SHIPYARD_DATABASE_URL":
                variable = "DATABASE_URL"
            lines.append(f"| `{name}` | `{variable}` | {f'`{default}`' if default else ''} | {_cell(described)} |")
    return _page(lines)


def routes_page() -> str:
    """Return docs/reference/routes.md."""
    nothing = cast(Any, None)
    description = share_directory() / "schemas" / "openapi.yaml"
    own = Collaborators(
        **dict.fromkeys((one.name for one in fields(Collaborators)), nothing) | {"openapi": description}
    )
    lines = [
        "# Routes\n",
        "Every address of the REST API, the rule that guards it, and the roles that satisfy the rule by default; a",
        "[policy file](../howto/identity.md) can say otherwise. What has no rule is open to everyone. The OpenAPI",
        "document with bodies and parameters is served at `/openapi.json`.\n",
        "| method | address | rule | roles | what it does |",
        "|---|---|---|---|---|",
    ]
    for address, resource in routes(own).items():
        for method in _METHODS:
            responder = getattr(resource, f"on_{method.lower()}", None)
            if responder is None:
                continue
            rule = resource.policy[method]
            roles = ", ".join(sorted(default_roles(rule))) if rule else "everyone"
            told = _first_line(responder)
            further = getattr(resource, "cleartext_rule", None) if method == "GET" else None
            if further:
                allowed = ", ".join(sorted(default_roles(further)))
                told += f" With `cleartext-secrets=true` it takes `{further}` as well ({allowed})."
            lines.append(f"| {method} | `{address}` | {f'`{rule}`' if rule else ''} | {roles} | {_cell(told)} |")
    return _page(lines)


def rest_page() -> str:
    """Return docs/reference/api.md."""
    return _page([api_page((share_directory() / "schemas" / "openapi.yaml").read_text(encoding="utf-8"))])


def errors_page() -> str:
    """Return docs/reference/errors.md."""
    lines = [
        "# Errors\n",
        "Every error is a Status object (`kind: status`): `message` says what is wrong, `reason` why, `details` holds",
        "`errorType` and the list of messages, `code` repeats the status, `retry` says whether the same request may",
        "work later. `X-Shipyard-Req` names the request. If Deckhand keeps the documents and answers with an error,",
        "the answer is a 500 with `AppError` and Deckhand's code and text; if Deckhand gives no answer, it is the 503",
        "of this table.\n",
        "| error | status | errorType | retry | meaning |",
        "|---|---|---|---|---|",
    ]
    table: list[tuple[type[Exception], str, str, bool]] = [
        *((kind, row.code, row.error_type, row.retry) for kind, row in texts.ROWS.items()),
        *((kind, *line) for kind, line in error_answers.SYSTEMS.items()),
    ]
    for kind, code, error_type, retry in sorted(table, key=lambda line: line[1]):
        again = "yes" if retry else "no"
        lines.append(f"| {kind.__name__} | {code} | `{error_type}` | {again} | {_cell(_first_line(kind))} |")
    lines += [
        "| (the framework's own: no such address, method, parameter) | as it says | its class | no | The request does"
        " not fit the API. |",
        "| (anything else) | 500 | its class | yes | A bug of ours. The text is kept out of the answer; it is in the"
        " log. |",
    ]
    return _page(lines)


def actions_page() -> str:
    """Return docs/reference/actions.md."""
    nothing = cast(Any, None)
    lines = [
        "# Actions\n",
        "What can be asked for at `POST /api/v1.0/actions`, with the steps that run, in order. After a step has failed",
        "only those run that always do. The API also lists the bare ids `preflight` and `drydock_build`, which stand",
        "for the steps whose ids begin with them.",
    ]
    definitions = catalog(nothing, Designs(nothing, nothing), Systems(nothing), nothing, Patience())
    for name in ActionName:
        schema = yaml.safe_load((share_directory() / "schemas" / "actions" / f"{name.value}.yaml").read_text("utf-8"))
        lines += [f"\n## {name.value}\n", "| parameter | what it means |", "|---|---|"]
        lines += [f"| `{key}` | {told['description']} |" for key, told in schema["properties"].items()]
        if name not in definitions:
            lines += ["", "Is checked and then refused with 409: this release takes no server out of a cluster."]
            continue
        definition = definitions[name]
        lines += ["", definition.missing, ""] if definition.missing else [""]
        lines += ["| step | after a failure |", "|---|---|"]
        lines += [f"| `{step.id}` | {'runs' if step.always else 'is left out'} |" for step in definition.steps]
    return _page(lines)


def states_page() -> str:
    """Return docs/reference/states.md."""
    lines = [
        "# States\n",
        "The states of an action, its steps, its deployment groups and its nodes, and what causes each transition.",
        "The [glossary](glossary.md) defines the terms. A state without an arrow out of it is final.",
    ]
    for title, described, held in _STATES:
        first = next(iter(held))[0]
        begin = [f"    [*] --> {first.value}"] if first else []
        arrows = [f"    {before.value if before else '[*]'} --> {after.value}" for before, after in held]
        lines += [f"\n## {title}\n", f"{described}\n", "```mermaid", "stateDiagram-v2", *begin, *arrows, "```", ""]
        lines += ["| from | to | when |", "|---|---|---|"]
        for (before, after), cause in held.items():
            lines.append(f"| {f'`{before.value}`' if before else 'null'} | `{after.value}` | {_cell(cause)} |")
    return _page(lines)


def cli_page() -> str:
    """Return docs/reference/cli.md."""
    lines = [
        "# Command line\n",
        "How to sign in, complete and write scripts: [how-to](../howto/command-line.md).",
        "",
        "One command, `shipyard`. It is a client of the REST API; `demo`, `up`, `serve`, `worker`, `db`, `token` and",
        "`simulate` start programs here instead. Exit codes: 0 success, 1 an error of the API, no connection, or an",
        "action that failed, 2 a wrong command line or wrong settings.",
        "",
        "## Options before the command\n",
        *_options(shipyard),
    ]
    for words, command in _leaves(shipyard, ()):
        usage = " ".join(["shipyard", *words, *_arguments(command)])
        lines += [f"\n## {' '.join(words)}\n", f"`{usage}`\n", _sentences(command)]
        options = _options(command)
        lines += ["", *options] if options else []
        if command.epilog:
            lines += ["", "```text", *(line.strip() for line in command.epilog.splitlines()[2:]), "```"]
    return _page(lines)


PAGES: dict[str, Callable[[], str]] = {
    "etc/shipyard.conf.sample": settings_sample,
    "etc/policy.yaml": policy.sample,
    "docs/reference/settings.md": settings_page,
    "docs/reference/routes.md": routes_page,
    "docs/reference/api.md": rest_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/actions.md": actions_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/states.md": states_page,
}


def main() -> int:
    """Write the pages, or with ``--check`` say which are stale."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    stale = 0
    for name, make in PAGES.items():
        path, text = ROOT / name, make()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if check:
            sys.stderr.write(f"{name} is stale: run ./dev docs\n")
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


def _sections() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield each section with the name, default and description of its settings."""
    for section in fields(Settings):
        kind = get_type_hints(Settings)[section.name]
        described = _descriptions(kind)
        settings = []
        for setting in fields(kind):
            default = "" if setting.default is MISSING or isinstance(setting.default, Secret) else setting.default
            if isinstance(default, Enum):
                default = default.value
            shown = (
                "" if isinstance(default, Secret) else f"{default:g}" if isinstance(default, float) else str(default)
            )
            settings.append((setting.name, shown, described.get(setting.name, "")))
        yield section.name, settings


def _descriptions(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says after the double-quoted name of each attribute and a colon."""
    parts = re.split(r"``(\w+)``:\s*", inspect.getdoc(kind) or "")
    described = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        words = " ".join(text.partition("\n\n")[0].split()).replace("``", "")
        described[name] = words[:1].upper() + words[1:].rstrip(".") + "."
    return described


def _leaves(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in sorted(group.commands):
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from _leaves(command, (*words, name))
        else:
            yield (*words, name), command


def _arguments(command: click.Command) -> list[str]:
    """Return how a usage line writes the arguments; none of ours is optional but a list."""
    shown = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            name = parameter.metavar or (parameter.name or "").upper()
            shown.append(f"[{name}]..." if parameter.nargs == -1 else name)
    return shown


def _options(command: click.Command) -> list[str]:
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if not options:
        return []
    lines = ["| option | meaning |", "|---|---|"]
    for option in options:
        flags = ", ".join([*option.opts, *option.secondary_opts])
        if not option.is_flag:
            kind = option.type.name.upper().removesuffix(" RANGE")
            if isinstance(option.type, click.Choice):
                kind = "/".join(map(str, option.type.choices))
            flags += f" {option.metavar or kind}"
        told = option.help or ""
        if option.show_default and not option.is_flag:
            told += _default(option)
        if option.show_envvar and option.envvar:
            told += f" Environment: {option.envvar}."
        lines.append(f"| `{flags}` | {_cell(told.strip())} |")
    return lines


def _default(option: click.Option) -> str:
    default = option.show_default if isinstance(option.show_default, str) else option.default
    if default in (None, ""):
        return ""
    if isinstance(default, (tuple, list)):
        default = ", ".join(map(str, default))
    return f" Default: {f'{default:g}' if isinstance(default, float) else default}."


def _sentences(command: click.Command) -> str:
    return " ".join(inspect.cleandoc(command.help or command.short_help or "").split())


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return NOTICE + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
