"""Who is secret, and what is shown of those who are."""

import hashlib
import json
from typing import Any

from shipyard_api.domain.documents import parse_documents, redacted, scrubbed, secret_keys
from shipyard_api.domain.findings import DocumentRef, Finding, error
from tests.designs import KIND, POLICY, in_layer, rendered, stored, taking
from tests.factories import document
from tests.unit.tables import every_row

SECRET = in_layer("site", "secret", {"v": "hush", "w": {"x": 1}}, storagePolicy="encrypted", labels={"s": "s"})
PARENT = {"role": "parent"}


def secrets(*entries: dict[str, Any]) -> set[str]:
    """Return the names of those who are secret; every way to ask must give the same answer."""
    design = rendered(*entries)
    found = {name for name, one in design.items() if one.secret}
    known = {name for schema, name in secret_keys([one.document for one in stored(POLICY, *entries)]) if schema == KIND}
    assert found == known & design.keys()
    return known


def take(name: str, source: str, path: str = ".v", layer: str = "site", **more: Any) -> dict[str, Any]:
    return in_layer(layer, name, {"t": "X"}, substitutions=[taking(source, path, ".v")], **more)


TAINT = {
    "encrypted": ([SECRET, in_layer("site", "other")], {"secret"}),
    "by substitution": ([SECRET, take("user", "secret")], {"secret", "user"}),
    "by a chain of substitutions": (
        [SECRET, take("user", "secret"), take("next", "user"), take("last", "next")],
        {"secret", "user", "next", "last"},
    ),
    "by a pattern": (
        [
            SECRET,
            in_layer(
                "site", "user", {"t": "X"}, substitutions=[taking("secret", ".v", {"path": ".t", "pattern": "X"})]
            ),
        ],
        {"secret", "user"},
    ),
    "by a pattern that did not match": (
        [
            SECRET,
            in_layer(
                "site", "user", {"t": "Y"}, substitutions=[taking("secret", ".v", {"path": ".t", "pattern": "X"})]
            ),
        ],
        {"secret", "user"},
    ),
    "others stay open": (
        [SECRET, in_layer("global", "open", {"v": 1}), take("user", "open"), take("user2", "secret")],
        {"secret", "user2"},
    ),
    "by layering": (
        [
            in_layer("global", "parent", {"v": 1}, labels=PARENT, storagePolicy="encrypted"),
            in_layer("site", "child", parent=PARENT),
        ],
        {"parent", "child"},
    ),
    "by a chain of abstract parents": (
        [
            in_layer("global", "parent", {"v": 1}, labels=PARENT, storagePolicy="encrypted", abstract=True),
            in_layer("region", "middle", parent=PARENT, labels={"n": "m"}, abstract=True),
            in_layer("site", "child", parent={"n": "m"}),
        ],
        {"parent", "middle", "child"},
    ),
    "by a parent that took one": (
        [SECRET, take("parent", "secret", layer="global", labels=PARENT), in_layer("site", "child", parent=PARENT)],
        {"secret", "parent", "child"},
    ),
    "not from child to parent": (
        [
            in_layer("global", "parent", {"v": 1}, labels=PARENT),
            in_layer("site", "child", parent=PARENT, storagePolicy="encrypted"),
        ],
        {"child"},
    ),
    "not where no parent fits": (
        [
            in_layer("global", "parent", {"v": 1}, labels=PARENT, storagePolicy="encrypted"),
            in_layer("site", "child", parent={"no": "body"}),
        ],
        {"parent"},
    ),
    "by replacement, to the other children and to users": (
        [
            in_layer("global", "one", {"v": 1}, labels=PARENT),
            in_layer("site", "one", parent=PARENT, replacement=True, storagePolicy="encrypted"),
            in_layer("type", "child", parent=PARENT),
            take("user", "one"),
            take("next", "user"),
        ],
        {"one", "child", "user", "next"},
    ),
    "a replacement of a secret is one": (
        [
            in_layer("global", "one", {"v": 1}, labels=PARENT, storagePolicy="encrypted"),
            in_layer("site", "one", parent=PARENT, replacement=True),
            take("user", "one"),
        ],
        {"one", "user"},
    ),
    "by a replacement that took one": (
        [
            SECRET,
            in_layer("global", "one", {"v": 1}, labels=PARENT),
            take("one", "secret", parent=PARENT, replacement=True),
            in_layer("type", "child", parent=PARENT),
        ],
        {"secret", "one", "child"},
    ),
    "layers do not matter": ([SECRET, take("user", "secret", layer="global")], {"secret", "user"}),
}


@every_row(TAINT)
def test_who_takes_anything_from_a_secret_document_is_one(entries: list[dict[str, Any]], names: set[str]) -> None:
    assert secrets(*entries) == names
    assert secrets(*reversed(entries)) == names


def test_who_is_secret_is_known_of_a_design_that_does_not_render() -> None:
    broken = in_layer("site", "broken", substitutions=[taking("secret", ".nothing", ".v")])
    unknown = in_layer("rack", "lost", substitutions=[taking("secret", ".v", ".v")])

    found = secret_keys([one.document for one in stored(SECRET, broken, unknown)])

    assert {name for _, name in found} == {"secret", "broken", "lost"}


# What is shown


def fingerprint(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def parsed(data: Any, **metadata: Any) -> Any:
    ((one,), findings) = parse_documents([document("a/B/v1", "one", data, **metadata)])
    assert findings == ()
    return one


def test_data_is_shown_as_one_fingerprint_of_its_json_text_with_sorted_keys() -> None:
    shown = redacted(parsed({"b": [1, "é"], "a": None}), fingerprint)

    text = json.dumps({"a": None, "b": [1, "é"]}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert shown.data == hashlib.sha256(text.encode()).hexdigest()
    assert redacted(parsed({"a": None, "b": [1, "é"]}), fingerprint).data == shown.data


def test_the_fingerprint_is_the_one_that_is_asked_for() -> None:
    assert redacted(parsed("x"), lambda text: f"keyed {text!r}").data == "keyed b'\"x\"'"


@every_row(["", "x" * 5000, {}, [], None, 0, {"a": {"b": "c" * 99}}])
def test_a_fingerprint_does_not_tell_the_length(data: Any) -> None:
    assert len(redacted(parsed(data), fingerprint).data) == 64


def test_the_storage_policy_is_shown_as_encrypted() -> None:
    assert redacted(parsed("x"), fingerprint).metadata["storagePolicy"] == "encrypted"
    assert redacted(parsed("x"), fingerprint).is_encrypted


def test_paths_are_hidden_and_the_rest_of_a_substitution_stays() -> None:
    entries = [
        taking("s", ".hidden.path", ".hidden.place", pattern="p", match_group=0, deepcopy=True),
        taking("s", ".", ".hidden", {"path": ".hidden", "pattern": "q", "recurse": {"depth": 1}}),
    ]
    original = parsed({"x": 1}, substitutions=entries, labels={"k": "v"})
    before = json.dumps(original.metadata)

    shown = redacted(original, fingerprint)

    assert shown.metadata["substitutions"] == [
        {
            "src": {"schema": KIND, "name": "s", "path": "***", "pattern": "p", "match_group": 0, "deepcopy": True},
            "dest": {"path": "***"},
        },
        {
            "src": {"schema": KIND, "name": "s", "path": "***"},
            "dest": [{"path": "***"}, {"path": "***", "pattern": "q", "recurse": {"depth": 1}}],
        },
    ]
    assert "hidden" not in str(shown)
    assert shown.metadata["labels"] == {"k": "v"}
    assert (shown.schema, shown.name, shown.layer) == (original.schema, original.name, original.layer)
    assert json.dumps(original.metadata) == before


@every_row([None, "text", ["text", 3, {"src": "x", "dest": "y"}, {}]])
def test_a_control_document_may_carry_anything_that_looks_like_substitutions(substitutions: Any) -> None:
    control = {
        "schema": "a/B/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "one", "substitutions": substitutions},
        "data": "CANARY",
    }
    ((one,), _) = parse_documents([control])

    assert "CANARY" not in repr(redacted(one, fingerprint)) + str(redacted(one, fingerprint).data)


# What peers say


def said(message: str, **more: str) -> Finding:
    return error("Peer", message, **more)


def test_texts_of_secrets_are_taken_out_of_messages_of_others() -> None:
    (finding,) = scrubbed(
        [said("the password hunter22 of hunter22 is bad", path="/hunter22", diagnostic="hunter22!")],
        [{"a": ["hunter22"]}],
    )

    assert finding.message == "the password *** of *** is bad"
    assert (finding.path, finding.diagnostic) == ("/***", "***!")


@every_row(["abcde", {"k": {"l": [["abcde"]]}}, ["x", "abcde"]])
def test_texts_are_found_wherever_they_stand_in_the_secret(secret: Any) -> None:
    assert scrubbed([said("abcde")], [secret])[0].message == "***"


def test_the_lines_of_a_long_text_are_taken_out_one_by_one() -> None:
    key = "-----BEGIN KEY-----\nMIIEowIBAAKC\nAQEAu1SU1L\n-----END KEY-----\n"

    assert scrubbed([said(f"bad line MIIEowIBAAKC in {key}")], [key])[0].message == "bad line *** in ***"


def test_a_secret_inside_another_does_not_save_the_rest_of_it() -> None:
    assert scrubbed([said("hunter22-long and hunter22")], ["hunter22", "hunter22-long"])[0].message == "*** and ***"


def test_words_that_stand_everywhere_stay() -> None:
    assert scrubbed([said("the port is true")], ["port", "true", 1, True, None, ""])[0].message == "the port is true"


def test_without_findings_or_secrets_nothing_changes() -> None:
    assert scrubbed([], ["abcde"]) == ()
    assert scrubbed([said("abcde")], []) == (said("abcde"),)


def test_documents_and_level_of_a_finding_stay() -> None:
    finding = said("hunter22").about(DocumentRef("a/B/v1", "one"))

    assert scrubbed([finding], ["hunter22"]) == (said("***").about(DocumentRef("a/B/v1", "one")),)


@every_row(
    {
        "no layering policy": [in_layer("site", "child", parent=PARENT)],
        "two parents": [
            POLICY,
            *(in_layer("global", name, labels=PARENT) for name in ("one", "two")),
            in_layer("site", "child", parent=PARENT),
        ],
        "an unknown layer": [POLICY, in_layer("nowhere", "child", parent=PARENT)],
    },
)
def test_whose_parent_is_not_known_for_sure_counts_as_secret_where_there_are_secrets(entries: list[Any]) -> None:
    """Another store may see a parent there: what is shown then must not depend on that."""

    def found(*more: dict[str, Any]) -> set[str]:
        documents, _ = parse_documents([*entries, *more])
        return {name for _, name in secret_keys(documents)}

    assert "child" in found(SECRET)
    assert found() == set()
