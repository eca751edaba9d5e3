"""What a template can hold (contract: Ironic deploy templates, 6)."""

from typing import Any

from shipyard_api.domain.deploy_steps.templates import HIGHEST_PRIORITY, DeployStep, Interface, read_steps
from tests.unit.tables import every_row

INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")
STEP = {"interface": "raid", "step": "apply_configuration", "args": {}, "priority": 10}


def step(**changed: Any) -> dict[str, Any]:
    return {key: value for key, value in (STEP | changed).items() if value is not ...}


@every_row(INTERFACES)
def test_an_interface_that_has_deploy_steps(interface: str) -> None:
    (read,), findings = read_steps([step(interface=interface)])

    assert (read.interface.value, findings) == (interface, ())


@every_row(
    [
        (0, 0),
        (1.0, 1),
        ("7", 7),
        ("007", 7),
        (HIGHEST_PRIORITY, HIGHEST_PRIORITY),
    ],
)
def test_a_priority(written: object, number: int) -> None:
    (read,), _ = read_steps([step(priority=written)])

    assert (read.priority, type(read.priority)) == (number, int)


@every_row(
    [
        (None, "steps is not a list."),
        ("[]", "steps is not a list."),
        ([], "steps is empty: a template has at least one step."),
        ([1], "steps[0] is not an object."),
        ([step(interface=...)], "steps[0] has no interface."),
        ([step(step=..., args=...)], "steps[0] has no step, args."),
        ([step(x=1)], "steps[0] has the unknown key x; a step has interface, step, args, priority."),
        *(
            (
                [step(interface=one)],
                f"steps[0] has the interface {str(one)!r}; write one of {', '.join(INTERFACES)}.",
            )
            for one in ("network", "boot", "inspect", "rescue", "console", "storage", "RAID", "", None, [], 1)
        ),
        *(
            ([step(step=one)], "steps[0] needs a step that is text of 1 to 255 characters.")
            for one in ("", None, 1, "s" * 256)
        ),
        *(
            ([step(args=one)], "steps[0] needs args that are an object; write {} for none.")
            for one in (None, [], "", 1)
        ),
        *(
            ([step(priority=one)], f"steps[0] needs a priority from 0 (does not run) to {HIGHEST_PRIORITY}.")
            for one in (
                True,
                None,
                1.5,
                -1,
                "",
                "٣",
                2**31,
                float("inf"),
                float("nan"),
                [],
            )
        ),
        (
            [step(), step()],
            "Duplicate deploy steps: steps[0] and steps[1] are both raid.apply_configuration; ask for it once.",
        ),
        (
            [step(), step(args={"a": 1}, priority=0)],
            "Duplicate deploy steps: steps[0] and steps[1] are both raid.apply_configuration; ask for it once.",
        ),
    ],
)
def test_steps_that_are_refused(written: object, message: str) -> None:
    steps, findings = read_steps(written)

    assert (steps, [one.message for one in findings]) == ((), [message])


def test_every_fault_is_found_with_its_place() -> None:
    _, findings = read_steps([step(), step(interface="boot", step="b", args=None, priority=-1), 3], "/a")

    assert [one.path for one in findings] == ["/a/1"] * 3 + ["/a/2"]


def test_one_step_name_on_two_interfaces_is_two_steps() -> None:
    steps, findings = read_steps([step(), step(interface="bios")])

    assert ([str(one.key) for one in steps], findings) == (["raid.apply_configuration", "bios.apply_configuration"], ())


def test_a_step_is_written_as_it_was_read() -> None:
    written = step(args={"b": [1, {"a": None}]}, priority="3")

    assert read_steps([written])[0][0].to_json() == written | {"priority": 3}
    assert DeployStep(Interface.BIOS, "x", {}, 0).to_json() == step(interface="bios", step="x", priority=0)
