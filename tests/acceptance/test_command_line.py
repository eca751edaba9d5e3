"""Every command of the client against a live stack, held to golden files; each kind of answer in every form.

``SHIPYARD_GOLDEN=write`` writes the files anew; what changed in them is then read like any other change.
"""

from __future__ import annotations

import difflib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
import requests

from shipyard_api.cli.main import shipyard
from tests.acceptance.programs import invoke, stack_of_its_own
from tests.acceptance.transcripts import FOLDER, FORMS, Output, compared, plain, transcript
from tests.unit.tables import every_row
from tests.waiting import PATIENCE, until

# Commands that start programs here instead of asking a server; what they do is tested where they are.
PROGRAMS = {"config", "db", "demo", "import", "login", "logout", "mcp", "serve", "simulate", "token", "up", "worker"}
SITE = FOLDER / "site.yaml"
# One of each kind of answer: what raw and format make of it does not depend on the command.
IN_EVERY_FORM = {
    "get-configdocs-of-nothing", "get-renderedconfigdocs", "create-configdocs", "commit-configdocs-refused",
    "describe-step", "logs-step", "error-404", "error-401", "error-no-connection",
}  # fmt: skip


@dataclass
class Session:
    """One live stack, and what the commands that were run against it printed."""

    environment: dict[str, str]
    url: str
    token: str
    shown: dict[str, str] = field(default_factory=dict)
    used: set[tuple[str, ...]] = field(default_factory=set)

    def shipyard(self, form: str, line: str, **changes: str) -> Output:
        """Run a command line in one form, in this process."""
        words = ["--output-format", form, *line.split()]
        self.used.add(command_of(line.split()))
        done = invoke(words, {**self.environment, **changes})
        assert done.stderr == "", f"{line}: {done.stderr}"
        return Output(done.exit_code, done.stdout)

    def show(self, name: str, line: str, **changes: str) -> None:
        """Run a command line, and keep what it printed under a name."""
        forms = FORMS if name in IN_EVERY_FORM else ("cli",)
        outputs = {form: self.shipyard(form, line, **changes) for form in forms}
        self.shown[name] = transcript(f"shipyard {line}".rstrip().replace(str(FOLDER), "GOLDEN"), outputs)

    def get(self, path: str) -> Any:
        """Ask the API itself."""
        answer = requests.get(f"{self.url}/api/v1.0/{path}", headers={"X-Auth-Token": self.token}, timeout=PATIENCE)
        assert answer.ok, answer.text
        return answer.json()

    def load(self, old: str = "", new: str = "") -> None:
        """Put the site into the buffer, with one text in place of another."""
        changed = Path(self.environment["HOME"], "changed.yaml")
        changed.write_text(SITE.read_text("utf-8").replace(old, new, 1))
        self.shipyard("raw", f"create configdocs design --filename={changed} --replace")

    def until(self, action: str, *lifecycles: str) -> None:
        """Wait until an action is in one of these."""
        path = f"actions/{action}"
        until(lambda: self.get(path)["action_lifecycle"] in lifecycles, lambda: self.get(path), every=0.1)

    def at_rest(self) -> None:
        """Wait until every action has ended."""
        for action in self.get("actions"):
            self.until(action["id"], "Complete", "Failed")

    def begun(self) -> str:
        """Start an action although the last may have left work behind; return its id once it is at work."""
        self.at_rest()
        made = json.loads(self.shipyard("raw", "create action deploy_site --param force=true").text)
        assert "id" in made, made["message"] + str(made["details"]["messageList"])
        self.until(made["id"], "Processing")
        return str(made["id"])


def command_of(words: list[str]) -> tuple[str, ...]:
    """Return the names of the command that these words are for."""
    found: tuple[str, ...] = ()
    group: click.Command = shipyard
    for word in words:
        name = word.split("/")[0]
        if not isinstance(group, click.Group) or name not in group.commands:
            break
        group, found = group.commands[name], (*found, name)
    return found


def leaves(group: click.Group = shipyard, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield every command that asks a server, or tells something itself; a login asks a provider."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, *names, name)
        elif (*names, name)[0] not in PROGRAMS:
            yield (*names, name)


@pytest.fixture
def session() -> Iterator[Session]:
    """A stack of its own, stopped with everything that it started."""
    # One caller writes more here than is allowed in a minute.
    settings = {"SHIPYARD_API_WRITES_PER_MINUTE": "0", "NO_COLOR": "1"}
    words = ["--site", str(SITE), "--scenario=ntp-prepare-fails", "--speed=50"]
    with stack_of_its_own(words, settings) as (place, told, environment):
        environment |= {"HOME": str(place), "SHIPYARD_URL": told["url"], "SHIPYARD_TOKEN": told["token"]}
        yield Session(environment, told["url"], told["token"])


def test_every_command_prints_what_its_golden_file_says(session: Session) -> None:
    tells_by_itself(session)
    documents(session)
    action, note = actions(session)
    looks(session, action, note)
    holds(session)
    teardowns(session)
    software(session)
    deploy_templates(session)
    steers(session, action)
    refusals(session)

    # All operations on a node are one command with different words.
    used = session.used | {words for words in leaves() if words[0] == "node"}
    assert set(leaves()) - used == set(), "commands without a golden file"
    assert {path.stem for path in FOLDER.glob("*.txt")} - set(session.shown) == set(), "golden files of no command"
    differing = "\n".join(filter(None, (compared(name, text, difference) for name, text in session.shown.items())))
    assert not differing, differing


def difference(golden: str, shown: str) -> str:
    lines = difflib.unified_diff(golden.splitlines(), shown.splitlines(), "golden", "shown", lineterm="")
    return "\n".join([f"{golden.partition(chr(10))[0]}", *lines]) if golden != shown else ""


def tells_by_itself(session: Session) -> None:
    for topic in ("", "actions", "configdocs", "logs"):
        session.show(f"help-{topic}".rstrip("-"), f"help {topic}", SHIPYARD_URL="", SHIPYARD_TOKEN="")
    for shell in ("bash", "zsh", "fish"):
        session.show(f"completion-{shell}", f"completion {shell}", SHIPYARD_URL="", SHIPYARD_TOKEN="")


def documents(session: Session) -> None:
    session.show("get-configdocs-of-nothing", "get configdocs")
    session.show("get-renderedconfigdocs-of-nothing", "get renderedconfigdocs")
    session.show("commit-configdocs-of-nothing", "commit configdocs")
    session.show("create-configdocs", f"create configdocs design --filename={SITE} --replace")
    session.show("create-configdocs-refused", f"create configdocs design --filename={SITE}")
    session.show("get-configdocs", "get configdocs")
    session.show("get-configdocs-collection", "get configdocs --collection=design")
    session.show("get-renderedconfigdocs", "get renderedconfigdocs --buffer")
    session.show("commit-configdocs-dryrun", "commit configdocs --dryrun")
    session.show("explain", "explain ntp01 /data/metadata/rack")
    session.show("commit-configdocs", "commit configdocs")
    session.load("full-site", "other-site")
    session.show("get-configdocs-differences", "get configdocs --base-version=committed")
    session.show("create-configdocs-empty", "create configdocs design --empty-collection --replace")
    session.load("depends_on: []", "depends_on: [nobody]")
    session.show("commit-configdocs-refused", "commit configdocs")
    session.load()
    session.shipyard("raw", "commit configdocs")


def actions(session: Session) -> tuple[str, str]:
    """Return the id of an action that failed, and the id of a note that leads to more."""
    session.show("get-actions-of-nothing", "get actions")
    # Before anything has run: what a forecast measures differs from run to run.
    session.show("forecast", "forecast deploy_site --failures prepare=0.1 --failures deploy=0.2 --runs 500 --seed 7")
    session.show("create-action", "create action deploy_site --param a=b=c --allow-intermediate-commits")
    session.at_rest()
    session.show("plan", "plan deploy_site --param targets=n1")
    session.show("get-plans-of-nothing", "get plans")
    session.show("plan-store", "plan deploy_site --store")
    plan = session.get("plans")["plans"][0]["id"]
    session.show("get-plans", "get plans")
    session.show("get-plan", f"get plans {plan}")
    session.show("describe-plan", "describe plan/latest")
    session.show("approve-plan-refused", f"approve plan/{plan}")
    session.show("create-action-strict", "create action deploy_site --param targets=n1 --strict")
    action = session.get("actions")[0]["id"]
    noted = session.get(f"actions/{action}/steps/drydock_build.prepare_and_deploy_nodes?verbosity=5")["notes"]
    note = next(one["note_id"] for one in noted if one["resolved_url_value"])
    return action, note


def looks(session: Session, action: str, note: str) -> None:
    session.show("get-actions", "get actions")
    session.show("describe-action", f"describe action {action}")
    session.show("describe-action-item", f"describe action/{action}")
    session.show("describe-step", f"describe step drydock_build.prepare_site -a {action}")
    session.show("describe-step-failed", f"describe step/{action}/drydock_build.prepare_and_deploy_nodes")
    validation = session.get(f"actions/{action}")["validations"][0]["id"]
    session.show("describe-validation", f"describe validation {validation} -a {action}")
    session.show("describe-validation-item", f"describe validation/{validation}/{action}")
    session.show("describe-validation-as-printed", f"describe validation/{action}/{validation}")
    session.show("describe-validation-unknown", f"describe validation {note} -a {action}")
    session.show("describe-notedetails", f"describe notedetails/{note}")
    session.show("logs-step", f"logs step drydock_build.prepare_site -a {action}")
    session.show("logs-step-item", f"logs step/{action}/drydock_build.prepare_site/1")
    # Their lines are those of the steps, whose number the pace decides.
    session.show("logs-action-unknown", f"logs action {note}")
    session.show("get-events-unknown", f"get events {note}")
    session.show("get-groups", f"get groups {action}")
    session.show("get-steps", f"get steps {action}")
    session.show("get-workflows", "get workflows --since=2020-01-01")
    workflow = session.get("workflows?since=2020-01-01")[0]["workflow_id"]
    session.show("describe-workflow", f"describe workflow {workflow}")
    session.show("get-nodes", "get nodes --status failure")
    session.show("describe-node", "describe node ntp01")
    session.show("get-site-statuses", "get site-statuses")
    session.show("diff-site", "diff site --since last-site-action")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as sites:
        sites.write(f"sites: [{{name: here, url: {session.url}, token_env: SHIPYARD_TOKEN}}]")
        sites.flush()
        session.show("fleet", "fleet", SHIPYARD_FLEET=sites.name)
    session.show("report", f"report {action}")
    session.show("watch", f"watch {action}")
    session.show("wait", f"wait {action} --timeout 60")


def holds(session: Session) -> None:
    session.show("hold-node", "hold node ntp01 --reason disk --kind hardware")
    session.show("get-holds", "get holds")
    session.show("create-action-held", "create action deploy_site")
    session.show("release-hold", f"release hold/{session.get('holds')['holds'][0]['id']}")


def teardowns(session: Session) -> None:
    """The stack has no Kubernetes, so these are refused."""
    session.show("drain-plan", "drain-plan ntp01")
    session.show("node-drain", "node drain ntp01")
    session.show("get-etcd-health", "get etcd-health")


def software(session: Session) -> None:
    tree = FOLDER / "software"
    downloads = session.environment["HOME"]
    session.show("release-tasks-sync", f"release tasks sync --dir={tree} --pattern=*_tasks.yaml")
    session.show("release-tasks-upload", f"release tasks upload --dir={tree}")
    session.show("release-tasks-download", f"release tasks download --dir={downloads}")
    session.show("cluster-tasks-upload-refused", f"cluster tasks upload --dir={tree}")
    session.show("cluster-tasks-sync", f"cluster tasks sync --dir={tree} --pattern=no_tasks.yml")
    session.show("cluster-tasks-download", f"cluster tasks download --dir={downloads}")
    for name in ("release-tasks-download", "cluster-tasks-download"):
        session.shown[name] = session.shown[name].replace(downloads, "HOME")
    session.show("tag-create", "tag create mysql --primary")
    session.show("tag-set", "tag set mysql --no-primary")
    session.show("tag-list", "tag list")
    session.show("role-create", "role create db --tag mysql")
    session.show("role-set", "role set db --tag mysql --primary")
    session.show("role-list", "role list")
    session.show("role-assign", "role assign ntp01 db")
    session.show("tag-assign", "tag assign ntp01 mysql:2")
    session.show("cluster-nodes", "cluster nodes")
    session.show("inventory", "inventory")
    session.show("software-plan", "software plan --nodes=ntp01")
    session.show("software-watch", "software watch")
    session.show("software-logs-of-nothing", "software logs ntp01 prepare")
    session.show("tag-delete-refused", "tag delete mysql")
    session.show("tag-check", "tag check")
    session.show("tag-unassign", "tag unassign ntp01 mysql:2")
    session.show("role-unassign", "role unassign ntp01")
    session.show("role-delete", "role delete db")
    session.show("tag-delete", "tag delete mysql")


def deploy_templates(session: Session) -> None:
    """The stack's Drydock runs no deploy steps."""
    name = "CUSTOM_MIRROR"
    create = f"deploy-template create {name} --steps={FOLDER / 'mirror.yaml'} --extra owner=ann"
    session.show("node-deploy-steps", "node deploy-steps ntp01")
    session.show("deploy-template-create", create)
    session.show("deploy-template-create-refused", create)
    session.show("deploy-template-list", "deploy-template list")
    session.show("deploy-template-show", f"deploy-template show {name}")
    session.show("deploy-template-set", f"deploy-template set {name} --extra owner=bob")
    session.show("deploy-template-unset", f"deploy-template unset {name} --extra owner")
    session.show("deploy-template-delete", f"deploy-template delete {name}")


def steers(session: Session, failed: str) -> None:
    session.show("set-limits", f"set action/{failed} drain-timeout=60")
    session.show("reconcile", f"reconcile {failed}")
    session.show("approve", f"approve {failed} --show")
    session.show("ack", f"ack {failed} --reason seen")
    session.show("plan-retry", f"plan --retry {failed} --force")
    session.show("retry", f"retry {failed} --force")
    action = ""
    for name, words in (("short", "{verb} action {action}"), ("long", "control {verb} action/{action}")):
        for verb in ("pause", "unpause", "stop"):
            # One that was paused and let go on may have ended before it could be stopped.
            action = action if verb == "unpause" else session.begun()
            session.show(f"{verb}-{name}", words.format(verb=verb, action=action))
    session.at_rest()
    session.show("stop-too-late", f"stop action {failed}")


def refusals(session: Session) -> None:
    nobody = "01BTTMFVDKZFRJM80FGD7J1AKN"
    session.show("error-404", f"describe action {nobody}")
    session.show("error-401", "get actions", SHIPYARD_TOKEN="nobody")
    session.show("error-no-connection", "get actions", SHIPYARD_URL="http://127.0.0.1:1")
    session.show("error-no-address", "get actions", SHIPYARD_URL="")


SAMPLES = {
    "times": (
        "2026-11-21T01:23:55.745506Z 2026-11-21 01:23:55.638118+00:00 2026-11-21T01:24:40.102Z 2026-11-21 01:24:40",
        "YYYY-MM-DDThh:mm:ss.ffffffZ YYYY-MM-DD hh:mm:ss.ffffff+hh:mm YYYY-MM-DDThh:mm:ss.fffZ YYYY-MM-DD hh:mm:ss",
    ),
    "ids are told apart": (
        "01M7XV7VKPMDHXJVA7WMC7P6XP 01M7XV7VQ699PKH9NSP94EWGTC 01M7XV7VKPMDHXJVA7WMC7P6XP",
        "<id-1>.................... <id-2>.................... <id-1>....................",
    ),
    "UUID": ("marker a13b0122-0885-4745-84e9-39d1ce42b025", "marker <uuid-1>............................"),
    "port": ("http://127.0.0.1:42139/api", "http://127.0.0.1:PPPPP/api"),
    "seconds keep the column": ("Duration:    0.48    \n", "Duration:    SECONDS \n"),
    "seconds of JSON": ('{"duration": 0.4e-05, "seconds": 8}', '{"duration": SECONDS, "seconds": SECONDS}'),
    "clock": ("Took:      0:08   ", "Took:      M:SS   "),
    "what is the same each time": ("exit 1, 0/4 and step 10", "exit 1, 0/4 and step 10"),
}


@every_row(SAMPLES)
def test_what_differs_from_run_to_run_is_replaced_by_its_like(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_transcript_shows_blanks_at_the_end_and_tells_forms_apart() -> None:
    outputs = {"raw": Output(0, "{}\n"), "format": Output(0, "{}\n"), "cli": Output(1, "None  \n")}
    assert transcript("shipyard get x", outputs) == (
        "$ shipyard get x\n=== raw, format: exit code 0\n{}\n\n=== cli: exit code 1\nNone  $\n"
    )
