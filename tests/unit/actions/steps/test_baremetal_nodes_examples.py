"""The three examples of seed 000 through the step that deploys nodes: the same bytes with each rule of a policy off."""

import json
from itertools import count
from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.job_watch import Submitted
from shipyard_api.actions.steps.rollout_messages import Answers, Members, SelectMembers
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.facts.codec import encode
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.ports.provisioner import JobId
from shipyard_api.workflow.step import Act, Look
from tests.conftest import ROOT
from tests.factories import (
    document,
    five_groups_data,
    five_groups_inventory,
    five_groups_strategy,
    layering_policy,
    node_document,
    strategy_document,
)
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, ended, reread
from tests.unit.tables import every_row

RULES = DesignRules(SchemaFiles(ROOT / "schemas").check)
# The nodes that fail, by the beginning of phase and name.
EXAMPLES = {"all succeed": "none", "ntp fails its preparation": "prepare ntp", "a rack fails": "deploy compute2"}
OFF: dict[str, dict[str, Any]] = {
    "no waves": {"waves": []},
    "no budgets": {"budgets": []},
    "always open": {"windows": {"open": [{"zone": "UTC", "start": "00:00", "minutes": 1440}]}},
}


def design(section: dict[str, Any]) -> Rendering:
    """Return the design of the examples with this section for the provisioner."""
    data = {"armada": {"manifest": "full-site"}, "physical_provisioner": section}
    nodes = five_groups_inventory().nodes.values()
    documents, faults = parse_documents(
        [
            layering_policy(),
            document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", data),
            strategy_document(*five_groups_data()["groups"]),
            *(node_document(node.name, rack=node.rack, tags=sorted(node.tags)) for node in nodes),
        ]
    )
    assert faults == ()
    rendering, _ = render([StoredDocument(one, Collection("c"), Revision(1)) for one in documents], DataSchemas())
    assert rendering is not None
    return rendering


def played(section: dict[str, Any], fails: str) -> list[Any]:
    """Play an example to its end, and return what the step sends, journals, stores and waits for, in order."""
    inputs, _ = RULES.read(Revision(1), design(section))
    members = {group.name: select(group.selectors, five_groups_inventory()) for group in five_groups_strategy().groups}
    state = STEP.begin(ActionInputs.from_json(inputs.to_json()))
    folded = STEP.fold(state, SelectMembers(state.inputs), Members(members), T0)
    entries: list[Any] = []
    for second in count(10, 10):
        facts = [{fact.kind: encode(fact)} for fact in folded.facts]
        entries += [facts, str(folded.wait_until), folded.state.to_json()]
        state, now = reread(folded.state), at(second)
        decision = STEP.decide(state, now)
        match decision:
            case Act(effect):
                entries.append(effect.to_json())
                folded = STEP.fold(state, effect, Submitted(JobId(f"job-{second}")), now)
            case Look(question):
                (move,), (job,) = state.rollout.running, question.jobs
                lost = [node for node in move.nodes if f"{move.phase.value} {node}".startswith(fails)]
                good = [node for node in move.nodes if node not in lost]
                report = ended(job, " ".join(good), " ".join(lost), **dict.fromkeys(lost, "no power"))
                folded = STEP.fold(state, question, Answers({job: report}, None), now)
            case end:
                return [*entries, str(end)]
    raise AssertionError("it never ends")


def written(entries: list[Any], *left_out: str) -> bytes:
    """Return the entries as bytes, without these fields of the stored state."""
    kept = [
        {name: value for name, value in one.items() if name not in left_out} if isinstance(one, dict) else one
        for one in entries
    ]
    return json.dumps(kept).encode()


@every_row(EXAMPLES)
def test_the_examples_of_the_seed_are_the_same_bytes_with_each_rule_off(fails: str) -> None:
    plain = played({}, fails)

    assert plain[-1].startswith("Failed" if fails == "prepare ntp" else "Done")
    assert written(played({"policy": {}}, fails)) == written(plain)
    own = ("v", "fixed", "policy")  # what the policy was is stored
    for section in OFF.values():
        assert written(played({"policy": section}, fails), *own) == written(plain, *own)
