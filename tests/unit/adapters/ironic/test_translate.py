"""Marks, claims, answers and names: everything that is read out of Ironic, or put into it."""

import uuid
from typing import Any

from msgspec.structs import replace

from shipyard_api.adapters.ironic import patches, translate
from shipyard_api.adapters.ironic.client import Reply
from shipyard_api.adapters.ironic.decisions import Job, Verb
from shipyard_api.adapters.ironic.patches import Payload
from shipyard_api.adapters.ironic.translate import Mark, Node, Reaction
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import Level
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation, Wipe
from tests.unit.tables import every_row

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
KEPT = {"automated_clean": None}
FULL = Mark("m", "deploy_nodes", {"active": "t"}, ("a", "b"), "c", KEPT, ("x.y",), "no", True, "cpu")


def test_a_mark_is_read_as_it_was_written_or_as_far_as_it_goes() -> None:
    for mark in (FULL, Mark("m", "prepare_nodes")):
        assert Mark.read(mark.json()) == mark
    assert [Mark.read(stored) for stored in (None, "x", {}, {"marker": 3}, [])] == [None] * 5
    bent = {"marker": "m", "operation": 7, "tried": "x", "after": "y", "kept": 1, "unsupported": {}}
    assert Mark.read(bent) == Mark("m", "7")


def test_the_next_job_remembers_those_before_it_and_what_outlives_a_job() -> None:
    following = FULL.followed_by("next", PREPARE)
    assert following == Mark("next", "prepare_nodes", {}, ("a", "b", "m"), "c", KEPT, burned_in="cpu")
    assert FULL.followed_by("next", DESTROY).burned_in == ""
    for number in range(20):
        following = following.followed_by(str(number), PREPARE)
    assert following.after == tuple(str(number) for number in range(11, 19))


def test_a_node_is_ours_only_by_a_claim_that_its_mark_explains() -> None:
    claims = {translate.claim(marker, name) for marker in ("a", "b") for name in ("n1", "n2")}
    assert len(claims) == 4
    assert all(str(uuid.UUID(one)) == one for one in claims)
    ours = translate.claim("m", "n1")
    assert Node("u", "n1", "active", instance=ours, mark=Mark("later", "", claim="m")).ours
    assert Node("u", "n1", "active", instance=ours).foreign
    assert Node("u", "n1", "active", instance=ours, mark=Mark("m", "")).foreign
    nobodys = Node("u", "n1", "active")
    assert (nobodys.ours, nobodys.foreign) == (False, False)
    assert Node.read({"uuid": "u", "name": None, "extra": None}) == Node("u", "", "")


def test_a_node_is_read_as_ironic_shows_it() -> None:
    texts = ("uuid", "name", "provision_state", "provision_updated_at", "last_error", "maintenance_reason", "fault")
    texts += ("instance_uuid", "power_state", "target_power_state", "health")
    shown: dict[str, Any] = {key: key for key in texts} | {"automated_clean": False}
    shown |= {"maintenance": True, "protected": True, "extra": {"shipyard": {"marker": "m", "operation": "o"}}}
    told = Node.read(shown)
    assert told == Node(
        *("uuid", "name", "provision_state", "provision_updated_at", "last_error", True, "maintenance_reason"),
        *("fault", "instance_uuid", True, "power_state", "target_power_state", False, Mark("m", "o"), None, "health"),
    )
    free = Node.read(shown | {"maintenance": False, "protected": False})
    assert free == replace(told, maintenance=False, protected=False)


MINE, LATER = (marker_of("A", effect={"n": n}) for n in (1, 2))


@every_row(
    {
        "no nodes": ([], False),
        "a node that is gone": ([None], False),
        "one of another job": ([Mark("b", DEPLOY.value)], False),
        "one of two": ([Mark("b", DEPLOY.value), Mark(MINE, PREPARE.value)], True),
        "the action has gone on": ([None, Mark(LATER, DEPLOY.value)], True),
        "another job of the action does the same": ([Mark(LATER, PREPARE.value)], True),
        "an earlier operation of the action": ([Mark(LATER, DESTROY.value)], False),
    },
)
def test_a_job_is_shown_by_any_of_its_nodes(marks: list[Mark | None], shown: bool) -> None:
    nodes = [mark and Node("u", "n1", "active", mark=mark) for mark in marks]
    assert translate.shown_on(MINE, PREPARE, nodes) is shown


def test_nodes_without_a_name_are_left_out() -> None:
    named = Node("u1", "n1", "active")
    assert translate.by_name([named, Node("u2", "", "active")]) == {"n1": named}


@every_row(
    [
        (Wipe.ALL, 0, "Ironic's automated cleaning decides what was erased"),
        (Wipe.OS_DISK_ONLY, 1, "automated cleaning was skipped: nothing was erased"),
        (Wipe.OS_DISK_ONLY, 0, ""),
    ]
)
def test_what_was_erased_depends_on_the_work(wipe: Wipe, count: int, told: str) -> None:
    assert translate.erased(wipe, [Node("u", "n1", "available")] * count) == told


def steps(*names: str, priority: int = 10) -> list[dict[str, Any]]:
    pairs = (name.split(".") for name in names)
    return [{"interface": interface, "step": step, "priority": priority} for interface, step in pairs]


@every_row(
    {
        "nothing is told": (None, None),
        "the list is not made yet": ({"deploy_steps": None, "user_deploy_steps": steps("a.b")}, None),
        "nothing was asked for": ({"deploy_steps": steps("a.b")}, None),
        "all are kept": ({"deploy_steps": steps("a.b", "c.d"), "user_deploy_steps": steps("a.b")}, ()),
        "some are dropped": (
            {"deploy_steps": steps("a.b"), "user_deploy_steps": steps("a.b", "a.x", "c.b")},
            ("a.x", "c.b"),
        ),
        "the last one is dropped": (
            {"deploy_steps": steps("a.b"), "user_deploy_steps": steps("a.x", priority=1)},
            ("a.x",),
        ),
        "one has no priority": (
            {"deploy_steps": steps("a.b"), "user_deploy_steps": [{"interface": "a", "step": "x"}]},
            (),
        ),
        "one is switched off": ({"deploy_steps": steps("a.b"), "user_deploy_steps": steps("a.x", priority=0)}, ()),
    },
)
def test_steps_that_were_dropped_are_seen(internal: object, expected: tuple[str, ...] | None) -> None:
    assert translate.steps_left_out(internal) == expected


@every_row(
    [
        (200, "", Reaction.ACCEPTED),
        (202, "", Reaction.ACCEPTED),
        (204, "", Reaction.ACCEPTED),
        (300, "", Reaction.REFUSED),
        (400, 'The requested action "provide" can not be performed', Reaction.ASK_STATE),
        (403, "protected", Reaction.REFUSED),
        (404, "", Reaction.REFUSED),
        (409, "Node u is locked by host c, please retry after the current operation is completed.", Reaction.LATER),
        (409, "Node u can not be updated while a state transition is in progress.", Reaction.LATER),
        (409, "Node u is associated with instance i.", Reaction.REFUSED),
        (409, "Instance i is already associated with a node", Reaction.REFUSED),
        (413, "", Reaction.REFUSED),
        (503, "due to lack of free conductor workers", Reaction.LATER),
    ],
)
def test_every_answer_has_its_reaction(status: int, text: str, expected: Reaction) -> None:
    assert translate.reaction(Reply(status, text)) is expected
    assert expected is Reaction.ACCEPTED or translate.refusal(Reply(status, text))
    assert not text or translate.refusal(Reply(status, text)) == text


def test_a_refusal_without_a_text_is_told_by_its_status() -> None:
    told = [translate.refusal(Reply(status)) for status in (403, 404, 413, 500)]
    denied = "protected, or Shipyard's user lacks the permission"
    assert told == [denied, "there is no such node", "the request is too large", "Ironic answered 500 without a reason"]


def test_a_failure_lacks_its_error_if_ironic_shows_it_no_longer() -> None:
    failed = Node("u", "n1", "clean failed")
    why = f"{translate.error_of(failed)}; the disks may hold data"
    assert translate.lacks_error(failed, why)
    assert not translate.lacks_error(failed, "n1 is in maintenance")
    assert not translate.lacks_error(replace(failed, last_error="no PXE"), why)
    known = replace(failed, last_error="no PXE")
    assert not translate.lacks_error(known, translate.error_of(known))


@every_row(
    {
        "no errors": ([("ERROR", "2026-03-02T12:00:00", ""), ("INFO", "2026-03-02T12:00:00", "it began")], ""),
        "the later of two as near": (
            [("ERROR", "2026-03-02T12:00:01", "first"), ("ERROR", "2026-03-02T12:00:01Z", "second")],
            "second",
        ),
        "any with a time": ([("ERROR", "2026-03-01T12:00:00", "old"), ("ERROR", None, "undated")], "old"),
    },
)
def test_the_error_nearest_to_the_change_of_state_explains_it(
    history: list[tuple[str, str | None, str]], told: str
) -> None:
    failed = Node("u", "n1", "clean failed", "2026-03-02T12:00:00+00:00")
    events = [{"severity": severity, "created_at": at, "event": event} for severity, at, event in history]
    assert translate.with_error(failed, events) == replace(failed, last_error=told)


IMPOSSIBLE = ("a b", str(uuid.UUID(int=1)), uuid.UUID(int=11).hex.upper(), "x" * 256, "")


def test_names_that_ironic_cannot_hold_break_a_limit_and_unknown_ones_are_a_warning() -> None:
    [found] = translate.findings([NodeName(name) for name in (*IMPOSSIBLE, "n.1-_~", "n2")], [NodeName("n2")])
    assert (found.name, found.level, found.source) == ("NodeNotInProvisioner", Level.WARNING, "Ironic")
    assert found.message == "1 of 7 nodes are not enrolled in Ironic: n.1-_~"
    assert translate.findings([NodeName("n2"), NodeName("")], [NodeName("n2")]) == ()
    many = [NodeName(f"n{number:02}") for number in range(11)]
    ten = ", ".join(many[:10])
    messages = [translate.findings(names, [])[0].message for names in (many[:10], many)]
    assert [message.partition(": ")[2] for message in messages] == [ten, f"{ten} and 1 more"]
    assert not any(map(translate.LIMITS.accepts, IMPOSSIBLE))
    assert all(map(translate.LIMITS.accepts, ("n2", "n.1-_~", "x" * 255)))


@every_row([("power on", "on"), ("power off", "off"), (None, "unknown"), ("error", "unknown")])
def test_a_condition_has_the_words_of_the_port(power: str | None, expected: str) -> None:
    listed = {"uuid": "u", "name": None, "provision_state": "active", "power_state": power}
    assert translate.condition(listed) == ObservedMachine("u", "active", expected, MachineState.DEPLOYED, "u")


def test_a_node_is_installed_as_it_was_until_it_leaves_its_state_or_its_instance_changes() -> None:
    listed = {
        "uuid": "u",
        "name": "n1",
        "provision_state": "rebuild",
        "provision_updated_at": "T1",
        "instance_uuid": "i",
    }
    found = translate.condition(listed)
    assert (found.state, found.machine, found.installed) == (MachineState.INSTALLING, "u", "instance i, since T1")


def test_our_arguments_are_hidden_in_what_ironic_quotes() -> None:
    payload = Payload(
        steps=[{"interface": "bios", "step": "x", "args": {"settings": [{"v": "top secret"}, {"v": "secret"}]}}]
    )
    text = "step failed: {'v': 'top secret'}, {'v': 'secret'}"
    assert payload.shown("n1", text) == "step failed: {'v': '******'}, {'v': '******'}"
    assert len(payload.shown("n1", "x" * 499 + "top secret")) == 500
    assert translate.secrets({"a": ["four", "few"], "b": 12345}) == {"four"}


# What is written


def patch(node: Node, job: Job, verb: Verb | None, payload: Payload | None = None) -> dict[str, Any]:
    """Return the changes by path."""
    _, patch = patches.patch_before(node, job, verb, payload or Payload())
    assert {change["op"] for change in patch} <= {"add"}
    return {change["path"]: change["value"] for change in patch}


def test_a_deployment_claims_the_node_and_says_so_in_one_patch() -> None:
    node = Node("u", "n1", "available", "t1")
    payload = Payload({"image_source": "http://i/a", "x/y~z": 1})
    assert patch(node, Job("m", DEPLOY), Verb.DEPLOY, payload) == {
        "/instance_uuid": translate.claim("m", "n1"),
        "/instance_info/image_source": "http://i/a",
        "/instance_info/x~1y~0z": 1,
        "/extra/shipyard": {"marker": "m", "operation": "deploy_nodes", "tried": {"active": "t1"}, "claim": "m"},
    }


def test_only_what_is_new_is_written() -> None:
    ours = translate.claim("m", "n1")
    tried = Node("u", "n1", "available", "t1", instance=ours, mark=Mark("m", DEPLOY.value, {"active": "t1"}, claim="m"))
    assert patch(tried, Job("m", DEPLOY), Verb.DEPLOY, Payload({"image_source": "i"})) == {}

    earlier = Node("u", "n1", "available", instance=translate.claim("a", "n1"), mark=Mark("a", DEPLOY.value, claim="a"))
    written = patch(earlier, Job("m", DEPLOY), Verb.DEPLOY)
    assert written.keys() == {"/extra/shipyard"}
    assert (written["/extra/shipyard"]["claim"], written["/extra/shipyard"]["after"]) == ("a", ["a"])

    dropped = Job("m", DEPLOY, left_out={NodeName("n1"): ("a.b",)})
    written = patch(Node("u", "n1", "active", mark=Mark("m", DEPLOY.value, claim="m")), dropped, Verb.NOTE)
    assert written["/extra/shipyard"]["unsupported"] == ["a.b"]

    # Ironic's own setting cleans a node that has none; a preparation leaves the node's setting as it is.
    assert patch(Node("u", "n1", "active"), Job("m", DESTROY), Verb.UNDEPLOY).keys() == {"/extra/shipyard"}
    failed = Node("u", "n1", "deploy failed", automated_clean=False)
    assert patch(failed, Job("m", PREPARE), Verb.UNDEPLOY).keys() == {"/extra/shipyard"}


@every_row([(Wipe.OS_DISK_ONLY, None), (Wipe.OS_DISK_ONLY, True), (Wipe.OS_DISK_ONLY, False), (Wipe.ALL, False)])
def test_a_node_is_cleaned_as_the_work_says_and_its_setting_put_right_afterwards(
    wipe: Wipe, before: bool | None
) -> None:
    job, now = Job("m", DESTROY, wipe), wipe is Wipe.ALL
    kept = patch(Node("u", "n1", "active", "t", automated_clean=before), job, Verb.UNDEPLOY)
    assert kept["/automated_clean"] is now
    mark = Mark.read(kept["/extra/shipyard"])
    assert mark.kept == {"automated_clean": before}
    again = Node("u", "n1", "active", "t2", automated_clean=now, mark=mark)
    assert "/automated_clean" not in patch(again, job, Verb.UNDEPLOY)
    back = patch(Node("u", "n1", "available", automated_clean=now, mark=mark), job, Verb.PUT_BACK)
    assert back["/automated_clean"] is before
    assert "kept" not in back["/extra/shipyard"]


def test_what_a_destroy_that_broke_off_left_behind_is_put_right_by_the_next_job() -> None:
    mark = Mark("a", DESTROY.value, kept={"automated_clean": None})
    node = Node("u", "n1", "available", automated_clean=False, mark=mark)
    for job in (Job("m", PREPARE), Job("m", DESTROY)):
        written = patch(node, job, None)
        assert written["/automated_clean"] is None
        assert "kept" not in written["/extra/shipyard"]
    assert "/automated_clean" not in patch(node, Job("m", DESTROY, Wipe.OS_DISK_ONLY), None)
    never = replace(node, state="active", mark=Mark("a", DESTROY.value, kept={"automated_clean": False}))
    written = patch(never, Job("m", DESTROY), Verb.UNDEPLOY)
    assert (written["/automated_clean"], written["/extra/shipyard"]["kept"]) == (True, {"automated_clean": False})


def test_a_stop_is_written_once_and_on_nodes_of_the_job_alone() -> None:
    mine = Node("u", "n1", "manageable", mark=Mark("m", PREPARE.value, claim="c"))
    [change] = patches.stop_patch(mine, Job("m", PREPARE))
    assert change["value"] == {"marker": "m", "operation": "prepare_nodes", "claim": "c", "stopped": True}
    assert patches.stop_patch(Node("u", "n1", "x", mark=Mark("m", "", stopped=True)), Job("m", PREPARE)) == []
    assert patches.stop_patch(Node("u", "n1", "x", mark=Mark("b", "")), Job("m", PREPARE)) == []
    assert patches.stop_patch(Node("u", "n1", "x"), Job("m", PREPARE)) == []


def test_a_deployment_is_asked_for_with_what_it_takes_along() -> None:
    assert Payload().request(Verb.DEPLOY) == {"target": "active"}
    assert Payload().request(Verb.REBUILD) == {"target": "rebuild"}
    step = {"interface": "bios", "step": "x", "args": {}, "priority": 5}
    assert Payload({}, [step], {"meta_data": {}}).request(Verb.DEPLOY) == {
        "target": "active",
        "deploy_steps": [step],
        "configdrive": {"meta_data": {}},
    }
    assert Payload(steps=[step]).request(Verb.SERVICE) == {
        "target": "service",
        "service_steps": [{"interface": "bios", "step": "x", "args": {}}],
    }
