"""Each check of an admission by itself: what it refuses, and what it makes of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions import admission
from shipyard_api.actions.action import Case, DesignCheck
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.deploy_steps.planning import StepPlan
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.errors import (
    IntermediateCommits,
    InvalidDesign,
    InvalidParameters,
    NodesDown,
    NoTargetRevision,
    NothingCommitted,
    NothingDrains,
    NothingRelabels,
    NoWindowOpens,
    TooMuchTouched,
    UnknownNodes,
)
from shipyard_api.domain.findings import error, warning
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.parameters import RedeployMode, TargetRevision
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.specification.given import PLACEMENT, labelled
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.documents import Heads, RenderingFailed, RevisionTag, UnknownRevision
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Wipe
from tests.factories import group_entry, node
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
BAD, ODD = error("Bad", "a fault"), warning("Odd", "a doubt")
SITE = SiteInputs(5, DeploymentConfiguration(), None)
INVENTORY = Inventory.of([node("n1", rack="r1", labels={"b": "2", "a": "1"}), node("n2"), node("n3")])
ABLE = ProvisionerLimits("Peer", no_rebuild="", no_service="", no_clean="")
UNABLE = ProvisionerLimits("Peer", preserves_storage=False)
REFUSES = RenderingFailed(Revision(5), [BAD])
NEWEST = {
    RevisionTag.COMMITTED: Revision(5),
    RevisionTag.SITE_ACTION_SUCCESS: Revision(2),
    RevisionTag.SITE_ACTION_FAILURE: Revision(4),
}
NO_HEADS = Heads(Revision(0), {})
DOWN = SimpleNamespace(
    taken_down=True, name=N1, action=ActionId("a"), action_name="remove_server", status="x", removed=True
)
N9 = NodeName("n9")


def case(name: str = "redeploy_server", site: Any = SITE, **parameters: Any) -> Case:
    action = ACTIONS[ActionName(name)]
    return Case(
        action=action,
        written={},
        heads=Heads(Revision(6), NEWEST),
        committed=Revision(5),
        allows_commits=None,
        inputs=ActionInputs(revision=5, site=site, name=ActionName(name)),
        parsed=replace(action.parsed(), **parameters),
    )


def desk(limits: ProvisionerLimits = ABLE, **answers: Any) -> Any:
    """Return what answers the checks; ``inventory``: an error is raised."""
    rules = {
        "limits": limits,
        "drains": True,
        "cluster": True,
        "max_share": 0.5,
    }

    def inventory(_revision: Revision) -> Inventory:
        found = answers.get("inventory", INVENTORY)
        if isinstance(found, Exception):
            raise found
        return found

    def outside(targets: Sequence[NodeName]) -> Sequence[NodeName]:
        if answers.get("silent"):
            raise Unavailable("Kubernetes", "list", "no answer")
        return [name for name in targets if name == N3]

    return SimpleNamespace(
        rules=SimpleNamespace(**(rules | answers.get("rules", {}))),
        inventory=inventory,
        outside_cluster=outside,
        designs=SimpleNamespace(revisions=lambda tags, after, limit: _records(answers.get("commits", ()), tags, after)),
        store=SimpleNamespace(read=lambda _: answers.get("read", ())),
        design=lambda _action, revision: answers["design"],
        check_acceptance=lambda revision: answers["acceptance"],
        check_software=lambda revision, software: answers["software"],
        etcd_forbids=lambda _: answers["etcd"],
        plan_steps=answers.get("steps"),
        specifications=SimpleNamespace(wanted=lambda _, names, __: {name: {PLACEMENT: f"of {name}"} for name in names}),
    )


def _records(revisions: Sequence[int], tags: Sequence[str], after: int) -> list[Any]:
    assert sorted(tags) == ["committed", "rollback_commit"]
    return [SimpleNamespace(revision=Revision(one)) for one in revisions if one > after]


class Steps:
    """A planner that finds what a test wants."""

    def __init__(self, *findings: Any) -> None:
        self.plan = StepPlan(findings=findings)

    def __call__(self, revision: int, only: Any = None) -> StepPlan:
        return self.plan

    def skip_deployed(self, revision: int) -> StepPlan:
        return self.plan

    def cleaning(self, runbook: str, nodes: Any) -> StepPlan:
        return self.plan

    def service(self, template: str, runbook: str, nodes: Any) -> StepPlan:
        return self.plan


REFUSED: Mapping[str, tuple[Callable[[Case, Any], Case], Case, Any, Any, str]] = {
    # the check, the case, who answers; the refusal, the words that it has
    "nothing committed": (admission.committed, replace(case(), committed=None), desk(), NothingCommitted, "committed"),
    "commits since": (
        admission.commits_used,
        replace(case(), heads=NO_HEADS),
        desk(commits=[4]),
        IntermediateCommits,
        "",
    ),
    "no such revision": (
        *(
            admission.target_revision_exists,
            replace(case(target_revision=TargetRevision.LAST_SITE_ACTION), heads=NO_HEADS),
        ),
        *(desk(), NoTargetRevision, "last-site-action"),
    ),
    "nothing committed yet": (
        *(admission.target_revision_exists, replace(case(target_revision=TargetRevision.COMMITTED), committed=None)),
        *(desk(), NoTargetRevision, "committed"),
    ),
    "errors of the design": (
        admission.design_sound,
        case(),
        desk(design=DesignCheck(SITE, [BAD])),
        InvalidDesign,
        "a fault",
    ),
    "no usable design": (
        *(admission.design_sound, case(continues_on_fail=True), desk(design=DesignCheck(None, [BAD])), InvalidDesign),
        "a fault",
    ),
    "no open window": (admission.windows_open, case(), desk(rules={"closed": lambda _: [BAD]}), NoWindowOpens, ""),
    "no such node": (
        *(admission.on_targets, case(targets=(N1, N9))),
        *(desk(), UnknownNodes, "Revision 5 has no node n9."),
    ),
    "no such node, the usual revision": (
        admission.on_targets,
        case(targets=(N9,), target_revision=TargetRevision.SUCCESSFUL_SITE_ACTION),
        *(desk(), UnknownNodes, "has no node n9. If it is new in a revision that failed"),
    ),
    "an unreadable design": (
        admission.on_targets,
        case(targets=(N1,)),
        desk(inventory=REFUSES),
        InvalidDesign,
        "a fault",
    ),
    "disks erased": (
        *(admission.disks_preserved, case(preserves_local_storage=True), desk(UNABLE)),
        *(InvalidParameters, "Peer erases all disks of a machine"),
    ),
    "no rebuild": (
        *(admission.rebuild_possible, case(mode=RedeployMode.REBUILD), desk(UNABLE), InvalidParameters),
        "Peer cannot rebuild servers: it has no such operation.",
    ),
    "no cleaning": (
        *(admission.cleaning_possible, case(runbook="r"), desk(UNABLE), InvalidParameters),
        "Peer cannot run steps on servers before it deploys them: it has no such operation.",
    ),
    "cleaned and rebuilt": (
        *(admission.cleaning_possible, case(runbook="r", mode=RedeployMode.REBUILD), desk(), InvalidParameters),
        "A runbook may erase disks",
    ),
    "cleaned and preserved": (
        *(admission.cleaning_possible, case(runbook="r", preserves_local_storage=True), desk(), InvalidParameters),
        "A runbook may erase disks",
    ),
    "nothing drains": (
        admission.something_drains,
        case(targets=(N1,)),
        desk(rules={"drains": False}),
        NothingDrains,
        "",
    ),
    "down": (
        *(
            admission.servers_up,
            case(targets=(N1,)),
            desk(read=[DOWN]),
        ),
        *(NodesDown, "Node n1 is down"),
    ),
    "nothing relabels": (
        *(admission.labels_settable, case("relabel_nodes", targets=(N1,)), desk(rules={"cluster": False})),
        *(NothingRelabels, ""),
    ),
    "not in the cluster": (
        *(admission.in_cluster, case(targets=(N1, N3)), desk(), NodesDown),
        "Node n3 is not in the cluster",
    ),
    "no service": (
        *(admission.service_possible, case("service_server"), desk(UNABLE), InvalidParameters),
        "Peer cannot run steps on deployed servers: it has no such operation.",
    ),
    "too much": (admission.share_small, case(targets=(N1, N2)), desk(), TooMuchTouched, ""),
    "too much of a site": (admission.share_small, case("deploy_site"), desk(), TooMuchTouched, ""),
    "acceptance": (admission.acceptance_runs, case(), desk(acceptance=[BAD]), InvalidDesign, "a fault"),
    "software": (
        admission.software_runs,
        case("update_software"),
        desk(software=InvalidDesign([BAD])),
        InvalidDesign,
        "",
    ),
    "etcd": (admission.etcd_allows, case(), desk(etcd=NothingDrains([N1])), NothingDrains, ""),
    "steps of a site": (admission.site_steps, case("deploy_site"), desk(steps=Steps(BAD)), InvalidDesign, "a fault"),
    "steps of targets": (admission.target_steps, case(), desk(steps=Steps(ODD, BAD)), InvalidDesign, "a fault"),
    "steps of a runbook": (
        admission.cleaning_steps,
        case(runbook="r"),
        desk(steps=Steps(BAD)),
        InvalidParameters,
        "a fault",
    ),
    "steps of a service": (
        admission.service_steps,
        case("service_server"),
        desk(steps=Steps(BAD)),
        InvalidParameters,
        "",
    ),
}


@every_row(REFUSED)
def test_a_check_refuses(check: Any, given: Case, answers: Any, kind: Any, words: str) -> None:
    refusal = check(given, answers).refusal
    assert refusal is not None
    assert refusal.kind is kind
    findings = "".join(finding.message for finding in refusal.data.get("findings", ()))
    assert words in f"{refusal} {findings} {refusal.data}"


ACCEPTED: Mapping[str, tuple[Callable[[Case, Any], Case], Case, Any]] = {
    "committed": (admission.committed, case(), desk()),
    "no target revision": (admission.target_revision_exists, case(), desk()),
    "a target revision": (admission.target_revision_exists, case(target_revision=TargetRevision.COMMITTED), desk()),
    "an open window": (admission.windows_open, case(), desk(rules={"closed": lambda _: []})),
    "disks kept": (admission.disks_preserved, case(preserves_local_storage=True), desk()),
    "disks not asked for": (admission.disks_preserved, case(), desk(UNABLE)),
    "replaced": (admission.rebuild_possible, case(), desk(UNABLE)),
    "rebuilt": (admission.rebuild_possible, case(mode=RedeployMode.REBUILD), desk()),
    "not cleaned": (admission.cleaning_possible, case(mode=RedeployMode.REBUILD), desk(UNABLE)),
    "cleaned": (admission.cleaning_possible, case(runbook="r"), desk()),
    "drained": (admission.something_drains, case(), desk()),
    "not drained, forced": (admission.something_drains, case(force=True), desk(rules={"drains": False})),
    "up": (admission.servers_up, case(targets=(N1,)), desk()),
    "down, not taken down": (admission.servers_up, case(targets=(N1,)), desk(read=[SimpleNamespace(taken_down=False)])),
    "in the cluster": (admission.in_cluster, case(targets=(N1, N2)), desk()),
    "a silent cluster": (admission.in_cluster, case(targets=(N3,)), desk(silent=True)),
    "a service": (admission.service_possible, case("service_server"), desk()),
    "few enough": (admission.share_small, case(targets=(N1,)), desk()),
    "half": (admission.share_small, case(targets=(N1, N2)), desk(rules={"max_share": 2 / 3})),
    "any share": (admission.share_small, case(targets=(N1, N2, N3)), desk(rules={"max_share": 1})),
    "a share of what cannot be read": (admission.share_small, case(targets=(N1, N2)), desk(inventory=REFUSES)),
    "acceptance": (admission.acceptance_runs, case(), desk(acceptance=[ODD])),
    "software": (admission.software_runs, case("update_software"), desk(software=None)),
    "etcd": (admission.etcd_allows, case(), desk(etcd=None)),
    "no runbook": (admission.cleaning_steps, case(), desk()),
    "no policy": (admission.paced, case(), desk()),
    "no policy, no batches": (admission.batches_fit, case(max_parallel_nodes=2), desk()),
}


@every_row(ACCEPTED)
def test_a_check_that_refuses_nothing_changes_nothing(check: Any, given: Case, answers: Any) -> None:
    assert check(given, answers) == given


@every_row(
    {
        # which commits there are since the last site action, what is accepted
        "none": ([], None, [], False),
        "older ones": ([1, 2, 3, 4], None, [], False),
        "the committed one": ([5, 6], None, [], False),
    }
)
def test_only_commits_between_the_last_site_action_and_the_committed_one_count(
    commits: list[int], allows: bool | None, found: list[int], refused: bool
) -> None:
    after = admission.commits_used(replace(case(), allows_commits=allows), desk(commits=commits))
    assert ([*after.commits], after.refusal is not None) == (found, refused)


@every_row([(None, True), (False, True), (True, False)])
def test_commits_that_no_action_used_are_accepted_by_those_who_say_so(allows: bool | None, refused: bool) -> None:
    never = replace(case(), heads=Heads(Revision(5), {}), allows_commits=allows)
    after = admission.commits_used(never, desk(commits=[1, 3, 5]))
    assert ([*after.commits], after.refusal is not None) == ([1, 3], refused)


@every_row(
    [
        (None, 2, None),
        (TargetRevision.COMMITTED, 5, Version.COMMITTED),
        (TargetRevision.SUCCESSFUL_SITE_ACTION, 2, Version.SUCCESSFUL_SITE_ACTION),
        (TargetRevision.LAST_SITE_ACTION, 4, Version.LAST_SITE_ACTION),
    ]
)
def test_an_action_works_from_the_revision_that_it_names(named: Any, revision: int, version: Any) -> None:
    given = case(site=None, target_revision=named)
    after = admission.of_target_revision(given, desk())
    assert (after.inputs.revision, after.version) == (revision, version)
    unknown = replace(given, heads=NO_HEADS, committed=None)
    assert admission.of_target_revision(unknown, desk()).inputs.revision == 5


def test_limits_are_those_of_the_committed_design_and_the_revision_is_the_named_one() -> None:
    given = replace(case(site=None), inputs=ActionInputs(revision=2, name=ActionName("redeploy_server")))
    after = admission.design_sound(given, desk(design=DesignCheck(SITE, [ODD])))
    assert (after.inputs.revision, after.site.revision, after.findings, after.refusal) == (2, 2, [ODD], None)
    bold = replace(given, parsed=replace(given.parameters, continues_on_fail=True))
    assert admission.design_sound(bold, desk(design=DesignCheck(SITE, [BAD]))).refusal is None


def test_a_share_that_is_too_large_is_a_warning_if_it_is_forced() -> None:
    after = admission.share_small(case(targets=(N1, N2), force=True), desk())
    assert ([finding.name for finding in after.warnings], after.refusal) == (["ShareOfSiteTouched"], None)


def test_labels_are_those_of_the_design_and_set_by_who_can() -> None:
    given = case("relabel_nodes", targets=(N1,))
    ours = admission.labels_settable(given, desk()).inputs
    assert (ours.labels, ours.relabelled, ours.placed) == ({N1: {"a": "1", "b": "2"}}, None, {N1: "of n1"})
    able = ProvisionerLimits("Peer", relabels=True)
    theirs = admission.labels_settable(given, desk(able, rules={"cluster": False})).inputs
    assert (theirs.labels, theirs.relabelled) == (None, {N1: labelled({"a": "1", "b": "2"})})
    assert theirs.placed == {N1: "of n1"}


def test_targets_narrow_the_site() -> None:
    assert admission.on_targets(case(targets=(N2,)), desk()).site.targets == (N2,)


def test_steps_without_an_error_are_planned() -> None:
    steps = Steps(ODD)
    for check, name in ((admission.site_steps, "deploy_site"), (admission.target_steps, "redeploy_server")):
        after = check(case(name), desk(steps=steps))
        assert (after.steps, after.refusal, after.site.deploy_steps) == (steps.plan, None, steps.plan.requested)
    cleaned = admission.cleaning_steps(case(runbook="r"), desk(steps=steps))
    assert ([*cleaned.steps.findings], cleaned.refusal, cleaned.site.clean_steps) == ([ODD], None, {})


BOTH, ONE = Inventory.of([node("n1"), node("n2")]), Inventory.of([node("n1")])


@every_row(
    {
        # the designs by revision, which revisions actions worked from; the last with both servers
        "the newest": ({5: BOTH, 3: BOTH}, [3], 5),
        "exactly these": ({5: INVENTORY}, [], 5),
        "an older one": ({5: ONE, 3: BOTH, 4: BOTH}, [3, 4], 4),
        "one that cannot be read": ({5: REFUSES, 4: UnknownRevision(4), 3: BOTH}, [4, 3], 3),
        "an action without a design": ({5: ONE}, [0, None], None),
    }
)
def test_servers_that_have_left_the_design_are_those_of_the_last_one_that_has_them(
    designs: Mapping[int, Any], worked: Sequence[Any], revision: int | None
) -> None:
    def inventory(asked: Revision) -> Inventory:
        if isinstance(designs[asked], Exception):
            raise designs[asked]
        return designs[asked]

    records = iter([{"a"}, set(worked)])
    answers: Any = SimpleNamespace(inventory=inventory, store=SimpleNamespace(read=lambda _: next(records)))
    given = case("remove_server", site=None, targets=(N1, N2))
    after = admission.of_last_with_targets(given, answers)
    assert after == (given.having(revision=revision) if revision else given)


RACKS = {"budgets": [{"name": "racks", "by": "rack", "max_unavailable": 1}]}
NIGHT = {"windows": {"open": [{"zone": "UTC", "start": "22:00", "minutes": 60}]}}
LATE = {"late": {"on_late": "nothing"}}
CANARY = {"waves": [{"name": "canary", "nodes": 1}]}
ALL = {**RACKS, **NIGHT, **LATE, **CANARY}
SECONDS = {"prepare": 300.0, "deploy": 400.0}


@every_row(
    [
        # the action, the actions that the policy names; the rules that bind it, and whether it deploys or services
        ("deploy_site", None, {"budgets", "windows", "late", "waves"}, True),
        ("deploy_site", ["update_site"], {"late"}, True),
        ("service_server", None, {"budgets", "windows", "waves"}, True),
        ("redeploy_server", None, {"budgets", "windows"}, True),
        ("remove_server", None, {"budgets", "windows"}, False),
        ("update_software", ["update_software"], {"windows"}, False),
    ]
)
def test_the_rules_of_a_policy_bind_actions_for_which_they_have_a_meaning(
    name: str, named: Any, kept: set[str], timed: bool
) -> None:
    data = ALL if named is None else {**ALL, "actions": named}
    bound = admission.binding(ACTIONS[ActionName(name)], PolicyInputs(data, seconds=SECONDS))
    assert (set(bound.data) - {"actions"}, bound.seconds) == (kept, SECONDS if timed else {})


@every_row(
    [
        # the action, the rules, its force and whether the caller may use it, the hour;
        # the warnings, and which rules are kept, None: nothing
        ("deploy_site", NIGHT, False, True, 12, [], ({"windows"}, False)),
        ("redeploy_server", NIGHT, False, True, 12, ["PolicyWindowClosed"], ({"windows"}, False)),
        ("redeploy_server", NIGHT, False, True, 22, [], ({"windows"}, False)),
        ("redeploy_server", NIGHT, True, True, 12, ["PolicyPassed"], ({"windows"}, True)),
        ("redeploy_server", NIGHT, True, False, 12, ["PolicyNotPassed"], ({"windows"}, False)),
        ("deploy_site", CANARY, True, True, 12, [], ({"waves"}, False)),
        ("deploy_site", LATE, False, False, 12, [], ({"late"}, False)),
        ("redeploy_server", LATE, False, False, 12, [], None),
    ]
)
def test_a_policy_keeps_an_action_to_its_rules_unless_it_is_passed(
    name: str, data: Any, force: bool, may: bool, hour: int, warnings: Sequence[str], kept: Any
) -> None:
    now = datetime(2026, 11, 30, hour, tzinfo=UTC)
    given = replace(case(name, replace(SITE, policy=PolicyInputs(data)), force=force), may_pass_policy=may)
    after = admission.paced(given, desk(rules={"now": lambda: now}))
    policy = after.site.policy
    assert [finding.name for finding in after.warnings] == warnings
    assert (policy and (set(policy.data), policy.passed)) == kept


R1, R2, R3 = ({"rack": name} for name in ("r1", "r2", "r3"))


@every_row(
    [
        # the racks of the targets, whether servers are erased; how many go at a time, None: as many as were asked for
        ({N1: R1, N2: R2, N3: R1}, Wipe.ALL, 2),
        ({N1: R1, N2: R1, N3: R2}, Wipe.ALL, 1),
        ({N1: R1, N2: R2, N3: R3}, Wipe.ALL, None),
        ({N1: R1, N2: R1, N3: R1}, None, None),
    ]
)
def test_as_many_targets_go_at_a_time_as_the_budgets_allow(topology: Any, wipe: Wipe | None, size: int | None) -> None:
    site = replace(SITE, policy=PolicyInputs(RACKS, topology=topology))
    given = case(site=site, targets=(N1, N2, N3), max_parallel_nodes=3).having(wipe=wipe)
    after = admission.batches_fit(given, desk())
    assert [finding.name for finding in after.warnings] == (["PolicySmallerBatches"] if size else [])
    assert after.inputs.max_parallel_nodes == (size or given.inputs.max_parallel_nodes)


GROUPS = {
    "groups": [
        group_entry("a", selectors=[{"node_names": ["n1", "n2"]}]),
        group_entry("b", selectors=[{"node_names": ["n3"]}], depends_on=["a"]),
    ]
}


@every_row(
    [
        # the targets, the servers that are deployed, the limit of the action's drains; the nodes by group, the limit
        ((N1,), [], None, {"a": ["n1"]}, 3600),
        ((N3, N1), [N2], None, {"a": ["n1"], "b": ["n3"]}, 3600),
        ((), [N3], TeardownLimits(drain=60), {"b": ["n3"]}, 60),
        ((), [N1, N2, N3], None, {"a": ["n1", "n2"], "b": ["n3"]}, 3600),
        ((N9,), [N1], None, UnknownNodes, 0),
        ((), [], None, InvalidParameters, 0),
    ]
)
def test_a_service_is_narrowed_to_the_groups_of_its_servers_one_at_a_time(
    targets: Any, deployed: Any, limits: TeardownLimits | None, groups: Any, drain: int
) -> None:
    given = case("service_server", replace(SITE, groups=GROUPS), targets=targets).having(limits=limits)
    after = admission.on_deployed_groups(given, desk(read=deployed))
    if after.refusal is not None:
        assert after.refusal.kind is groups
        return
    configuration = after.site.configuration
    assert {group.name: sorted(group.selectors[0].node_names) for group in after.site.strategy.groups} == groups
    assert configuration.prepare_nodes == PhaseLimits(configuration.drain_interval, drain)
    assert (configuration.mode.max_parallel_groups, configuration.burn_in) == (1, None)
