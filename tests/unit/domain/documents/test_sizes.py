"""Designs that grow without end are refused before anybody writes them down, and patterns cannot run for ever.

No test here looks at the time: each of these bombs takes minutes or gigabytes when it goes off.
"""

import subprocess
import sys
import textwrap
from typing import Any

import pytest

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import Collection, Revision, StoredDocument, parse_documents, patterns, render, sizes
from shipyard_api.domain.documents.patterns import LONGEST_TEXT, PatternError, check_pattern, replace_all, search
from shipyard_api.domain.documents.sizes import Size, Sizes, TooLargeError
from tests.conftest import ROOT
from tests.designs import KIND, POLICY, data_of, data_schema, in_layer, names_of, taking, wrong
from tests.unit.tables import every_row, table


def doubling(number: int, word: str = "d") -> list[dict[str, Any]]:
    """Return documents that each hold the one before twice."""
    return [
        in_layer("site", f"{word}00", {"v": "x"}),
        *(
            in_layer("site", f"{word}{i:02}", substitutions=[taking(f"{word}{i - 1:02}", ".", ".a", ".b")])
            for i in range(1, number)
        ),
    ]


def test_documents_that_each_hold_the_one_before_twice_are_refused_at_once() -> None:
    (finding,) = wrong(*doubling(40))

    assert finding.name == "DesignTooLarge"
    assert [ref.name[0] for ref in finding.documents] == ["d"]
    assert "4,000,000" in finding.message


def test_when_one_has_grown_too_large_nobody_grows_on_beside_it() -> None:
    check = data_schema(KIND, {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}})
    # Side by side: when the first is too large, the others must not go on unmeasured.
    (finding,) = wrong(check, *doubling(30, "d"), *doubling(30, "e"), *doubling(30, "f"))

    assert finding.name == "DesignTooLarge"


def test_doubling_that_stays_small_is_fine() -> None:
    assert len(data_of(*doubling(12))) == 12


def test_the_same_bomb_with_patterns_is_refused() -> None:
    text = "XX" * 100
    bombs = [in_layer("site", "t00", {"t": text})] + [
        in_layer(
            "site",
            f"t{i:02}",
            {"t": text},
            substitutions=[taking(f"t{i - 1:02}", ".t", {"path": ".t", "pattern": "X"})],
        )
        for i in range(1, 20)
    ]

    (finding,) = wrong(*bombs)

    assert finding.name == "UnknownSubstitutionError"
    assert f"{LONGEST_TEXT}" in finding.message


def test_a_chain_through_five_thousand_documents_nested_in_each_other_is_refused() -> None:
    chain = [in_layer("site", "n0000", {"v": 1})]
    chain += [in_layer("site", f"n{i:04}", substitutions=[taking(f"n{i - 1:04}", ".", ".v")]) for i in range(1, 5000)]

    findings = wrong(data_schema(KIND, {"properties": {"v": {"$ref": "#"}}}), *chain)

    (finding,) = (one for one in findings if one.name != "D002")
    assert finding.name == "DesignTooLarge"
    assert "nested deeper than 128" in finding.message


def test_a_chain_through_five_thousand_documents_that_does_not_nest_is_fine() -> None:
    chain = [in_layer("site", "n0000", {"v": {"w": 1}})]
    chain += [in_layer("site", f"n{i:04}", substitutions=[taking(f"n{i - 1:04}", ".v", ".v")]) for i in range(1, 5000)]

    assert data_of(*chain)["n4999"] == {"v": {"w": 1}}


BOMBS = {
    "one document that fills many lists up": [
        in_layer("site", "s", {"v": 1}),
        in_layer("site", "u", substitutions=[taking("s", ".v", *(f".a{i}[9999]" for i in range(5_000)))]),
    ],
    "one document that makes many long texts": [
        in_layer("site", "s", {"x": "X" * 1000, "long": "y" * 8000}),
        in_layer(
            "site",
            "u",
            substitutions=[
                taking("s", ".x", *(f".l[{i}]" for i in range(1_000))),
                taking("s", ".long", {"path": ".l", "pattern": "X", "recurse": {"depth": 1}}),
            ],
        ),
    ],
    "one document that walks a bomb before it is measured": [
        *doubling(18),
        in_layer(
            "site",
            "u",
            substitutions=[
                taking("d17", ".", *(f".l[{i}]" for i in range(1_000))),
                taking("d00", ".v", {"path": ".l", "pattern": "X", "recurse": {"depth": -1}}),
            ],
        ),
    ],
    "one document that searches a bomb before it is measured": [
        *doubling(18),
        in_layer(
            "site",
            "u",
            substitutions=[
                taking("d17", ".", *(f".l[{i}]" for i in range(1_000))),
                taking("d00", ".v", "..v"),
            ],
        ),
    ],
}


def test_one_document_alone_cannot_take_all_memory() -> None:
    # In a process of its own, so that a bomb that goes off kills nothing else; the last line names it.
    script = """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (1200 << 20, 1200 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        from tests.designs import wrong
        from tests.unit.domain.documents.test_sizes import BOMBS
        for name, documents in BOMBS.items():
            print(name, end=": ", flush=True)
            print(*{one.name for one in wrong(*documents)}, flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    found = dict(line.split(": ") for line in done.stdout.splitlines())
    assert found.keys() == BOMBS.keys()
    assert set(found.values()) <= {"UnknownSubstitutionError", "DesignTooLarge"}, found


def test_a_pattern_that_would_run_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_TIMEOUT", 0.1)
    findings = wrong(
        in_layer("site", "s", {"v": "a" * 5000 + "b", "x": "y"}),
        in_layer("site", "u", {"t": 1}, substitutions=[taking("s", ".v", ".x", pattern="(a+)+$")]),
        in_layer(
            "site", "w", {"t": "a" * 5000 + "b"},
            substitutions=[taking("s", ".x", {"path": ".t", "pattern": "(a|aa)+$"})],
        ),
    )  # fmt: skip

    assert names_of(findings) == [("UnknownSubstitutionError", ["u", "s"]), ("UnknownSubstitutionError", ["w", "s"])]
    assert all("longer than 0.1 s" in one.message for one in findings)
    assert "aaaa" not in str(findings)


@every_row(
    [
        "(", "*", "[", "a{2,1}", "(?P<n>a)(?P<n", "\\", "(?z)", "(?(1)a|b)", r"\L<list>", r"\p{nothing}", r"\N{no}",
        "(?V1)[[a]--b]", "(" * 400 + ")" * 400, "x" * 1025, "a{99999999999999999999}",
        "(?:a{1000}){1000}", "(?:(?:a{1000}){1000}){1000}", "(?x)(?:a{ 1000 }){1000}",
    ],
)  # fmt: skip
def test_what_is_no_pattern_or_one_that_grows_without_end_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        check_pattern(pattern)


@every_row(
    [("plain", 0), ("(a)(?:b)(?P<c>d)", 2), (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", 0),
     (r"(\d{1,3}\.){3}\d{1,3}", 1), ("a{0}b{,9999}c{0,9999}", 0)],
)  # fmt: skip
def test_a_pattern_tells_how_many_groups_it_has(pattern: str, groups: int) -> None:
    assert check_pattern(pattern) == groups


def test_a_group_that_took_no_part_in_the_match_is_an_empty_text() -> None:
    assert search("(a)|(b)", 2, "a") == ""
    assert search("c", 0, "a") is None


def test_a_text_may_become_long_and_not_longer() -> None:
    assert len(replace_all("X", "y" * 1024, "X" * (LONGEST_TEXT // 1024))) == LONGEST_TEXT
    with pytest.raises(PatternError, match=str(LONGEST_TEXT)):
        replace_all("X", "y" * 1025, "X" * (LONGEST_TEXT // 1024))


def test_what_is_shared_counts_as_often_as_it_stands_there_and_is_walked_once() -> None:
    value: Any = "abc"
    for _ in range(10):
        value = [value, value]
    counted = Sizes()

    counted.add(value)

    assert counted._of(value) == Size(nodes=2**11 - 1, text=3 * 2**10, depth=10)


def test_keys_count_as_values_and_as_text() -> None:
    assert Sizes()._of({"ab": {"c": 1.5}, "d": None}) == Size(nodes=7, text=4, depth=2)


@table(
    ("value", "limit"),
    {
        "nodes": ([0] * 3, "NODES"),
        "text": ("xxxx", "TEXT"),
        "depth": ([[[[]]]], "DEPTH"),
    },
)
def test_the_limits_hold_for_the_sum_of_all_documents(value: Any, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, limit, 3 if limit == "DEPTH" else 7)
    counted = Sizes()

    given = [value] if limit == "NODES" else value
    if limit != "DEPTH":
        counted.add(given)

    with pytest.raises(TooLargeError):
        counted.add(given)


def test_rendering_is_given_up_when_its_time_is_over() -> None:
    documents, _ = parse_documents([POLICY, in_layer("site", "a", {"v": 1}), in_layer("site", "b", substitutions=[
        taking("a", ".v", ".w")
    ]), in_layer("site", "c", substitutions=[taking("b", ".w", ".x")])])  # fmt: skip
    stored = [StoredDocument(document, Collection("c"), Revision(1)) for document in documents]
    asked: list[bool] = []

    def out_of_time() -> bool:
        asked.append(True)
        return len(asked) > 2

    rendering, findings = render(stored, DataSchemas(), out_of_time)

    assert rendering is None
    assert [(one.name, one.documents[0].name) for one in findings] == [("DesignTooSlow", "c")]
    assert render(stored, DataSchemas())[1] == ()
