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


def test_get_actions_of_none_says_none():
    assert lines(action_tables.actions("[]"))[1] == "None"


def test_describe_action_has_all_sections():
    noted = samples.steps("success", "running")
    noted[1]["notes"] = [samples.LINKED_NOTE]
    audit = {"command": "invoke", "user": "admin", "datetime": samples.BEGAN}
    found = samples.action(
        parameters={"continue-on-fail": "true"}, steps=noted[:3], command_audit=[audit], notes=[samples.NOTE]
    )
    assert lines(action_tables.action(json.dumps(found))) == [
        "Name:                  deploy_site",
        f"Action:                action/{ID}",
        "Lifecycle:             Processing",
        "Parameters:            {'continue-on-fail': 'true'}",
        f"Datetime:              {samples.BEGAN}",
        "Dag Status:            running",
        f"Context Marker:        {samples.MARKER}",
        "User:                  admin",
        "",
        "Steps                                                    Index        State          Footnotes",
        f"step/{ID}/action_xcom              1            success",
        f"step/{ID}/concurrency_check        2            running        (1)",
        f"step/{ID}/preflight                3            None",
        "",
        "Step Footnotes        Note",
        "(1)                   > step metadata:drydock_build.verify_site(2026-11-21 01:23:55.750615+00:00): "
        "Tasks of Drydock",
        "                        - Info available with 'describe notedetails/01M7XV7VQ699PKH9NSP94EWGTC'",
        "",
        "Commands        User         Datetime",
        f"invoke          admin        {samples.BEGAN}",
        "",
        "Validations: None",
        "",
        "Action Notes:",
        f"> action metadata:{ID}(2026-11-21 01:23:55.750615+00:00): Configdoc revision 5",
        "",
    ]


def test_describe_action_shows_validations():
    one = {"id": "V1", "action_id": ID, "validation_name": "some check", "details": "it failed"}
    text = str(action_tables.action(json.dumps(samples.action(validations=[one]))))
    assert f"Validations: some check : validation/{ID}/V1\n\nit failed\n" in text


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
