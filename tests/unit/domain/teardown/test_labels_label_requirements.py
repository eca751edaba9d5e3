"""Requirements on labels, as the Kubernetes API defines them."""

from shipyard_api.domain.teardown.labels import NodeFit, NodeTerm, Operator, Requirement
from tests.unit.tables import every_row

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GREATER, LESS = Operator
LABELS = {"role": "control", "cpus": "16"}


@every_row(
    [
        (Requirement("role", IN, ("compute", "control")), True),
        (Requirement("role", IN, ("compute",)), False),
        (Requirement("rack", IN, ("",)), False),
        (Requirement("role", NOT_IN, ("control",)), False),
        (Requirement("role", NOT_IN, ("compute", "edge")), True),
        (Requirement("rack", NOT_IN, ("r1",)), True),
        (Requirement("role", EXISTS), True),
        (Requirement("rack", DOES_NOT_EXIST), True),
        (Requirement("cpus", GREATER, ("8",)), True),
        (Requirement("cpus", LESS, ("17",)), True),
        (Requirement("role", LESS, ("17",)), False),
        (Requirement("rack", GREATER, ("8",)), False),
        (Requirement("cpus", GREATER, ("8", "9")), False),
    ],
)
def test_a_requirement_is_about_one_key(requirement: Requirement, holds: bool) -> None:
    assert requirement.holds(LABELS) is holds


CONTROL, COMPUTE = (Requirement("role", IN, (role,)) for role in ("control", "compute"))
NAMED, OTHER = (Requirement("metadata.name", IN, (name,)) for name in ("n1", "n2"))


@every_row(
    [
        (NodeFit(), True),
        (NodeFit((CONTROL, COMPUTE)), False),
        (NodeFit(affinity=()), False),
        (NodeFit(affinity=(NodeTerm(),)), False),
        (NodeFit(affinity=(NodeTerm((COMPUTE,)), NodeTerm((CONTROL,)))), True),
        (NodeFit(affinity=(NodeTerm((CONTROL,), (NAMED,)),)), True),
        (NodeFit(affinity=(NodeTerm((CONTROL,), (OTHER,)),)), False),
        (NodeFit((COMPUTE,), (NodeTerm((CONTROL,)),)), False),
    ],
)
def test_a_daemon_set_wants_nodes_by_selector_and_by_any_term_of_its_affinity(fit: NodeFit, fits: bool) -> None:
    assert fit.fits("n1", LABELS) is fits
