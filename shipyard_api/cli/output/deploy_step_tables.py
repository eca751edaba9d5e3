"""Deploy steps and deploy templates as tables. Pure."""

import json

from shipyard_api.cli.output.printout import Printout, fields, sections, table
from shipyard_api.cli.output.shapes import JsonObject, as_object, list_at, objects_at, parse_object, required
from shipyard_api.cli.output.wording import to_the_second


def node_steps(text: str) -> Printout:
    """Return the steps that a node supports."""
    body = parse_object(text)
    about = [("Node:", required(body, "node")), ("Provisioner:", required(body, "provisioner"))]
    about += [("Note:", hint) for hint in list_at(body, "hints")]
    rows = [
        (required(step, "priority"), _key(step), _arguments(step), _remark(step)) for step in objects_at(body, "steps")
    ]
    return sections(fields(about), table(rows, ("Priority", "Step", "Arguments (* required)", "Remark"), gap=2))


def templates(text: str) -> Printout:
    """Return a list of deploy templates."""
    rows = [_row(entry) for entry in objects_at(parse_object(text), "deploy_templates")]
    return Printout([table(rows, ("Template", "Steps", "UUID"), gap=2)])


def template(text: str) -> Printout:
    """Return one deploy template with its steps."""
    body = parse_object(text)
    about = [
        ("Template:", required(body, "name")),
        ("UUID:", required(body, "uuid")),
        ("Created:", to_the_second(body.get("created_at"))),
        ("Updated:", to_the_second(body.get("updated_at")) or "never"),
        *((f"Extra {name}:", _json(value)) for name, value in as_object(body.get("extra") or {}, "extra").items()),
    ]
    rows = [(required(step, "priority"), _key(step), _json(step.get("args"))) for step in objects_at(body, "steps")]
    return sections(fields(about), table(rows, ("Priority", "Step", "Arguments"), gap=2))


def _row(template: JsonObject) -> tuple[object, ...]:
    steps = [f"{_key(step)} {required(step, 'priority')}" for step in objects_at(template, "steps")]
    return required(template, "name"), ", ".join(steps), required(template, "uuid")


def _key(step: JsonObject) -> str:
    return f"{required(step, 'interface')}.{required(step, 'step')}"


def _arguments(step: JsonObject) -> str:
    arguments = objects_at(step, "args")
    return (
        ", ".join(f"{argument.get('name')}{'*' if argument.get('required') else ''}" for argument in arguments)
        or "none"
    )


def _remark(step: JsonObject) -> str:
    parts = ["core: can only be disabled"] if step.get("core") else []
    parts += [] if step.get("allowed", True) else ["never runs"]
    return "; ".join(parts) or ("runs by default" if step.get("priority") else "runs if a template asks for it")


def _json(value: object) -> str:
    return json.dumps(value, separators=(", ", ": "), ensure_ascii=False) if value else ""
