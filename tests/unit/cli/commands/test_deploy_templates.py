"""Steps of deploy templates on the command line: text, file or standard input (seed 003, Client impact)."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest
from click.testing import Result

from shipyard_api.cli.commands import deploy_templates
from shipyard_api.cli.commands.deploy_templates import read_steps
from tests.unit.cli.fake_api import FakeApi, Reply
from tests.unit.tables import every_row

STEPS = [{"interface": "bios", "step": "apply", "args": {"on": True}, "priority": 5}]
JSON = '[{"interface": "bios", "step": "apply", "args": {"on": true}, "priority": 5}]'
YAML = "- interface: bios\n  step: apply\n  args: {on_: 1}\n  priority: 5\n".replace("on_: 1", '"on": true')


@pytest.mark.parametrize("content", [JSON, YAML], ids=["json", "yaml"])
@pytest.mark.parametrize("way", ["@file", "file", "-"])
def test_steps_come_from_a_file_or_standard_input(
    way: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "steps"
    file.write_text(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))

    assert read_steps(way.replace("file", str(file))) == STEPS


@every_row([JSON, f"  {JSON}", "[{interface: bios, step: apply, args: {'on': true}, priority: 5}]"])
def test_steps_come_as_text(written: str) -> None:
    assert read_steps(written) == STEPS


BAD: dict[str, tuple[str, str]] = {
    "no such file": ("nowhere.yaml", "cannot be read: nowhere.yaml: No such file"),
    "an empty name": ("@", "cannot be read"),
    "nothing": (" ", "--steps is empty"),
    "broken": ("[{", "in --steps are neither JSON nor YAML: line 1, column 3: "),
    "a tag": ("[!!python/object:os.system {}]", "neither JSON nor YAML"),
    "a date": ("[2026-11-22]", "neither JSON nor YAML"),
    "very deep": ("[" * 10_000, "neither JSON nor YAML"),
}


@every_row(BAD)
def test_steps_that_cannot_be_read_are_refused(written: str, text: str) -> None:
    with pytest.raises(click.UsageError, match=text):
        read_steps(written)


def test_steps_that_are_too_long_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy_templates, "_LARGEST", 10)
    (tmp_path / "long").write_text(JSON)
    with pytest.raises(click.UsageError, match="longer than 10 bytes"):
        read_steps(str(tmp_path / "long"))


INNER = {"faultcode": "Client", "faultstring": "The body is too large."}


@pytest.mark.parametrize("body", [INNER, {"error_message": json.dumps(INNER)}], ids=["bare", "in a text"])
def test_both_forms_of_errors_are_read(api: FakeApi, run: Callable[..., Result], body: Mapping[str, str]) -> None:
    api.replies["POST /v1/deploy_templates"] = Reply(413, body)

    result = run("deploy-template", "create", "CUSTOM_A", "--steps", JSON)

    assert (result.exit_code, result.stdout) == (1, "Error: The body is too large.\nReason: status 413\n")
