"""Which work of earlier actions is in the way of a new one."""

from datetime import UTC, datetime

from shipyard_api.actions.beside import refuse_stragglers
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import WorkUnderWay
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, Operation, Work
from shipyard_api.ports.state.nodes import Straggler
from tests.refusals import refuses
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def straggler(job: str, *nodes: NodeName) -> Straggler:
    work = Work(Operation.DEPLOY_NODES, "design/3", nodes or None)
    return Straggler(ActionId("a"), JobId(job), work, "its time was up", datetime(2026, 11, 30, tzinfo=UTC))


FIRST, SECOND, ALL = straggler("j-1", N1), straggler("j-2", N2, N3), straggler("j-3")


@every_row(
    [
        ([], {N1}, (), None),
        ([FIRST, SECOND], {N1}, (), "j-1"),
        ([FIRST, SECOND], {N2}, (), "j-2"),  # the first of them is on another node
        ([FIRST, SECOND], None, (), "j-1"),
        ([FIRST, SECOND], None, (N1,), "j-2"),
        ([FIRST], {N2}, (), None),
        ([FIRST], {N1}, (N1,), None),
        ([ALL], {N1}, (), "j-3"),
    ]
)
def test_work_is_in_the_way_on_its_own_nodes(
    stragglers: list[Straggler], nodes: set[NodeName] | None, but: tuple[NodeName, ...], job: str | None
) -> None:
    if job is None:
        refuse_stragglers(stragglers, nodes, except_nodes=frozenset(but))
        return
    with refuses(WorkUnderWay) as refused:
        refuse_stragglers(stragglers, nodes, except_nodes=frozenset(but))
    assert refused.value.data["job"] == job
