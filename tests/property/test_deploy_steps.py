"""What holds for the deploy steps of every node, whatever templates and traits it has (seed 003)."""

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.deploy_steps.merge import NodeSteps, plan_node
from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface, StepKey
from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName

NODE = NodeName("n")
NAMES = [TraitName(f"CUSTOM_{letter}") for letter in "ABCD"]

keys = st.builds(StepKey, st.sampled_from(Interface), st.sampled_from("abc"))
priorities = st.sampled_from([0, 0, 1, 20, 50, 100])
steps_offered = st.lists(
    st.builds(
        lambda key, priority, core: SupportedStep(key.interface, key.step, priority, {"x": False}, core=core),
        keys,
        priorities,
        st.booleans(),
    ),
    unique_by=lambda one: one.key,
    min_size=1,
    max_size=12,
)
offers = st.builds(lambda steps, repeats: SupportedSteps(tuple(steps), repeats=repeats), steps_offered, st.booleans())


@st.composite
def sites(draw: st.DrawFn) -> tuple[NodeTraits, list[DeployTemplate], SupportedSteps]:
    """Templates that mostly ask for what the node supports, so that most plans have no error."""
    supported = draw(offers)
    asked = st.builds(
        lambda one, args, priority: DeployStep(one.interface, one.step, args, 0 if one.core else priority),
        st.sampled_from(supported.steps),
        st.dictionaries(st.just("x"), st.integers(0, 3)),
        priorities,
    )
    odd = st.builds(lambda key, priority: DeployStep(key.interface, key.step, {}, priority), keys, priorities)
    wanted = st.lists(st.one_of(asked, asked, asked, asked, odd), min_size=1, max_size=2, unique_by=lambda one: one.key)
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    templates = [DeployTemplate(name, tuple(draw(wanted))) for name in names]
    has = frozenset(draw(st.sets(st.sampled_from(NAMES))))
    requested = frozenset(name for name in has if draw(st.booleans()))
    return NodeTraits(has, requested), templates, supported


def plan(site: tuple[NodeTraits, list[DeployTemplate], SupportedSteps]) -> NodeSteps:
    traits, templates, supported = site
    return plan_node(NODE, traits, templates, supported)


@given(sites(), st.randoms())
def test_the_order_is_total_and_stable(site, random) -> None:  # type: ignore[no-untyped-def]
    traits, templates, supported = site
    planned = plan(site)
    shuffled = random.sample(templates, len(templates))

    assert plan_node(NODE, traits, shuffled, supported) == planned
    order = [(-one.priority, list(Interface).index(one.interface)) for one in planned.steps]
    assert order == sorted(order)
    # Ties: default steps as the provisioner has them, then templates by name, each as written.
    by_default = {one.key: place for place, one in enumerate(supported.steps)}
    for before, after in zip(planned.steps, planned.steps[1:], strict=False):
        if (before.priority, before.interface) == (after.priority, after.interface):
            assert (before.template or "") <= (after.template or "")
            if before.template is None and after.template is None:
                assert by_default[before.key] < by_default[after.key]


@given(sites())
def test_a_disabled_step_never_runs(site) -> None:  # type: ignore[no-untyped-def]
    traits, templates, supported = site
    planned = plan(site)
    disabled = {
        step.key for one in templates if one.name in traits.requested for step in one.steps if step.priority == 0
    }

    assert all(one.priority > 0 for one in planned.steps)
    assert not disabled & {one.key for one in planned.steps}
    off = {one.key for one in supported.steps if one.priority == 0}
    assert all(one.template for one in planned.steps if one.key in off)


@given(sites())
def test_core_steps_keep_their_order_and_their_priority(site) -> None:  # type: ignore[no-untyped-def]
    supported = site[2]
    core = {one.key: one.priority for one in supported.steps if one.core}
    usual = [one.key for one in plan_node(NODE, NodeTraits(), [], supported).steps if one.key in core]

    running = [one for one in plan(site).steps if one.key in core]

    assert all(one.template is None and one.priority == core[one.key] for one in running)
    assert [one.key for one in running] == [key for key in usual if key in {one.key for one in running}]


@given(sites())
def test_everything_requested_runs_or_there_is_an_error(site) -> None:  # type: ignore[no-untyped-def]
    traits, templates, supported = site
    planned = plan(site)
    asked = [
        (one.name, step) for one in templates if one.name in traits.requested for step in one.steps if step.priority > 0
    ]

    if errors(planned.findings):
        assert planned.steps == ()
        return
    running = [(one.template, DeployStep(one.interface, one.step, one.args, one.priority)) for one in planned.steps]
    assert sorted(map(repr, asked)) == sorted(repr(one) for one in running if one[0])
    assert supported.repeats or len({one.key for one in planned.steps}) == len(planned.steps)


@given(sites())
def test_traits_that_are_not_requested_change_nothing_but_findings(site) -> None:  # type: ignore[no-untyped-def]
    traits, templates, supported = site
    planned = plan(site)
    only = plan_node(NODE, NodeTraits(traits.requested, traits.requested), templates, supported)

    if not errors(planned.findings):
        assert planned.steps == only.steps
