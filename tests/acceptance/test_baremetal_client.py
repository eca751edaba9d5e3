"""OpenStack's own clients, unmodified, against a live ``shipyard up``: ``baremetal deploy template`` and openstacksdk.

Runs where ``BAREMETAL_CLIENT`` names the command of a python-ironicclient (``.ci/real_baremetal_client.py``).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.programs import stack_of_its_own
from tests.waiting import PATIENCE

CLIENT = os.environ.get("BAREMETAL_CLIENT", "")
pytestmark = pytest.mark.skipif(not CLIENT, reason="BAREMETAL_CLIENT names no command of a python-ironicclient")

RAID = {
    "interface": "raid",
    "step": "apply_configuration",
    "args": {"raid_config": {"raid_level": "1"}},
    "priority": 90,
}
BIOS = {"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "priority": 110}
A, B, C = "CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """The command line client; it has no cache of earlier runs."""

    environment: dict[str, str]

    def __call__(self, *words: str, stdin: str | None = None, options: tuple[str, ...] = ()) -> Done:
        shown = ("-f", "json") if words[0] in ("list", "show", "create") else ()
        command = [CLIENT, *options, "deploy", "template", *words, *shown]
        done = subprocess.run(
            command, env=self.environment, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def python(self, program: str) -> Done:
        """Run a program with the libraries of the client."""
        done = subprocess.run(
            [str(Path(CLIENT).with_name("python")), "-c", program],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def baremetal() -> Iterator[Command]:
    with stack_of_its_own() as (directory, ready, _):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        identity = {"OS_AUTH_TYPE": "http_basic", "OS_USERNAME": "ann", "OS_PASSWORD": ready["token"]}
        yield Command({**kept, "HOME": str(directory), "OS_ENDPOINT": ready["url"], **identity})


def names(listed: Done) -> list[str]:
    return [one.get("name") or one["Name"] for one in listed.json]


def test_the_commands_of_the_client(baremetal: Command, tmp_path: Path) -> None:
    """One story: create, list, show, set, unset, delete."""
    file = tmp_path / "steps.yaml"
    file.write_text(json.dumps([BIOS]))  # YAML as well
    made = baremetal("create", A, "--steps", json.dumps([RAID]), "--extra", "a=1", "--extra", "b=x").json
    assert (made["name"], made["steps"], made["extra"]) == (A, [RAID], {"a": 1, "b": "x"})
    chosen = "0d4e7a0e-5f0c-4b8e-9d4c-2b7f0a3f6a11"
    assert baremetal("create", B, "--steps", str(file), "--uuid", chosen).json["uuid"] == chosen
    assert baremetal("create", C, "--steps", "-", stdin=json.dumps([RAID, BIOS])).json["steps"] == [RAID, BIOS]

    assert names(baremetal("list")) == [A, B, C]
    assert [one["steps"] for one in baremetal("list", "--long").json] == [[RAID], [BIOS], [RAID, BIOS]]
    assert names(baremetal("list", "--limit", "2", "--marker", made["uuid"])) == [B, C]
    assert baremetal("list", "--fields", "name", "steps", "--limit", "1").json == [{"name": A, "steps": [RAID]}]
    assert names(baremetal("list", "--limit", "0")) == [A, B, C]
    assert names(baremetal("list", "--sort", "name:desc")) == [C, B, A]
    assert baremetal("show", A).json == baremetal("show", made["uuid"]).json
    assert baremetal("show", B, "--fields", "name", "uuid").json == {"name": B, "uuid": chosen}

    changed = baremetal("set", chosen, "--name", "CUSTOM_D", "--steps", json.dumps([RAID]), "--extra", "c=3")
    assert (changed.code, changed.err) == (0, "")
    shown = baremetal("show", "CUSTOM_D").json
    assert (shown["uuid"], shown["steps"], shown["extra"]) == (chosen, [RAID], {"c": 3})
    assert baremetal("unset", "CUSTOM_D", "--extra", "c").code == 0
    assert baremetal("show", chosen).json["extra"] == {}

    removed = baremetal("delete", A, "CUSTOM_NONE", chosen, C)
    assert removed.code == 1
    assert removed.out.count("Deleted deploy template") == 3
    assert "Deploy template CUSTOM_NONE could not be found. (HTTP 404)" in removed.err
    assert baremetal("list").json == []


REFUSED: dict[str, tuple[list[str], str]] = {
    "a taken name": (
        ["create", "CUSTOM_TAKEN", "--steps", json.dumps([BIOS])],
        "A deploy template with name CUSTOM_TAKEN already exists. (HTTP 409)",
    ),
    "no trait": (["create", "raid", "--steps", json.dumps([RAID])], "'raid' is not a trait"),
    "another interface": (["create", A, "--steps", json.dumps([{**RAID, "interface": "boot"}])], "'boot'"),
    "a step twice": (["create", A, "--steps", json.dumps([RAID, RAID])], "Duplicate deploy steps"),
    "no steps": (["set", "CUSTOM_TAKEN", "--steps", "[]"], "at least one step"),
    "no such extra": (["unset", "CUSTOM_TAKEN", "--extra", "none"], "Couldn't apply patch"),
    "no such template": (["show", "CUSTOM_NONE"], "Deploy template CUSTOM_NONE could not be found. (HTTP 404)"),
}


@pytest.fixture(scope="module")
def taken(baremetal: Command) -> Iterator[Command]:
    assert baremetal("create", "CUSTOM_TAKEN", "--steps", json.dumps([RAID])).code == 0
    yield baremetal
    assert baremetal("delete", "CUSTOM_TAKEN").code == 0


@pytest.mark.parametrize(("words", "says"), REFUSED.values(), ids=REFUSED)
def test_the_client_shows_why_a_command_is_refused(taken: Command, words: list[str], says: str) -> None:
    # The client would repeat a conflict for ten seconds. Once it may: a slow client finds its connection closed.
    refused = taken(*words, options=("--max-retries", "1", "--retry-interval", "1"))

    assert refused.code == 1
    assert says in refused.err
    assert "Request-ID: req-" in refused.err


def test_a_version_that_is_not_served_is_explained(baremetal: Command) -> None:
    refused = baremetal("list", options=("--os-baremetal-api-version", "1.80"))

    assert (refused.code, "Supported version range is 1.1 to 1.55" in " ".join(refused.err.split())) == (1, True)


SDK = f"""
import os, openstack
url = os.environ["OS_ENDPOINT"]
own = openstack.connect(
    auth_type="http_basic",
    auth={{"username": "ann", "password": os.environ["OS_PASSWORD"], "endpoint": url}},
    baremetal_endpoint_override=url,
)
made = own.baremetal.create_deploy_template(name="CUSTOM_SDK", steps=[{RAID}])
assert {RAID} in [one.steps[0] for one in own.baremetal.deploy_templates(details=True) if one.name == "CUSTOM_SDK"]
own.baremetal.update_deploy_template(made, name="CUSTOM_SDK_2")
print(own.baremetal.get_deploy_template("CUSTOM_SDK_2").steps[0]["priority"])
own.baremetal.delete_deploy_template("CUSTOM_SDK_2")
print([one.name for one in own.baremetal.deploy_templates() if one.name.startswith("CUSTOM_SDK")])
"""


def test_openstacksdk(baremetal: Command) -> None:
    done = baremetal.python(SDK)

    assert (done.code, done.out.split()) == (0, ["90", "[]"]), done.err
