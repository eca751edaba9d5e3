"""Which requests a job makes, in which order, and what it makes of answers that no simulator gives."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from shipyard_api.adapters.maas import job_tags
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.decisions import Rules, Status
from shipyard_api.adapters.maas.provisioner import MOST_EVENTS, MaasProvisioner
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobState, Marker, Operation, Wipe, Work
from tests.peer import Answer, Peer
from tests.unit.tables import table

NOW = datetime(2026, 3, 2, 9, 11, 8, tzinfo=UTC)
JOB = JobId("job-1")
TAG, STOPPED = job_tags.job_tag(JOB), job_tags.stop_tag(JOB)
PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
STATE_FORBIDS = Answer(409, b"The state forbids it.")

Machine = dict[str, Any]


def machine(name: str, status: Status, *, mine: bool = False, **values: Any) -> Machine:
    tags = [TAG] if mine else []
    found = {
        "system_id": f"id-{name}",
        "hostname": name,
        "status": int(status),
        "status_name": status.name.capitalize(),
    }
    return found | {"power_state": "off", "owner": None, "tag_names": tags} | values


def work(operation: Operation, *names: str, wipe: Wipe = Wipe.ALL) -> Work:
    return Work(operation, "revision:1", tuple(map(NodeName, names)) or None, wipe)


class Maas:
    """A scripted MAAS; machines are set as one listing for each request, the last one for ever."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        peer.on("GET /users/", Answer(200, {"username": "shipyard", "is_superuser": True}))
        peer.on("GET /events/", Answer(200, {"events": []}))
        peer.on("GET /maas/", Answer(200, b"false"))
        peer.on("POST /tags/", Answer(200, {}))
        peer.on("GET /events/", Answer(200, {"events": [{"id": 7}]}))
        for tag in (TAG, STOPPED, job_tags.begun_tag(JOB)):
            peer.on(f"POST /tags/{tag}/", Answer(200, {"added": 1, "removed": 0}))
        self.tags({})

    def tags(self, tags: dict[str, str]) -> None:
        self.peer.on("GET /tags/", Answer(200, [{"name": name, "comment": text} for name, text in tags.items()]))

    def knows(self, mine: Work, *, stopped: bool = False) -> None:
        text = job_tags.record_text(mine, NOW)
        self.tags({TAG: text} | ({STOPPED: text} if stopped else {}))

    def has(self, *listings: list[Machine]) -> None:
        self.peer.on("GET /machines/", *(Answer(200, listing) for listing in listings))
        for found in (one for listing in listings for one in listing):
            path = f"/machines/{found['system_id']}/"
            self.peer.on(f"GET {path}", Answer(200, found))
            for method in ("POST", "DELETE"):
                self.peer.on(f"{method} {path}", Answer(200, b"null"))

    def answers(self, name: str, *answers: Answer) -> None:
        self.peer.on(f"POST /machines/id-{name}/", *answers)

    @property
    def changes(self) -> list[str]:
        """Every change that was asked for, as its path and what it is."""
        told = []
        for one in self.peer.requests:
            if one.method != "GET":
                path = one.path.replace(TAG, "TAG").replace("/machines/id-", "").replace("TAG-stopped", "STOP")
                told.append(" ".join([path.strip("/"), *(value for _, value in one.query)]))
        return [f"{what} DELETE" if " " not in what and not what.startswith("tags") else what for what in told]

    def form(self, change: int) -> dict[str, str]:
        sent = [one for one in self.peer.requests if one.method != "GET"]
        return dict(parse_qsl(sent[change].body.decode()))


@pytest.fixture
def maas(peer: Peer) -> Maas:
    return Maas(peer)


def provisioner(
    maas: Maas, *, inventory: Callable[[int], Inventory] = lambda _: Inventory(), **options: Any
) -> MaasProvisioner:
    client = MaasClient(maas.peer.url, api_key="ck:tk:ts", read_pause=0.0)
    return MaasProvisioner(client, inventory, options=MachineOptions(**{"threads": 1, **options}), now=lambda: NOW)


# Submitting


def test_a_job_is_recorded_and_machines_are_marked_before_anything_starts_and_claimed_after(maas: Maas) -> None:
    maas.has([machine("n1", Status.NEW), machine("n2", Status.READY)])
    assert provisioner(maas).submit(Marker(JOB), work(PREPARE, "n1", "n2", "n3")) == JOB
    begun = ["tags", "tags/TAG-begun update_nodes"]
    assert maas.changes == ["tags", *begun, "n1 commission", "tags/TAG update_nodes"]
    assert maas.form(0)["name"] == TAG
    assert job_tags.read_record(maas.form(0)["comment"])
    sent = maas.peer.requests[-1].body.decode()
    assert sorted(parse_qsl(sent)) == [("add", "id-n1"), ("add", "id-n2")]


def test_a_job_whose_record_cannot_be_written_begins_nothing(maas: Maas) -> None:
    maas.has([machine("n1", Status.NEW)])
    maas.peer.on("POST /tags/", Answer(500))
    with pytest.raises(Unavailable):
        provisioner(maas).submit(Marker(JOB), work(PREPARE, "n1"))
    assert maas.changes == ["tags"]


def test_a_job_that_is_recorded_is_accepted_even_if_marking_fails(maas: Maas) -> None:
    maas.has([machine("n1", Status.NEW)])
    maas.peer.on(f"POST /tags/{TAG}/", Answer(500))
    assert provisioner(maas).submit(Marker(JOB), work(PREPARE, "n1")) == JOB


def test_keeping_disks_is_refused_where_every_release_erases(maas: Maas) -> None:
    mine = work(DESTROY, "n1", wipe=Wipe.OS_DISK_ONLY)
    for setting in (b"true", b'"true"', b"1"):
        maas.peer.on("GET /maas/", Answer(200, setting))
        with pytest.raises(Refused, match="enable_disk_erasing_on_release"):
            provisioner(maas).submit(Marker(JOB), mine)
    asked = maas.peer.asked("GET /maas/")[0].query
    assert asked == [("op", "get_config"), ("name", "enable_disk_erasing_on_release")]
    maas.knows(mine)  # it was off when the job was submitted
    maas.has([machine("n1", Status.DEPLOYED, owner="shipyard")])
    report = provisioner(maas).report(JOB, mine)
    assert "MAAS erases at every release" in report.reasons[NodeName("n1")]
    assert maas.changes == []
    both, prepare = work(DESTROY, "n1", "n2", wipe=Wipe.OS_DISK_ONLY), work(PREPARE, "n1")
    maas.knows(both)
    maas.has([machine("n1", Status.DEPLOYED, owner="shipyard"), machine("n2", Status.READY, power_state="on")])
    assert provisioner(maas).report(JOB, both).failed == {"n1"}
    assert "n2 power_off" in maas.changes
    maas.knows(prepare)
    maas.has([machine("n1", Status.FAILED_DEPLOYMENT)])
    assert not provisioner(maas).report(JOB, prepare).failed  # which keeps no disks
    assert "n1 release" in maas.changes


def test_stale_tags_are_deleted_when_work_is_submitted(maas: Maas) -> None:
    maas.tags({"shipyard-old": job_tags.record_text(work(PREPARE, "n1"), NOW - timedelta(days=8)), "other": "old"})
    maas.peer.on("DELETE /tags/shipyard-old/", Answer(500))  # and nobody minds
    maas.has([machine("n1", Status.READY)])
    provisioner(maas).submit(Marker(JOB), work(PREPARE, "n1"))
    assert maas.peer.changes[:2] == ["POST /tags/", "DELETE /tags/shipyard-old/"]


# Reporting


def test_one_report_lists_the_machines_once(maas: Maas) -> None:
    mine = work(PREPARE, "n1", "N2", "n9")
    maas.knows(mine)
    maas.has([machine("n1", Status.COMMISSIONING, mine=True), machine("n2", Status.READY, mine=True)])
    report = provisioner(maas).report(JOB, mine)
    assert (report.state, report.ok) == (JobState.RUNNING, False)
    assert (report.succeeded, report.failed) == ({"N2"}, {"n9"})
    # No events, as nothing has ended.
    assert [one.path for one in maas.peer.requests if one.path != "/users/"] == ["/tags/", "/machines/"]
    assert maas.peer.asked("GET /machines/")[0].query == [("hostname", name) for name in ("n1", "n2", "n9")]


def test_what_could_not_be_begun_is_left_for_the_next_report(maas: Maas) -> None:
    mine = work(DEPLOY, "n1", "n2")
    maas.knows(mine)
    maas.has([machine("n1", Status.READY), machine("n2", Status.READY)])
    maas.answers("n1", Answer(503, b"", {"Retry-After": "10"}), Answer(200))
    subject = provisioner(maas)
    report = subject.report(JOB, mine)
    assert (report.state, report.failed) == (JobState.RUNNING, frozenset())
    assert "answered 503" in report.message
    assert sorted(maas.changes[:2]) == ["n1 deploy", "n2 deploy"]
    assert dict(parse_qsl(maas.peer.requests[-1].body.decode())) == {"add": "id-n2"}
    maas.peer.requests.clear()
    maas.peer.on("GET /machines/", Answer(200, [machine("n1", Status.READY)]))
    subject.report(JOB, work(DEPLOY, "n1"))
    assert maas.changes == ["n1 deploy", "tags/TAG update_nodes"]


RUNNING, ENDED = (JobState.RUNNING, False), (JobState.ENDED, True)
FORBIDDEN = Answer(400, {"__all__": ["not available because of the current state of the node."]})
MOVED = Answer(200, machine("n1", Status.COMMISSIONING))
TURNED_DOWN: dict[str, tuple[Answer, Answer | None, tuple[JobState, bool], str]] = {
    "somebody was quicker": (FORBIDDEN, MOVED, RUNNING, ""),
    "it was moved to where it needs something else": (
        *(FORBIDDEN, Answer(200, machine("n1", Status.FAILED_DEPLOYMENT)), RUNNING, ""),
    ),
    "refused, and it still stands there": (Answer(400, {"x": ["'foo' is bad"]}), None, ENDED, "x: 'foo' is bad"),
    "refused, and nobody can look into it": (STATE_FORBIDS, Answer(504), RUNNING, "The state forbids it."),
    "vanished": (Answer(404, b"No Machine matches the given query."), Answer(404), ENDED, "n1: not enlisted in MAAS"),
}


@table(("answer", "looked_at", "end", "told"), TURNED_DOWN)
def test_a_machine_that_is_turned_down_is_looked_at_before_it_has_failed(
    maas: Maas, answer: Answer, looked_at: Answer | None, end: tuple[JobState, bool], told: str
) -> None:
    mine = work(PREPARE, "n1")
    maas.knows(mine)
    maas.has([machine("n1", Status.NEW)])
    maas.answers("n1", answer)
    if looked_at:
        maas.peer.on("GET /machines/id-n1/", Answer(200, machine("n1", Status.NEW)), looked_at)
    report = provisioner(maas).report(JOB, mine)
    assert (report.state, report.failed == {"n1"}) == end
    assert told in report.reasons.get(NodeName("n1"), report.message)
    assert maas.changes == ["n1 commission", *(["tags/TAG update_nodes"] if looked_at is MOVED else [])]


def test_machines_of_one_name_or_changed_since_the_listing_are_never_touched(maas: Maas) -> None:
    mine = work(DESTROY, "n1")
    maas.knows(mine)
    maas.has([machine("n1", Status.READY), machine("n1", Status.READY, system_id="id-twin")])
    report = provisioner(maas).report(JOB, mine)
    assert report.reasons == {"n1": "n1: MAAS has several machines of this name: id-n1, id-twin"}

    maas.has([machine("n1", Status.DEPLOYED, owner="shipyard")])
    again = machine("n1", Status.DEPLOYED, owner="shipyard", current_installation_result_id=2)
    maas.peer.on("GET /machines/id-n1/", Answer(200, again))
    report = provisioner(maas).report(JOB, mine)
    assert (report.state, report.failed) == (JobState.RUNNING, frozenset())
    assert maas.changes == []


def test_the_last_warning_explains_so_many_failed_machines(maas: Maas) -> None:
    names = [f"n{number:02}" for number in range(MOST_EVENTS + 5)]
    mine = work(DEPLOY, *names)
    maas.knows(mine)
    maas.has([machine(name, Status.FAILED_DEPLOYMENT, mine=True) for name in names])
    event = {"level": "ERROR", "created": "Mon, 02 Mar. 2026 09:11:08", "description": "no image"}
    for answer, explained in ((Answer(200, {"events": [event]}), MOST_EVENTS), (Answer(400, b"no"), 0)):
        maas.peer.on("GET /events/", answer)
        report = provisioner(maas).report(JOB, mine)
        assert (report.state, len(report.reasons)) == (JobState.ENDED, len(names))
        assert sum("no image" in reason for reason in report.reasons.values()) == explained
        assert all("it is Failed_deployment" in reason for reason in report.reasons.values())
    assert len(maas.peer.asked("GET /events/")) == 2 * MOST_EVENTS


# Operations whose end was not seen

CYCLE = Operation.POWER_CYCLE_NODES
RUN_SCRIPTS = DeployStep(Interface.MANAGEMENT, "run_commissioning_scripts", {}, 200)
BEGUN, ON, CLAIM = f"{TAG}-begun", f"{TAG}-on", "tags/TAG update_nodes"
OURS = {"owner": "shipyard"}
UNSEEN: dict[str, tuple[Operation, Machine, str, str, list[str]]] = {
    "it failed": (PREPARE, machine("n1", Status.NEW), "Commissioning", "it is New", [CLAIM]),
    "it never arrived": (PREPARE, machine("n1", Status.NEW), "Testing", "", ["n1 commission", CLAIM]),
    "the events cannot be read": (PREPARE, machine("n1", Status.NEW), "", "answered 500", []),
    "it ended where it began": (
        *(DESTROY, machine("n1", Status.DEPLOYED, **OURS), "Releasing"),
        *("it was erased and released by this job and is Deployed again", [CLAIM]),
    ),
    "its scripts ran": (DEPLOY, machine("n1", Status.READY), "Commissioning", "", ["tags/TAG-scripts update_nodes"]),
    "it goes off": (CYCLE, machine("n1", Status.DEPLOYED, power_state="on", **OURS), "Powering off", "", [CLAIM]),
    "it comes on": (CYCLE, machine("n1", Status.DEPLOYED, tag_names=[ON], **OURS), "Powering on", "", [CLAIM]),
}


@table(("operation", "found", "event", "reason", "changes"), UNSEEN)
def test_an_operation_that_was_begun_is_sent_again_only_if_its_events_show_that_it_never_arrived(
    maas: Maas, operation: Operation, found: Machine, event: str, reason: str, changes: list[str]
) -> None:
    mine = replace(work(operation, "n1"), steps={NodeName("n1"): [RUN_SCRIPTS]} if operation is DEPLOY else {})
    maas.tags({TAG: job_tags.record_text(mine, NOW, newest=7)})
    maas.has([found | {"tag_names": [BEGUN, *found["tag_names"]]}])
    maas.peer.on(f"POST /tags/{TAG}-scripts/", Answer(200, {}))
    maas.peer.on("GET /events/", Answer(200, {"events": [{"id": 8, "type": event}]}) if event else Answer(500))
    report = provisioner(maas).report(JOB, mine)
    assert maas.changes == changes
    assert reason in report.reasons.get(NodeName("n1"), report.message)
    assert (report.state is JobState.ENDED) is reason.startswith("it ")
    asked = dict(maas.peer.asked("GET /events/")[0].query)
    assert (asked["hostname"], asked["after"]) == ("n1", "7")


def test_the_jobs_of_an_action_share_what_they_began_and_end_a_power_cycle_though_stopped(maas: Maas) -> None:
    mine, begun, elsewhere = (JobId(marker_of("A", effect={"n": number})) for number in range(3))
    texts = [job_tags.record_text(work(CYCLE, "n1"), NOW, newest=newest) for newest in (7, 5, 3)]
    tags = dict(zip(map(job_tags.job_tag, (mine, begun, elsewhere)), texts, strict=True))
    maas.tags(tags | {job_tags.stop_tag(mine): texts[0]})
    maas.has([machine("n1", Status.DEPLOYED, tag_names=[job_tags.begun_tag(begun)], **OURS)])
    maas.peer.otherwise = [Answer(200, {})]
    provisioner(maas).report(mine, work(CYCLE, "n1"))
    assert [one for one in maas.changes if one.startswith("n1")] == ["n1 power_on"]
    assert dict(maas.peer.asked("GET /events/")[0].query)["after"] == "5"
    marked = [job_tags.begun_tag(mine), job_tags.on_tag(mine)]
    assert [maas.form(change)["name"] for change in (0, 2)] == marked
    maas.has([machine("n1", Status.DEPLOYED, power_state="on", tag_names=[job_tags.on_tag(begun)], **OURS)])
    assert provisioner(maas).report(mine, work(CYCLE, "n1")).succeeded == {"n1"}


CLAIMED: dict[str, tuple[Operation, Machine, list[str]]] = {
    "another user commissions it": (PREPARE, machine("n1", Status.COMMISSIONING, owner="alice"), []),
    "locked": (PREPARE, machine("n1", Status.READY, locked=True), []),
    "its scripts run": (DEPLOY, machine("n1", Status.COMMISSIONING, **OURS), []),
    "it deploys": (DEPLOY, machine("n1", Status.DEPLOYING, **OURS), [CLAIM]),
    "it has deployed": (DEPLOY, machine("n1", Status.DEPLOYED, **OURS), [CLAIM]),
}


@table(("operation", "found", "changes"), CLAIMED)
def test_a_machine_is_claimed_once_its_state_is_the_job_s_own_doing(
    maas: Maas, operation: Operation, found: Machine, changes: list[str]
) -> None:
    mine = replace(work(operation, "n1"), steps={NodeName("n1"): [RUN_SCRIPTS]} if operation is DEPLOY else {})
    maas.knows(mine)
    maas.has([found])
    assert not provisioner(maas).report(JOB, mine).failed
    assert maas.changes == changes


@table(("leaves", "kept"), {"of the site": (False, False), "kept": (True, True), "neither": (True, False)})
def test_a_machine_is_removed_only_if_it_leaves_and_no_operator_keeps_it(maas: Maas, leaves: bool, kept: bool) -> None:
    mine = replace(work(DESTROY, "n1"), leaves=leaves)
    maas.knows(mine)
    maas.has([machine("n1", Status.READY)])
    assert provisioner(maas, rules=Rules(keep_enlisted=kept)).report(JOB, mine).ok
    assert maas.changes == (["n1 DELETE"] if leaves and not kept else [CLAIM])


def test_only_an_operation_that_was_begun_and_leaves_traces_is_looked_for_in_events(maas: Maas) -> None:
    off = machine("n1", Status.READY, power_state="on", tag_names=[BEGUN])
    for operation, found, changes in (
        (PREPARE, machine("n1", Status.NEW), ["tags", "tags/TAG-begun update_nodes", "n1 commission", CLAIM]),
        (DESTROY, off, ["n1 power_off", CLAIM]),
    ):
        maas.peer.requests.clear()
        maas.tags({TAG: job_tags.record_text(work(operation, "n1"), NOW, newest=7)})
        maas.has([found])
        provisioner(maas).report(JOB, work(operation, "n1"))
        assert (maas.changes, maas.peer.asked("GET /events/")) == (changes, [])


def test_a_job_of_an_earlier_version_marked_nothing_beforehand(maas: Maas) -> None:
    mine = work(PREPARE, "n1")
    maas.knows(mine)
    maas.has([machine("n1", Status.NEW, tag_names=[BEGUN])])
    provisioner(maas).report(JOB, mine)
    assert (maas.changes, maas.peer.asked("GET /events/")) == (["n1 commission", CLAIM], [])


# Aborting

ABORTED: dict[str, tuple[Operation, Machine, Answer | None, list[str]]] = {
    "a destroy would abort it": (DESTROY, machine("n1", Status.DEPLOYING, **OURS), None, ["n1 abort"]),
    "nothing that the job does": (DEPLOY, machine("n1", Status.COMMISSIONING, **OURS), None, []),
    "ended since": (PREPARE, machine("n1", Status.COMMISSIONING), Answer(200, machine("n1", Status.READY)), []),
    "gone since": (PREPARE, machine("n1", Status.COMMISSIONING), Answer(404), []),
}


@table(("operation", "found", "now", "changes"), ABORTED)
def test_only_what_the_job_does_at_this_moment_is_aborted(
    maas: Maas, operation: Operation, found: Machine, now: Answer | None, changes: list[str]
) -> None:
    maas.knows(work(operation, "n1"))
    maas.has([found])
    if now:
        maas.peer.on("GET /machines/id-n1/", now)
    provisioner(maas).abort(JOB, work(operation, "n1"))
    assert maas.changes == ["tags", *changes]


def test_a_job_is_stopped_before_its_machines_are(maas: Maas) -> None:
    mine = work(PREPARE, "n1", "n2", "n3", "n4", "n5")
    maas.knows(mine)
    maas.has(
        [
            machine("n1", Status.COMMISSIONING, mine=True),
            machine("n2", Status.READY, mine=True),
            machine("n3", Status.NEW),
            machine("n4", Status.COMMISSIONING, owner="alice"),
            machine("n5", Status.TESTING, locked=True),
        ]
    )
    provisioner(maas).abort(JOB, mine)
    assert maas.changes == ["tags", "n1 abort"]
    assert maas.form(0)["name"] == STOPPED


def test_a_stopped_power_cycle_leaves_off_what_it_did_not_switch_off(maas: Maas) -> None:
    maas.knows(work(CYCLE, "n1"), stopped=True)
    maas.has([machine("n1", Status.DEPLOYED, **OURS)])
    assert provisioner(maas).report(JOB, work(CYCLE, "n1")).failed == {"n1"}
    assert maas.changes == []


def test_an_abort_that_is_not_certain_is_told_after_all_were_tried(maas: Maas) -> None:
    mine, site = work(DEPLOY, "n1", "n2"), work(Operation.VERIFY_SITE)
    for unknown in (mine, site):
        provisioner(maas).abort(JOB, unknown)
    assert maas.changes == []
    maas.knows(mine)
    maas.has([machine(name, Status.DEPLOYING, mine=True, owner="shipyard") for name in ("n1", "n2")])
    maas.answers("n1", STATE_FORBIDS, Answer(504, b""))
    provisioner(maas).abort(JOB, mine)  # n1 is past being aborted
    with pytest.raises(Unavailable):
        provisioner(maas).abort(JOB, mine)
    assert maas.changes == ["tags", "n1 abort", "n2 abort"] * 2
    maas.knows(site)
    provisioner(maas).abort(JOB, site)  # though nothing runs
    assert maas.changes[6:] == ["tags"]


# Designs, health


def test_a_design_without_nodes_selects_nothing_and_says_so(maas: Maas) -> None:
    with pytest.raises(Refused, match="names no node"):
        provisioner(maas).select_nodes("revision:1", [()])
    assert provisioner(maas).validate_design("revision:1") == ()
    assert maas.peer.requests == []


def test_a_bad_key_is_refused_and_fails_the_verification_of_a_site(maas: Maas) -> None:
    mine = work(Operation.VERIFY_SITE)
    maas.knows(mine)
    maas.peer.on("GET /version/", Answer(200, {"version": "3.5"}))
    said = b"Authorization Error: Invalid API key."
    maas.peer.on("GET /users/", Answer(401, said), Answer(401, said), Answer(400, said))
    with pytest.raises(Refused, match="Invalid API key"):
        provisioner(maas).check_health()
    report = provisioner(maas).report(JOB, mine)
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert "Invalid API key" in report.message


def test_a_user_who_is_not_named_is_not_guessed(maas: Maas) -> None:
    maas.has([machine("n1", Status.DEPLOYED)])
    maas.peer.on("GET /users/", Answer(200, {}))
    with pytest.raises(PeerError, match="which user"):
        provisioner(maas).submit(Marker(JOB), work(DEPLOY, "n1"))
    assert maas.changes == []


# After a loss of history


@table(
    ("other", "by", "operation", "status", "changes"),
    {
        "deployed again: not erased": (DEPLOY, "A", DESTROY, Status.DEPLOYED, []),
        "its deployment failed: not released": (DEPLOY, "A", PREPARE, Status.FAILED_DEPLOYMENT, []),
        "deployed by another action": (DEPLOY, "B", DESTROY, Status.DEPLOYED, ["n1 release"]),
        "an earlier operation": (PREPARE, "A", DEPLOY, Status.READY, ["n1 deploy"]),
        "its deployment was undone": (DEPLOY, "A", DEPLOY, Status.READY, []),
    },
)
def test_a_machine_with_which_the_action_has_gone_on_is_left_alone(
    maas: Maas, other: Operation, by: str, operation: Operation, status: Status, changes: list[str]
) -> None:
    """The tag of a job of which no record is left shows how far the action was with the machine."""
    mine, theirs = (JobId(marker_of(action, effect={"n": number})) for number, action in enumerate(("A", by)))
    text = job_tags.record_text(work(operation, "n1"), NOW)
    lost = job_tags.record_text(work(other, "n1", "n2"), NOW)
    maas.tags({job_tags.job_tag(mine): text, job_tags.job_tag(theirs): lost})
    maas.peer.on(f"POST /tags/{job_tags.job_tag(mine)}/", Answer(200, {}))
    maas.has([machine("n1", status, owner="shipyard", tag_names=[job_tags.job_tag(theirs)])])

    subject = provisioner(maas)
    subject.report(mine, work(operation, "n1"))
    assert [one for one in maas.changes if one.startswith("n1")] == changes

    earlier = subject.earlier_work(Marker(mine), work(operation, "n1"), since=NOW)
    assert [(one.operation, one.nodes) for one in earlier] == ([(other, ("n1",))] if by == "A" else [])
    assert subject.earlier_work(Marker(mine), work(operation, "n1"), since=NOW, known=[theirs]) == []


def test_a_machine_that_a_later_job_of_the_action_has_not_reached_is_worked_on(maas: Maas) -> None:
    mine, later = (JobId(marker_of("A", effect={"n": number})) for number in range(2))
    records = {mine: work(PREPARE, "n1"), later: work(DEPLOY, "n1")}
    maas.tags({job_tags.job_tag(job): job_tags.record_text(one, NOW) for job, one in records.items()})
    maas.peer.on(f"POST /tags/{job_tags.job_tag(mine)}/", Answer(200, {}))
    maas.has([machine("n1", Status.NEW)])
    provisioner(maas).report(mine, work(PREPARE, "n1"))
    assert "n1 commission" in maas.changes
