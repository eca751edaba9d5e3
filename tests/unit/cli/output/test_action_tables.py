"""Tables of actions, steps and workflows: what scripts read (contract: shipyard-cli, 5.4 and 6)."""

import json

from shipyard_api.cli.output import action_tables
from tests.unit.cli import samples
from tests.unit.cli.printed import lines
from tests.unit.cli.samples import ID, RUN, WORKFLOW
from tests.unit.tables import every_row


def test_get_actions_sorts_by_id_and_explains_footnotes():
    first = samples.action(
        "Failed",
        steps=samples.steps("success", "success", "failed", None),
        notes=[samples.NOTE, samples.LINKED_NOTE],
    )
    later = samples.action("Complete", id=f"{ID[:-1]}Q", steps=samples.steps(*["success"] * 11))
    text = action_tables.actions(json.dumps([later, first]))
    linked = "> step metadata:drydock_build.verify_site(2026-11-21 01:23:55.750615+00:00): Tasks of Drydock"
    assert lines(text) == [
        "Name               Action                                   Lifecycle        Execution Time"
        "                     Step Succ/Fail/Oth        Footnotes",
        f"deploy_site        action/{ID}        Failed           2026-11-21T01:23:55.745506Z"
        "        2/1/8                     (1)",
        f"deploy_site        action/{ID[:-1]}Q        Complete         2026-11-21T01:23:55.745506Z        11/0/0",
        "",
        "Action Footnotes        Note",
        f"(1)                     > action metadata:{ID}(2026-11-21 01:23:55.750615+00:00): Configdoc revision 5",
        f"                        {linked}",
        "                          - Info available with 'describe notedetails/01M7XV7VQ699PKH9NSP94EWGTC'",
    ]


FIELDS = ("sub_type", "subject", "note_timestamp", "note_val", "resolved_url_value", "note_id")


@every_row(FIELDS)
def test_a_note_without_one_of_its_six_fields_is_unparseable(lacking):
    note = {name: "" for name in FIELDS if name != lacking}
    assert action_tables.note_texts([note]) == [f"!!! Unparseable Note: {note}"]


def test_a_note_that_is_no_object_does_not_break_the_others():
    good = dict.fromkeys(FIELDS, "")
    assert action_tables.note_texts(["x", None, good]) == [
        "!!! Unparseable Note: x",
        "!!! Unparseable Note: None",
        "> :(): ",
    ]


def test_subworkflows_are_a_block_of_lines_each():
    below = [WORKFLOW | {"workflow_id": f"{RUN}.{name}", "steps": None} for name in ("a", "b")]
    text = lines(action_tables.workflow(json.dumps({**WORKFLOW, "steps": [], "sub_dags": below})))
    start = text.index("Subworkflows:")
    assert text[start - 3 : start] == ["Steps        State", "None", ""]
    assert [line for line in text[start:] if line.startswith(("Workflow:", "Sub"))] == [
        "Subworkflows:",
        f"Workflow:                {RUN}.a",
        f"Workflow:                {RUN}.b",
    ]
    assert text[start + 1] == ""
    assert text[start + 9] == ""
