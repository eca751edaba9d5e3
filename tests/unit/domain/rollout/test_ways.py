"""The ways of nodes: their phases, and which of them is the job of a stage (ADR 0049)."""

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.rollout.ways import Way
from tests.unit.tables import every_row

ROWS = {
    Way.NEW: ("prepare", "prepare", "deploy join accept", "deploy"),
    Way.PRESERVING: ("prepare", "prepare", "deploy join accept", "deploy"),
    Way.REBUILD: ("", None, "rebuild join accept", "rebuild"),
    Way.SERVICE: ("drain", "drain", "service uncordon join accept", "service"),
    Way.POWER_CYCLE: ("drain", "drain", "power cycle join uncordon accept", "power cycle"),
    Way.POWER_CYCLE_UNDRAINED: ("", None, "power cycle join uncordon accept", "power cycle"),
    Way.REINSTALL: ("drain etcd kubelet destroy leave prepare", "prepare", "deploy join accept", "deploy"),
}


@every_row([(way, *ROWS[way]) for way in Way])
def test_a_way_has_two_stages_each_with_one_job(
    way: Way, first: str, prepares: str | None, second: str, deploys: str
) -> None:
    assert " ".join(phase.value for phase in way.phases) == f"{first} {second}".strip()
    jobs = [job and job.value for job in (way.job(Phase.PREPARE), way.job(Phase.DEPLOY))]
    assert jobs == [prepares, deploys]
    assert (way.takes_down, way.installs) == ("destroy" in first, prepares == "prepare")
    assert way.stays is ("uncordon" in second)
    uncordons = [way.uncordons(joins=joins) for joins in (True, False)]
    assert uncordons == [way is Way.SERVICE, way.stays]
