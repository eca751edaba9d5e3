"""Generate pages and sample files from the code: settings, routes, REST API, errors, actions, states, command line.

``python docs/generate.py`` writes them. ``--check`` lists stale ones and exits with 1.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, cast

import errors_page
import msgspec
import yaml
from api_page import api_page
from architecture_page import architecture_page
from cli_page import cli_page
from entity_schemas import with_entities
from hardware_page import hardware_page
from impact_page import impact_page
from where_page import where_page

from shipyard_api.actions.catalog import ACTIONS, catalog
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import ActionDesigns, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.adapters.oslo_policy import policy
from shipyard_api.api import oidc as oidc
from shipyard_api.api.airship import error_answers
from shipyard_api.api.airship.action_views import shown_steps
from shipyard_api.api.airship.app import Collaborators, routes
from shipyard_api.api.events import resources as events
from shipyard_api.api.http.dialect import DIALECTS
from shipyard_api.cli.output.live_view import export_svg
from shipyard_api.domain import transitions
from shipyard_api.domain.actions import ActionId, ActionName, StepState
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Document, find, inventory, parse_documents
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.policy import default_roles
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy import selectors, strategy
from shipyard_api.domain.strategy.criteria import needed
from shipyard_api.ports.state.actions import StepRecord
from shipyard_api.settings.types import Secret
from shipyard_api.wiring.settings import DEFAULT_FILE, section_types, share_directory
from shipyard_api.yaml_stream import read_documents

ROOT = Path(__file__).resolve().parent.parent
NOTICE = "<!-- Made by ./dev docs from the code. Do not edit. -->\n"
_STATES: tuple[tuple[str, str, transitions.Transitions[Any]], ...] = (
    ("Action", "`dag_status` of an action.", transitions.ACTION),
    ("Step", "`state` of a step; null before it starts.", transitions.STEP),
    ("Work item", "A durable part of a step that fans out.", transitions.ITEM),
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
        f"Shipyard reads one INI file, `{DEFAULT_FILE}` or the file named in `SHIPYARD_CONFIG`. Environment variables",
        "override it. `etc/shipyard.conf.sample` has the same settings as a file. Errors are reported all at once,",
        "including unknown settings. Numbers must be above 0. Times are in seconds.",
    ]
    for section, settings in _sections():
        lines += [f"\n## [{section}]\n", "| setting | environment | default | meaning |", "|---|---|---|---|"]
        for name, default, described in settings:
            variable = f"SHIPYARD_{section}_{name}".upper()
            if variable == "SHIPYARD_DATABASE_URL":
                variable = "DATABASE_URL"
            lines.append(f"| `{name}` | `{variable}` | {f'`{default}`' if default else ''} | {_cell(described)} |")
    return _page(lines)


class _Anything:
    """Takes the place of use cases: addresses, rules and first lines depend on none."""

    def __getattr__(self, name: str) -> Any:
        return self


def routes_page() -> str:
    """Return docs/reference/routes.md."""
    nothing = _Anything()
    description = share_directory() / "schemas" / "openapi.yaml"
    own = Collaborators(
        **dict.fromkeys((one.name for one in msgspec.structs.fields(Collaborators)), nothing)
        | {"openapi": description, "events": events.routes(nothing, nothing), "sign_in": oidc.routes(nothing)}
    )
    others = [row for dialect in DIALECTS.installed().values() for row in dialect.routes(cast(Any, nothing)).items()]
    lines = [
        "# Routes\n",
        "Every address of the REST API, its rule, and the roles that satisfy the rule by default. A",
        "[policy file](../howto/identity.md#change-roles-and-rules) can change them. Addresses without a rule are",
        "public. `/openapi.json` serves the OpenAPI document with bodies, parameters and answers of all of them;",
        "[deploy templates](deploy-templates.md) and [task graphs](software.md) also have pages of their own.\n",
        "| method | address | rule | roles | what it does |",
        "|---|---|---|---|---|",
    ]
    for address, resource in (*routes(own).items(), *others):
        for method in _METHODS:
            responder = getattr(resource, f"on_{method.lower()}", None)
            if responder is None:
                continue
            rule = resource.policy[method]
            roles = ", ".join(sorted(default_roles(rule))) if rule else "everyone"
            purpose = _first_line(responder)
            further = getattr(resource, "cleartext_rule", None) if method == "GET" else None
            if further:
                allowed = ", ".join(sorted(default_roles(further)))
                purpose += f" With `cleartext-secrets=true` it also requires `{further}` ({allowed})."
            lines.append(f"| {method} | `{address}` | {f'`{rule}`' if rule else ''} | {roles} | {_cell(purpose)} |")
    return _page(lines)


def rest_page() -> str:
    """Return docs/reference/api.md."""
    return _page([api_page((share_directory() / "schemas" / "openapi.yaml").read_text(encoding="utf-8"))])


def _shipped(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = yaml.safe_load((share_directory() / "schemas" / f"{name}.yaml").read_text("utf-8"))
    return schema


def page_of_errors() -> str:
    """Return docs/reference/errors.md."""
    lines = [
        "# Errors\n",
        "Every error is a Status object (`kind: status`):\n",
        "- `message` says what is wrong, `reason` why.",
        "- `details` has `errorType` and the list of messages.",
        "- `code` repeats the HTTP status.",
        "- `retry` says whether the same request may succeed later.\n",
        "`X-Shipyard-Req` has the id of the request. If a Deckhand stores the documents and answers with an error, the",
        "answer is a 500 with `AppError` and Deckhand's code and text. If it does not answer, the answer is a 503.\n",
        "A caller whose `Accept` names `application/problem+json` gets the form of RFC 9457: `type` is",
        "`urn:shipyard:error:` and the error of the table, or `about:blank`; `title` is the message, `detail` the",
        "reason.\n",
        "A name in braces stands for data of the error.\n",
        "| error | status | errorType | retry | message | reason |",
        "|---|---|---|---|---|---|",
    ]
    table = [
        *errors_page.lines(),
        *((kind.__name__, *line, "", _first_line(kind)) for kind, line in error_answers.SYSTEMS.items()),
    ]
    for code, status, error_type, retry, message, reason in sorted(table, key=lambda line: line[1]):
        again = "yes" if retry else "no"
        lines.append(f"| {code} | {status} | `{error_type}` | {again} | {_cell(message)} | {_cell(reason)} |")
    lines += [
        "| (the framework's own: unknown address, method or parameter) | as raised | its class | no | | The request"
        " does not match the API. |",
        "| (anything else) | 500 | its class | yes | | A bug in Shipyard. Its text is only in the log. |",
    ]
    return _page(lines)


_ON_ONE = ActionInputs(site=SiteInputs(1, DeploymentConfiguration(), None, (NodeName("n1"),)))
"""The inputs of an action on one node."""


def actions_page() -> str:
    """Return docs/reference/actions.md."""
    nothing = cast(Any, None)
    lines = [
        "# Actions\n",
        "The actions of `POST /api/v1.0/actions`, with their parameters and their steps in order. After a failed step,",
        "only some later steps run. The API also lists the bare ids `preflight` and `drydock_build`, which stand for",
        "all steps with that prefix.",
    ]
    definitions = catalog(nothing, ActionDesigns(nothing, nothing), Systems(nothing), nothing, RetryPolicy())
    for name in ACTIONS.listed:
        schema = yaml.safe_load((share_directory() / "schemas" / "actions" / f"{name}.yaml").read_text("utf-8"))
        lines += [f"\n## {name}\n", "| parameter | meaning |", "|---|---|"]
        lines += [f"| `{key}` | {held['description']} |" for key, held in schema["properties"].items()]
        definition = definitions[name]
        lines += ["", definition.missing, ""] if definition.missing else [""]
        lines += ["| step | after a failure |", "|---|---|"]
        without = definition.step_ids(_ON_ONE)
        for step in definition.steps_for(msgspec.structs.replace(_ON_ONE, software={})):
            where = "" if step.id in without else ", on a site with a task graph"
            lines.append(f"| `{step.id}`{where} | {'runs' if step.always else 'does not run'} |")
        if name == ActionName("redeploy_server"):
            lines += ["", "Each further batch of targets repeats the steps from `check_teardown` on, numbered from 2."]
    return _page(lines)


def states_page() -> str:
    """Return docs/reference/states.md."""
    lines = [
        "# States\n",
        "The states of an action, its steps, work items, deployment groups and nodes, and what causes each transition.",
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


def architecture() -> str:
    """Return docs/reference/architecture.md."""
    nothing = cast(Any, None)
    definitions = catalog(nothing, ActionDesigns(nothing, nothing), Systems(nothing), nothing, RetryPolicy())
    steps = {
        str(name): [step.id for step in definitions[name].steps_for(msgspec.structs.replace(_ON_ONE, software={}))]
        for name in ACTIONS.listed
    }
    return _page(architecture_page(ROOT, steps))


def watch_image() -> str:
    """Return docs/images/watch.svg: `shipyard watch` at the end of `./dev demo --scenario compute-2-deploy-fails`."""
    nothing = cast(Any, None)
    definitions = catalog(nothing, ActionDesigns(nothing, nothing), Systems(nothing), nothing, RetryPolicy())
    documents, _ = parse_documents(read_documents((ROOT / "shipyard_simulators/sites/five-groups.yaml").read_bytes()))
    written = cast(Document, find(documents, strategy.SCHEMA, strategy.DEFAULT_STRATEGY_NAME))
    machines, groups, nodes = inventory(documents), [], []
    began = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
    for group in strategy.parse_strategy(written.data).groups:
        members = sorted(selectors.select(group.selectors, machines))
        failed = group.name == "compute-nodes-2"
        counts = dict.fromkeys(("not_started", "prepared", "success", "failure"), 0)
        counts["failure" if failed else "success"] = len(members)
        groups.append(
            {
                "name": group.name,
                "critical": group.critical,
                "status": "failed" if failed else "success",
                "reason": "deploy" if failed else None,
                "detail": "percent_successful_nodes is 0%, at least 50% needed" if failed else "",
                "depends_on": list(group.depends_on),
                "nodes": {"total": len(members), **counts},
                "needs": needed(group.success_criteria, len(members)),
                "phases": [],
            }
        )
        nodes += [
            {
                "name": name,
                "status": "failure" if failed else "success",
                "reason": "deploy" if failed else None,
                "detail": "curtin: no bootable disk" if failed else "",
                "group": group.name,
                "groups": [group.name],
                "updated_at": began.isoformat(),
            }
            for name in members
        ]
    ids = definitions[ActionName("deploy_site")].step_ids(ActionInputs())
    identity = ActionId("01M7Y998KBBH903Q5KHQ6VASDJ")
    ended = [StepRecord(identity, one, number, StepState.SUCCESS, began, began, "") for number, one in enumerate(ids)]
    action = {
        "id": identity,
        "name": "deploy_site",
        "action_lifecycle": "Complete",
        "verdict": "success",
        "datetime": began.isoformat(),
        "steps": [{"id": step.id, "state": "success"} for step in shown_steps(ended)],
    }
    return export_svg(action, groups, nodes, began + timedelta(seconds=42), f"shipyard watch {identity}")


OPENAPI = ROOT / "schemas" / "openapi.yaml"
PAGES: dict[str, Callable[[], str]] = {
    "schemas/openapi.yaml": lambda: with_entities(OPENAPI.read_text(encoding="utf-8")),
    "etc/shipyard.conf.sample": settings_sample,
    "etc/policy.yaml": policy.sample,
    "docs/reference/settings.md": settings_page,
    "docs/reference/routes.md": routes_page,
    "docs/reference/api.md": rest_page,
    "docs/reference/errors.md": page_of_errors,
    "docs/reference/actions.md": actions_page,
    "docs/reference/cli.md": lambda: _page(cli_page()),
    "docs/reference/states.md": states_page,
    "docs/reference/impact.md": lambda: _page([impact_page()]),
    "docs/reference/expected-hardware.md": lambda: _page(hardware_page(_shipped("expected_hardware_v1"))),
    "docs/reference/architecture.md": architecture,
    "docs/reference/where-things-are.md": lambda: _page([where_page(ROOT)]),
    "docs/images/watch.svg": watch_image,
}


def main() -> int:
    """Write the pages, or with ``--check`` list the stale ones."""
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
    for section, kind in section_types().items():
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
        yield section, settings


def _descriptions(kind: type) -> dict[str, str]:
    """Return the description of each attribute from the docstring of its class."""
    parts = re.split(r"``(\w+)``:\s*", inspect.getdoc(kind) or "")
    described: dict[str, str] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        if name in described:
            raise ValueError(f"{kind.__name__} describes {name} twice: ``name``: begins a description")
        words = " ".join(text.partition("\n\n")[0].split()).replace("``", "")
        described[name] = words[:1].upper() + words[1:].rstrip(".") + "."
    return described


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return NOTICE + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
