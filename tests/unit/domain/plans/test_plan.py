"""What a signature covers, how two plans differ, and whose signatures count."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.holds import Hold, HoldId, HoldKind
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.plans.plan import PlanContent, PlanId, Signature, StoredPlan, check_signature, same_name
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 26, tzinfo=UTC)
NODES = {"nodes": {"n1": "", "n2": ""}, "holds": {}}


def content(**parts: Any) -> PlanContent:
    return PlanContent.of(**{**NODES, **parts})


def test_equal_content_has_an_equal_digest_whatever_the_order() -> None:
    one, other = content(revision=1, limits={"a": 1, "b": (2,)}), content(limits={"b": [2], "a": 1}, revision=1)

    assert one.digest == other.digest
    assert one.differences(other) == []
    assert len(one.digest) == 64
    assert one.digest != content(revision=2, limits={"a": 1, "b": [2]}).digest


def test_statuses_and_holds_are_part_of_the_content() -> None:
    hold = Hold(HoldId("h"), NodeName("n2"), HoldKind.HARDWARE, "disk", "ann", NOW)

    found = content().at({NodeName("n1"): NodeStatus.SUCCESS}, [hold])

    assert found.parts["nodes"] == {"n1": "success", "n2": "not_started"}
    assert content().at({}, []).differences(found) == [
        "nodes n1: was not_started, is success.",
        "holds n2: held (hardware) by ann: disk is new.",
    ]


@every_row(
    {
        "nothing": (1, 1, []),
        "a value": (1, 2, ["x: was 1, is 2."]),
        "a value inside": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}}, ["x a b: was 1, is 3."]),
        "members": (["n1", "n2"], ["n3"], ["x: n3 is new; n1, n2 are gone."]),
        "the order": (["n1", "n2"], ["n2", "n1"], ["x: the order has changed."]),
        "a long value": ("a" * 90, "b", [f"x: was {'a' * 80}…, is b."]),
        "many": (
            {},
            {f"{number:02}": 1 for number in range(12)},
            [*(f"x {number:02}: 1 is new." for number in range(10)), "x: 2 more differences."],
        ),
    },
)
def test_each_difference_is_a_sentence(before: Any, now: Any, said: list[str]) -> None:
    assert content(x=before).differences(content(x=now)) == said


def test_a_part_that_only_one_of_two_has_is_a_difference() -> None:
    assert content(policy={"a": 1}).differences(content(labels={"n1": 1})) == [
        'policy: {"a": 1} is gone.',
        'labels: {"n1": 1} is new.',
    ]


ANN, BOB = Signature("ann", "1", NOW), Signature("bob", "2", NOW, "as discussed")


@every_row(
    {
        "of others": ("eve", "9", (ANN, BOB)),
        "not his own": ("ann", "1", (BOB,)),
        "nor that of his other token": ("ann", "7", (BOB,)),
        "nor that of his name in another case": ("ANN ", "7", (BOB,)),
        "nor one that may be": ("bob", "1", ()),
    },
)
def test_a_signature_of_the_starter_does_not_count(user: str, key: str, counted: tuple[Signature, ...]) -> None:
    plan = StoredPlan(
        id=PlanId("p"),
        name=ActionName("deploy_site"),
        digest="0",
        content=content(),
        request={},
        shown={},
        stored_by="ann",
        key="1",
        stored_at=NOW,
        signatures=(ANN, BOB),
    )

    assert tuple(plan.signed_for(user, key)) == counted
    assert Signature.from_json(BOB.to_json()) == BOB
    assert str(plan) == "plan p (hash 0), stored by ann, approved by ann, bob"


@every_row(
    {
        "sound": ({"hash": "0"}, []),
        "no hash": ({}, ["NoHash"]),
        "another field": ({"hash": 1, "approve": True}, ["UnknownField", "NoHash"]),
        "a long reason": ({"hash": "0", "reason": "x" * 1001}, ["NoText"]),
        "a hidden character": ({"hash": "0", "reason": "\x1b[2J"}, ["HiddenCharacter"]),
    },
)
def test_the_body_of_an_approval(written: dict[str, Any], names: list[str]) -> None:
    assert [finding.name for finding in check_signature(written)] == names


def test_a_secret_is_covered_and_neither_it_nor_its_key_shows() -> None:
    def sealed(secret: str, salt: str = "key") -> PlanContent:
        return PlanContent.of({"values of the run": secret}, **NODES).keyed(salt)

    one, other = sealed("hunter22"), sealed("swordfish")

    assert one.digest == sealed("hunter22").digest
    assert one.digest != other.digest
    assert one.differences(other) == ["values of the run has changed."]
    assert one.differences(content().keyed("key")) == ["values of the run has changed."]
    assert (one.salt, content().salt) == ("key", "")
    assert "hunter22" not in repr(one)
    # Under another key nothing can be said.
    assert one.differences(sealed("hunter22", "another")) == []


@every_row(
    {
        "the same subject under another name": ("ann (oidc:1)", "eve (oidc:1)", True),
        "the same name of another subject": ("ann (oidc:1)", "ann (oidc:2)", False),
        "a name that imitates a subject": ("eve (oidc:1) (oidc:2)", "ann (oidc:1)", False),
        "one that imitates, and itself": ("eve (oidc:1) (oidc:2)", "eve (oidc:2)", True),
        "a subject and a token of the same name": ("Ann (oidc:1)", "ann", True),
        "a subject and a token of another name": ("ann (oidc:1)", "eve", False),
        "two without names": ("(oidc:1)", "(oidc:2)", False),
    }
)
def test_between_persons_of_a_provider_the_subject_decides(one: str, other: str, is_same: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is is_same
