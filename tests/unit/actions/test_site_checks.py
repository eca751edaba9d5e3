"""What a site action checks first: the findings of each check, for every answer that it may get."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from shipyard_api.actions.catalog import ACTIONS, catalog
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_steps import CONFIGURATION, VALIDATE_DOCUMENTS, RetryPolicy
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.findings import Finding, error, errors, info, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.state.actions import RunningSiteAction
from tests.factories import document, node, node_document
from tests.fakes.clock import FakeClock
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.domain.test_site_design import SCHEMAS, configuration, rendered
from tests.unit.tables import every_row

SECRET = "hunter2-of-the-site"
BAD, ODD = error("Bad", "a group has no name"), warning("Odd", "a group has no nodes")
INPUTS = SiteInputs(3, DeploymentConfiguration(), None)
NAMED = SiteInputs(3, DeploymentConfiguration("by-rack"), {"groups": []})
A = ActionId("A")
CLOCK = FakeClock()
SYSTEMS, RETRY = Systems(FakeProvisioner([], now=CLOCK.now)), RetryPolicy()
PHRASE = "deckhand/Passphrase/v1"
DESIGN = Rendering(
    (
        RenderedDocument(
            Document(PHRASE, "p", "site", document(PHRASE, "p", SECRET)["metadata"], SECRET),
            Collection("design"),
            Revision(3),
            secret=True,
        ),
    )
)


def checks(
    *,
    read: tuple[SiteInputs | None, tuple[Finding, ...]] = (INPUTS, ()),
    running: RunningSiteAction | None = None,
    nodes: int = 0,
    design: Rendering | Exception = DESIGN,
    promenade: Any = None,
) -> SiteChecks:
    """The checks of a design that is read so, and may not be there, beside a running action and a provisioner."""

    def rendered(_revision: Revision) -> Rendering:
        if isinstance(design, Exception):
            raise design
        return design

    actions = SimpleNamespace(running_site_action=lambda _nodes: running)
    store: Any = SimpleNamespace(begin=lambda: nullcontext(SimpleNamespace(actions=actions)))
    rules: Any = SimpleNamespace(read_configuration=lambda *_: read)
    provisioner = FakeProvisioner([node(f"n{number}") for number in range(nodes)], now=CLOCK.now)
    systems = Systems(provisioner, promenade=promenade)
    return SiteChecks(store, ActionDesigns(cast(Any, None), rendered), systems, rules, lambda *_: read)


def limits(strategy: str) -> Finding:
    text = f"revision 3, strategy {strategy}; a group may take 1800 s to prepare and 3600 s to deploy"
    return info("DeploymentConfigured", text)


@every_row(
    [
        (INPUTS, (), [limits("all at once")], [info("ConfigurationFound", "revision 3 is configured")]),
        (NAMED, (ODD,), [limits("by-rack")], [info("ConfigurationFound", "revision 3 is configured")]),
        (INPUTS, (ODD, BAD), [ODD, BAD], [info("ConfigurationFound", "revision 3 is configured")]),
        (None, (BAD,), [BAD], [BAD]),
    ]
)
def test_limits_and_strategy_are_shown_unless_the_design_has_errors(
    inputs: SiteInputs | None, found: tuple[Finding, ...], shown: list[Finding], configuration: list[Finding]
) -> None:
    read = checks(read=(inputs, found))
    assert list(read.site_is_configured(3)) == shown
    assert list(read.configuration_exists(3)) == configuration
    assert list(read.documents_are_sound(3)) == list(found)


def test_without_a_committed_revision_there_is_no_configuration() -> None:
    (found,) = checks().configuration_exists(0)
    assert (found.name, found.level) == ("NoCommittedConfigdocs", BAD.level)


NO_REVISION = error("RevisionNotFound", "there is no revision 3")


@every_row([(RenderingFailed(3, [BAD, ODD]), [BAD, ODD]), (UnknownRevision(3), [NO_REVISION])])
def test_a_design_that_is_not_there_or_cannot_be_rendered_is_what_every_check_finds(
    design: Exception, found: list[Finding]
) -> None:
    lost = checks(design=design, promenade=lambda _: [])
    for check in (
        lost.site_is_configured,
        lost.configuration_exists,
        lost.documents_are_sound,
        lost.provisioner_accepts_design,
        lost.promenade_accepts_design,
    ):
        assert list(check(3)) == found, check


@every_row(
    [
        (None, error("SiteActionNotRunning", "No site action holds the site, although this one runs.")),
        (
            RunningSiteAction(A, ActionName("deploy_site")),
            info("SiteActionAlone", "deploy_site A is the only site action"),
        ),
        (
            RunningSiteAction(A, ActionName("redeploy_server"), (NodeName("n1"), NodeName("n2"))),
            info("SiteActionAlone", "redeploy_server A is the only site action on n1, n2"),
        ),
    ]
)
def test_the_action_that_holds_the_site_is_named(running: RunningSiteAction | None, found: Finding) -> None:
    alone = checks(running=running)
    assert [*alone.no_other_site_action(3)] == [*alone.no_other_action_on([NodeName("n1")])(3)] == [found]


@every_row([(0, "NoNodesKnown"), (1, "NodesKnown"), (2, "NodesKnown")])
def test_a_provisioner_that_knows_no_machine_may_have_lost_its_data(nodes: int, name: str) -> None:
    (found,) = checks(nodes=nodes).provisioner_knows_nodes(3)
    assert found.name == name
    assert nodes == 0 or f"knows {nodes} machines" in found.message


def test_a_peer_quotes_no_secret_of_the_design() -> None:
    asked: list[int] = []

    def quoting(revision: int) -> list[Finding]:
        asked.append(revision)
        return [error("Bad", f"the phrase {SECRET} is weak")]

    def failing(_revision: int) -> list[Finding]:
        raise Unavailable("Promenade", "validate", f"cannot read {SECRET}")

    (found,) = checks(promenade=quoting).promenade_accepts_design(3)
    with pytest.raises(Unavailable) as refused:
        checks(promenade=failing).promenade_accepts_design(3)
    (absent,) = checks().promenade_accepts_design(3)

    assert asked == [3]
    assert "the phrase" in found.message
    assert SECRET not in f"{found} {refused.value} {refused.value.detail}"
    assert absent.name == "PromenadeNotConfigured"


@every_row([action.name for action in ACTIONS if action.reads])
def test_the_first_steps_of_an_action_judge_only_what_its_admission_reads(name: ActionName) -> None:
    policy = {"budgets": [{"name": "none", "max_unavailable": 0}]}  # committed with force
    design = rendered(configuration(physical_provisioner={"policy": policy}), node_document("n1"))
    made = catalog(
        cast(Any, None), ActionDesigns(cast(Any, None), lambda _: design), SYSTEMS, DesignRules(SCHEMAS.check), RETRY
    )
    steps = made[name].steps(ActionInputs(action=ActionId(A), site=replace(INPUTS, targets=(NodeName("n1"),))))

    found = [finding for step in (CONFIGURATION, VALIDATE_DOCUMENTS) for finding in steps[step].ask(3)]

    faults = ["PolicyBudgetAllowsNothing"] * 2 if Rule.BUDGETS in ACTIONS[name].rules else []
    assert [finding.name for finding in errors(found)] == faults
