"""The how-to of Ansible, followed: its script and its playbook, unmodified Ansible, a running stack.

Runs where ``ANSIBLE_PLAYBOOK`` names the command of an ansible-core (``.ci/real_ansible.py``).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.programs import stack_of_its_own
from tests.conftest import ROOT
from tests.waiting import PATIENCE

PLAYBOOK = os.environ.get("ANSIBLE_PLAYBOOK", "")
pytestmark = pytest.mark.skipif(not PLAYBOOK, reason="ANSIBLE_PLAYBOOK names no command of an ansible-core")

PAGE = (ROOT / "docs" / "howto" / "use-ansible.md").read_text()
COMPUTE = ["cmp01-1", "cmp01-2", "cmp02-1", "cmp02-2"]


@dataclass(frozen=True)
class Controller:
    """A directory with the files of the page, and the environment that the page asks for."""

    directory: Path
    environment: dict[str, str]

    def run(self, *words: str, **environment: str) -> tuple[int, str]:
        """Run a program, and return its code and all of its output."""
        done = subprocess.run(
            words,
            cwd=self.directory,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout

    def shipyard(self, *words: str) -> str:
        code, output = self.run("shipyard", *words)
        assert code == 0, output
        return output

    def inventory(self, *words: str, **environment: str) -> tuple[int, str]:
        return self.run(str(Path(PLAYBOOK).with_name("ansible-inventory")), *words, **environment)

    def playbook(self) -> tuple[int, str]:
        # The servers of the stack are simulated: what the play does to each is done here.
        here = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}
        return self.run(PLAYBOOK, "-i", "shipyard-inventory", "--extra-vars", json.dumps(here), "time.yml")


@pytest.fixture(scope="module")
def controller() -> Iterator[Controller]:
    with stack_of_its_own() as (directory, ready, environment):
        (script,) = re.findall(r"^cat >shipyard-inventory <<'EOF'\n(.*?)^EOF$", PAGE, re.DOTALL | re.MULTILINE)
        (directory / "shipyard-inventory").write_text(script)
        (directory / "shipyard-inventory").chmod(0o755)
        (play,) = re.findall(r"^```yaml\n(- name: Configure.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
        sources = str(directory / "{{ inventory_hostname }}.sources")
        (directory / "time.yml").write_text(play.replace("/etc/chrony/sources.d/site.sources", sources))
        settings = {
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
            "ANSIBLE_LOCAL_TEMP": str(directory / "local"),
            "ANSIBLE_REMOTE_TEMP": str(directory / "remote"),
            "HOME": str(directory),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SHIPYARD_TOKEN": ready["token"],
            "SHIPYARD_URL": ready["url"],
        }
        yield Controller(directory, environment | settings)


def test_the_playbook_of_the_page_runs_on_the_nodes_that_are_deployed(controller: Controller) -> None:
    code, output = controller.inventory("-i", "shipyard-inventory", "--graph")
    assert (code, "ungrouped" in output, "group_" in output) == (0, True, False), output

    design = str(ROOT / "docs" / "examples" / "small-site.yaml")
    controller.shipyard("create", "configdocs", "design", f"--filename={design}")
    controller.shipyard("commit", "configdocs")
    code, output = controller.playbook()
    assert code == 0, output
    assert "skipping: no hosts matched" in output
    assert list(controller.directory.glob("*.sources")) == []

    controller.shipyard("create", "action", "deploy_site")
    controller.shipyard("watch", "latest")
    code, output = controller.playbook()
    assert code == 0, output
    written = {file.stem: file.read_text() for file in controller.directory.glob("*.sources")}
    assert sorted(written) == COMPUTE
    assert set(written.values()) == {"server 10.24.0.11 iburst\n"}

    code, output = controller.inventory("-i", "shipyard-inventory", "--host", COMPUTE[0])
    assert code == 0, output
    variables = json.loads(output)
    assert variables["ansible_host"] == variables["shipyard_addresses"]["oam"]
    assert (variables["shipyard_status"], variables["shipyard_tags"]) == ("success", ["compute"])


def test_ansible_fails_rather_than_go_on_without_nodes(controller: Controller) -> None:
    code, output = controller.inventory("-i", "shipyard-inventory", "--graph", SHIPYARD_URL="http://127.0.0.1:9")

    assert code != 0
    assert "127.0.0.1:9" in output
