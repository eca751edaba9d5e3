"""The collection shipyard.site by real Ansible before a running stack: the page's play, twice, and in check mode; and
what Ansible's own `ansible-test sanity` says of its code and documentation.

Runs where ``ANSIBLE_PLAYBOOK`` names the command of an ansible-core (``.ci/real_ansible.py``).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.programs import stack_of_its_own
from tests.conftest import ROOT
from tests.waiting import PATIENCE

PLAYBOOK = os.environ.get("ANSIBLE_PLAYBOOK", "")
pytestmark = pytest.mark.skipif(not PLAYBOOK, reason="ANSIBLE_PLAYBOOK names no command of an ansible-core")

PLAY, INVENTORY = re.findall(r"```yaml\n(.*?)```", (ROOT / "ansible" / "README.md").read_text(), re.DOTALL)
# What each task returned, for these tests.
RESULTS = """
import json
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "results"
    CALLBACK_NEEDS_ENABLED = True
    found = []

    def v2_runner_on_ok(self, result):
        self.found.append(dict(result._result))

    def v2_playbook_on_stats(self, stats):
        with open("results.json", "w") as out:
            json.dump(self.found, out, default=str)
"""
TASKS = ["design", "plan", "action", "hold", "nodes"]


@dataclass(frozen=True)
class Controller:
    directory: Path
    environment: dict[str, str]

    def run(self, program: str, *words: str) -> tuple[int, str]:
        command = [str(Path(PLAYBOOK).with_name(program)), *words]
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def play(self, *words: str) -> list[dict[str, Any]]:
        """Play the page, and return the result of each task."""
        code, out = self.run("ansible-playbook", "-i", "localhost,", "-c", "local", "play.yml", *words)
        assert code == 0, out
        found: list[dict[str, Any]] = json.loads((self.directory / "results.json").read_text())
        return found


@pytest.fixture(scope="module")
def controller() -> Iterator[Controller]:
    with stack_of_its_own() as (directory, ready, environment):
        shutil.copytree(ROOT / "ansible", directory / "collections" / "ansible_collections" / "shipyard" / "site")
        shutil.copy(ROOT / "docs" / "examples" / "small-site.yaml", directory / "site.yaml")
        (directory / "callbacks").mkdir()
        (directory / "callbacks" / "results.py").write_text(RESULTS)
        (directory / "play.yml").write_text(PLAY)
        (directory / "site.shipyard.yml").write_text(INVENTORY)
        settings = {
            "ANSIBLE_COLLECTIONS_PATH": str(directory / "collections"),
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
            "ANSIBLE_LOCAL_TEMP": str(directory / "local"),
            "ANSIBLE_REMOTE_TEMP": str(directory / "remote"),
            "ANSIBLE_CALLBACK_PLUGINS": str(directory / "callbacks"),
            "ANSIBLE_CALLBACKS_ENABLED": "results",
            "ANSIBLE_PYTHON_INTERPRETER": str(Path(PLAYBOOK).with_name("python")),
            "HOME": str(directory),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SHIPYARD_TOKEN": ready["token"],
            "SHIPYARD_URL": ready["url"],
        }
        yield Controller(directory, environment | settings)


def test_the_play_deploys_once_and_its_second_run_changes_nothing(controller: Controller) -> None:
    first = dict(zip(TASKS, controller.play("--tags", "all"), strict=True))
    assert {name: task["changed"] for name, task in first.items()} == {
        "design": True,
        "plan": False,
        "action": True,
        "hold": True,
        "nodes": False,
    }
    assert len(first["nodes"]["nodes"]) == 9

    second = dict(zip(TASKS, controller.play(), strict=True))
    assert [name for name, task in second.items() if task["changed"]] == []
    assert second["action"]["action"]["id"] == first["action"]["action"]["id"]

    site = controller.directory / "site.yaml"
    site.write_text(site.read_text().replace("tags: [compute]", "tags: [compute, zebra]", 1))
    check = dict(zip(TASKS, controller.play("--check", "--diff"), strict=True))
    assert (check["design"]["changed"], check["hold"]["changed"]) == (True, False)
    diff = check["design"]["diff"]
    assert "zebra" in diff["after"]
    assert "zebra" not in diff["before"]
    again = dict(zip(TASKS, controller.play("--check"), strict=True))
    assert again["design"]["changed"], "the check has sent something"


def test_the_inventory_has_the_nodes_of_the_design(controller: Controller) -> None:
    code, out = controller.run("ansible-inventory", "-i", "site.shipyard.yml", "--list")
    assert code == 0, out
    found = json.loads(out)
    assert len(found["_meta"]["hostvars"]) == 9
    assert "cmp01-1" in found["group_compute_nodes"]["hosts"]

    code, out = controller.run("ansible-doc", "-t", "module", "shipyard.site.action")
    assert (code, "waits for the same action" in out) == (0, True), out


def test_sanity(tmp_path: Path) -> None:
    """`ansible-test sanity` for one Python, which installs what each test needs from the registry.

    Without pylint, which takes two fifths of the time: ruff lints the same files in ``./dev check``.
    """
    site = tmp_path / "ansible_collections" / "shipyard" / "site"
    shutil.copytree(ROOT / "ansible", site, ignore=shutil.ignore_patterns("__pycache__"))
    programs = Path(PLAYBOOK).parent
    # It would download a script that installs pip into the environment of each test. There is one already.
    bootstrap = tmp_path / "home" / ".ansible" / "test" / "cache" / "get_pip_24_2.py"
    bootstrap.parent.mkdir(parents=True)
    (pip,) = programs.parent.glob("lib/*/site-packages/pip")
    bootstrap.write_text(f"import os, sysconfig\nos.symlink({str(pip)!r}, sysconfig.get_path('purelib') + '/pip')\n")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    done = subprocess.run(
        [str(programs / "ansible-test"), "sanity", "--local", "--python", python, "--skip-test", "pylint"],
        cwd=site,
        env=os.environ | {"HOME": str(tmp_path / "home"), "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Running sanity test "validate-modules"' in done.stdout + done.stderr
