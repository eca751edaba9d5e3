"""Limits of provisioners: every node that breaks one is found, with its level, before anything starts."""

import re

from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import NO_LIMITS, ProvisionerLimits, check_names
from tests.unit.tables import every_row

STRICT = ProvisionerLimits(
    "Fake", longest_name=4, names=re.compile("[a-zA-Z0-9]+"), names_are="of letters", ignores_case=True
)


def names(words: str) -> list[NodeName]:
    return [NodeName(word) for word in words.split()]


@every_row(
    {
        "all-accepted": ("n1 n200", "n1 n200", []),
        "too-long": ("n2000", "n2000", [("NodeNameTooLong", Level.ERROR, ["n2000"])]),
        "not-deployed": ("n2000 n1", "n1", [("NodeNameTooLong", Level.WARNING, ["n2000"])]),
        "by-level": (
            "n3000 n2000 n4000",
            "n2000 n3000",
            [("NodeNameTooLong", Level.ERROR, ["n2000", "n3000"]), ("NodeNameTooLong", Level.WARNING, ["n4000"])],
        ),
        "characters": ("n_1", "n_1", [("NodeNameNotAccepted", Level.ERROR, ["n_1"])]),
        "differ-by-case": ("n1 N1", "n1", [("NodesShareName", Level.ERROR, ["N1", "n1"])]),
        "differ-by-case-not-deployed": ("n1 N1", "", [("NodesShareName", Level.WARNING, ["N1", "n1"])]),
    },
)
def test_each_broken_limit_is_a_finding_about_its_nodes(
    nodes: str, deployed: str, found: list[tuple[str, Level, list[str]]]
) -> None:
    findings = check_names(STRICT, names(nodes), names(deployed))
    assert [(one.name, one.level, [document.name for document in one.documents]) for one in findings] == found
    assert {document.schema for one in findings for document in one.documents} <= {"drydock/BaremetalNode/v1"}


def test_without_limits_every_name_will_do() -> None:
    odd = names("n1 N1 n_1 " + "x" * 300)
    assert check_names(NO_LIMITS, odd, odd) == ()


def test_the_message_names_the_limit_ten_nodes_and_what_to_do() -> None:
    long = names(" ".join(f"n{number:04}" for number in range(12)))
    [finding] = check_names(STRICT, long, long)
    shown = ", ".join(f"{name} (5)" for name in long[:10])
    assert finding.message == (
        f"Fake accepts node names of at most 4 characters. Longer: {shown} and 2 more. "
        "Shorten them: rename these BaremetalNode documents."
    )
    assert len(finding.documents) == 12
