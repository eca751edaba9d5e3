"""What holds for the deploy steps of every node, whatever templates and traits it has (seed 003)."""

from hypothesis import given, settings
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


@settings(max_examples=2 * settings.default.max_examples)
@given(sites(), st.randoms())
def test_every_node_runs_what_was_requested_and_nothing_that_is_disabled_in_one_stable_order(site, random) -> None:  # type: ignore[no-untyped-def]
    traits, templates, supported = site
    planned = plan_node(NODE, traits, templates, supported)

    assert plan_node(NODE, traits, random.sample(templates, len(templates)), supported) == planned
    requested = [(one.name, step) for one in templates if one.name in traits.requested for step in one.steps]
    judge_order(planned, supported)
    judge_disabled(planned, supported, {step.key for _, step in requested if step.priority == 0})
    if errors(planned.findings):
        assert planned.steps == ()
        return
    running = [(one.template, DeployStep(one.interface, one.step, one.args, one.priority)) for one in planned.steps]
    asked = [(name, step) for name, step in requested if step.priority > 0]
    assert sorted(map(repr, asked)) == sorted(repr(one) for one in running if one[0])
    assert supported.repeats or len({one.key for one in planned.steps}) == len(planned.steps)
    # Traits that are not requested change nothing but findings.
    only = plan_node(NODE, NodeTraits(traits.requested, traits.requested), templates, supported)
    assert planned.steps == only.steps


def judge_order(planned: NodeSteps, supported: SupportedSteps) -> None:
    """By priority, then interface, then default steps as the provisioner has them, then templates by name."""
    order = [(-one.priority, list(Interface).index(one.interface)) for one in planned.steps]
    assert order == sorted(order)
    by_default = {one.key: place for place, one in enumerate(supported.steps)}
    for before, after in zip(planned.steps, planned.steps[1:], strict=False):
        if (before.priority, before.interface) == (after.priority, after.interface):
            assert (before.template or "") <= (after.template or "")
            if before.template is None and after.template is None:
                assert by_default[before.key] < by_default[after.key]
    core = {one.key: one.priority for one in supported.steps if one.core}
    usual = [one.key for one in plan_node(NODE, NodeTraits(), [], supported).steps if one.key in core]
    running = [one for one in planned.steps if one.key in core]
    assert all(one.template is None and one.priority == core[one.key] for one in running)
    assert [one.key for one in running] == [key for key in usual if key in {one.key for one in running}]


def judge_disabled(planned: NodeSteps, supported: SupportedSteps, disabled: set[StepKey]) -> None:
    """What is disabled, or off by default and in no template, never runs."""
    assert all(one.priority > 0 for one in planned.steps)
    assert not disabled & {one.key for one in planned.steps}
    off = {one.key for one in supported.steps if one.priority == 0}
    assert all(one.template for one in planned.steps if one.key in off)
