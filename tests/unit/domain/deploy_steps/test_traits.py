"""Names of traits (contract: Ironic deploy templates, 6)."""

from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName, read_traits, trait_fault
from tests.unit.tables import every_row

GOOD = ("CUSTOM_A", "CUSTOM__", "CUSTOM_1", "CUSTOM_" + "A" * 248, "HW_CPU_X86_VMX", "COMPUTE_TRUSTED_CERTS")
BAD = (
    "CUSTOM_",
    "custom_a",
    "CUSTOM_A-B",
    "CUSTOM_A B",
    "CUSTOM_A\n",
    " CUSTOM_A",
    "CUSTOM_Ä",
    "HW_NONE_SUCH",
    "",
    "CUSTOM_" + "A" * 249,
    None,
    1,
)


@every_row(GOOD)
def test_a_trait(name: str) -> None:
    assert trait_fault(name) is None


@every_row(BAD)
def test_what_is_no_trait(name: object) -> None:
    assert trait_fault(name)


def test_a_list_of_traits() -> None:
    assert read_traits(None, "/x") == (frozenset(), ())
    assert read_traits([], "/x") == (frozenset(), ())
    assert read_traits(["CUSTOM_A", "CUSTOM_B", "CUSTOM_A"], "/x") == ({"CUSTOM_A", "CUSTOM_B"}, ())


def test_every_fault_of_a_list_has_its_place() -> None:
    found, findings = read_traits(["CUSTOM_A", 3, "x"], "/traits")

    assert found == {"CUSTOM_A"}
    assert [(one.path, one.message) for one in findings] == [
        ("/traits/1", "Trait 1 is not text."),
        (
            "/traits/2",
            "Trait 2 'x' is not a trait: write CUSTOM_ followed by capital letters, digits and underscores, or a "
            "standard trait such as HW_CPU_X86_VMX.",
        ),
    ]
    assert [one.message for one in read_traits({"CUSTOM_A": 1}, "/x")[1]] == ["Traits are a list of names."]


def test_missing_traits_are_named_in_order() -> None:
    a, b, c = (TraitName(name) for name in "abc")

    assert NodeTraits(frozenset({b}), frozenset({c, b, a})).missing == (a, c)
