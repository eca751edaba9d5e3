"""Every way to harm a reader of YAML that we know of, and what the sender is told."""

import json
import pickle
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.yaml_stream import Limits, YamlFault, read_documents, reading, write_documents
from tests.unit.tables import every_row
from tests.waiting import PATIENCE

SITES = Path(__file__).parents[2].parent / "shared" / "data" / "sites"
MIB = 1024 * 1024
DEFAULT = Limits()


def fault_of(raw: bytes, limits: Limits = DEFAULT) -> YamlFault:
    with pytest.raises(YamlFault) as caught:
        read_documents(raw, limits)
    return caught.value


@dataclass(frozen=True)
class Attack:
    name: str
    raw: bytes
    place: tuple[int | None, int | None, int | None]
    words: str
    limits: Limits = DEFAULT


def alias_bomb(levels: int, *, width: int = 9) -> bytes:
    """A mapping whose every key holds the one before it nine times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines).encode()


def merge_bomb(levels: int) -> bytes:
    lines = ["a0: &a0 {k: v}"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}], k{level}: v}}")
    return "\n".join(lines).encode()


def alias_tower(levels: int) -> bytes:
    """Flat to look at, and as deep as it is long."""
    return b"- &a0 [x]\n" + b"".join(b"- &a%d [*a%d]\n" % (level, level - 1) for level in range(1, levels))


ATTACKS = [
    # depth
    Attack("brackets", b"[" * 100_000, (1, 65, 0), "nested deeper than 64 levels"),
    Attack("compact sequences", b"- " * 100_000, (1, 129, 0), "nested deeper than 64 levels"),
    Attack("keys within keys", b"? " * 1_000, (1, 3, 0), "a mapping cannot be a key"),
    Attack("depth through aliases", alias_tower(1_000), (64, 9, 0), "nested deeper than 64 levels by alias 'a62'"),
    # number
    Attack("alias bomb", alias_bomb(20), (6, 40, 0), "more than 500,000 nodes, counting what aliases"),
    Attack("merge bomb", merge_bomb(20), (7, 20, 0), "more than 500,000 nodes"),
    Attack(
        "text behind aliases",
        b"- &t " + b"x" * MIB + b"\n" + b"- *t\n" * 1_000,
        (65, 3, 0),
        "more than 67,108,864 characters of text, counting what aliases",
    ),
    Attack("nodes", b"[a, b, c]", (1, 8, 0), "more than 3 nodes", Limits(nodes=3)),
    Attack("documents", b"---\n" * 60_000, (50_001, 1, 50_000), "more than 50,000 documents"),
    Attack("documents, none read", b"[\n" + b"---\n----\n" * 3, (4, 1, 1), "than 1 documents", Limits(documents=1)),
    Attack(
        "bytes", b"[" * 50 * MIB, (None, None, None), "the stream has 52,428,800 bytes; at most 33,554,432 are read"
    ),
    Attack("scalar", b"a: 12345", (1, 4, 0), "a text of 5 characters; at most 4", Limits(scalar=4)),
    Attack("tag directives", b"%TAG !a! b\n" * 1_001 + b"---\na", (None, None, None), "more than 1,000 %TAG"),
    # aliases
    Attack("sequence within itself", b"a: &x\n  - *x\n", (2, 5, 0), "alias 'x' is used inside its own anchor"),
    Attack(
        "mapping merged into itself",
        b"&x\nb: 1\n<<: *x\n",
        (3, 5, 0),
        "is used inside its own anchor, begun at line 1",
    ),
    Attack("unknown anchor", b"a: *nowhere\n", (1, 4, 0), "alias 'nowhere': no such anchor before it"),
    Attack("anchor of another document", b"&x a\n---\n*x\n", (3, 1, 1), "alias 'x': no such anchor"),
    Attack("anchor twice", b"- &x 1\n- &x 2\n", (2, 3, 0), "anchor 'x' was already given at line 1"),
    # keys
    Attack("duplicate key", b"name: a\nb: c\nname: d\n", (3, 1, 0), "duplicate key 'name', first given at line 1"),
    Attack(
        "duplicate deep down",
        b"---\na:\n  - {b: 1,\n     b: 2}\n",
        (4, 6, 0),
        "duplicate key 'b', first given at line 3",
    ),
    Attack("duplicate number and text", b"1: a\n'1': b\n", (2, 1, 0), "duplicate key '1', first given at line 1"),
    Attack("duplicate boolean", b"yes: a\n'true': b\n", (2, 1, 0), "duplicate key 'true'"),
    Attack("duplicate through an alias", b"&k a: 1\n*k : 2\n", (2, 1, 0), "duplicate key 'a'"),
    Attack(
        "duplicate merge",
        b"x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x\n",
        (4, 3, 0),
        "duplicate key '<<', first given at line 3",
    ),
    Attack("mapping as key", b"a: 1\n{b: c}: d\n", (2, 1, 0), "a mapping cannot be a key"),
    Attack("alias of a sequence as key", b"- &x [a]\n- {*x : b}\n", (2, 4, 0), "alias 'x' is not one value"),
    Attack("merge of a text", b"a: 1\n<<: text\n", (2, 5, 0), "a merge key (<<) takes a mapping"),
    # tags
    Attack(
        "python object",
        b"a: !!python/object/apply:os.system [id]\n",
        (1, 4, 0),
        "the tag '!!python/object/apply:os.system'",
    ),
    Attack("local tag", b"- !secret x\n", (1, 3, 0), "the tag '!secret' is not one of a value that JSON can hold"),
    Attack("foreign tag", b"- !<tag:example.com,2000:x> x\n", (1, 3, 0), "the tag 'tag:example.com,2000:x'"),
    Attack("binary", b"a: !!binary aGk=\n", (1, 4, 0), "the tag '!!binary' is not one of a value"),
    Attack("ordered map", b"!!omap [a: 1]\n", (1, 1, 0), "the tag '!!omap' is not one of a sequence"),
    Attack("merge outside a key", b"a: !!merge <<\n", (1, 4, 0), "the tag '!!merge' is not one of a value"),
    Attack("long tag", b"!" + b"x" * 5_000 + b" y", (1, 1, 0), "x…' is not one of a value"),
    Attack("tag that is not text", b"a: b\nc: !%ed%a0%80 x", (2, 2, 0), "the next tag is not UTF-8"),
    # bytes and characters
    Attack("latin-1", b"a: 1\nb: caf\xe9\n", (2, 7, None), "byte 12 (0xe9) is not UTF-8"),
    Attack("latin-1 behind a mark", b"\xef\xbb\xbf\xe9", (1, 1, None), "byte 4 (0xe9) is not UTF-8"),
    Attack("surrogate", b"a: \xed\xa0\x80\n", (1, 4, None), "byte 4 (0xed) is not UTF-8"),
    Attack("utf-16", "a: 1".encode("utf-16"), (1, 1, None), "a text in UTF-16; send UTF-8"),
    Attack("utf-16, big end first", b"\xfe\xff\0a", (1, 1, None), "a text in UTF-16; send UTF-8"),
    Attack("utf-16 without a mark", "a: 1".encode("utf-16-le"), (1, 2, 0), "the character U+0000 is not allowed"),
    Attack("joined files", b"\xef\xbb\xbfa: 1\n\xef\xbb\xbf---\nb: 2\n", (2, 1, None), "a second byte order mark"),
    Attack("nul", b"a: b\nc: d\0e\n", (2, 5, 0), "the character U+0000 is not allowed in YAML"),
    Attack("nul far on", "é: 1\r\n".encode() + b"# x\n" * 10_000 + b"\0", (10_002, 1, 0), "the character U+0000"),
    Attack("escaped nul", b'a: "x\\0y"\n', (1, 4, 0), "the character NUL cannot be stored"),
    Attack("escaped nul in a key", b'"\\x00": x\n', (1, 1, 0), "the character NUL cannot be stored"),
    Attack("half characters", b'a: "\\ud83d\\ude00"\n', (1, 7, 0), "or all of it as \\U0001F600, not two halves"),
    # numbers
    Attack("nan", b"a: .nan\n", (1, 4, 0), "not a number (NaN)"),
    Attack("infinity", b"- -.inf\n", (1, 3, 0), "infinity, or a number too large"),
    Attack("infinity by overflow", b"- " + b"9" * 400 + b".0\n", (1, 3, 0), "a number too large for a float"),
    Attack("nan as key", b".nan: a\n", (1, 1, 0), "not a number (NaN)"),
    Attack("long number", b"a: " + b"7" * 200_000, (1, 4, 0), "a number of 200,000 characters; at most 4,300"),
    Attack("long number in base 16", b"a: 0x" + b"f" * 4_000, (1, 4, 0), "a number of more than 4,300 digits"),
    Attack("base 60 float", b"a: 1" + b":1" * 1_000 + b".5", (1, 4, 0), "a number too large for a float"),
    Attack("no number", b"a: !!int abc\n", (1, 4, 0), "the text behind '!!int' is none"),
    Attack("empty number", b"a: !!int ''\n", (1, 4, 0), "the text behind '!!int' is none"),
    Attack("no boolean", b"a: !!bool maybe\n", (1, 4, 0), "the text behind '!!bool' is none"),
    Attack("no null", b"a: !!null something\n", (1, 4, 0), "the text behind '!!null' is none"),
    Attack("no date", b"a: !!timestamp soon\n", (1, 4, 0), "the text behind '!!timestamp' is none"),
    # syntax
    Attack("open bracket", b"a: 1\nb: [1, 2\n", (2, 9, 0), "the text ends too early: did not find expected ',' or ']'"),
    Attack("tab", b"a:\n\tb: 1\n", (2, 1, 0), "a tab here: YAML is indented with spaces"),
    Attack("second document", b"a: 1\n---\n@\n", (3, 1, 1), "found character that cannot start any token"),
    Attack("mapping in a mapping's line", b"a: b: c\n", (1, 5, 0), "mapping values are not allowed"),
    Attack("version of tomorrow", b"%YAML 3.0\n---\na\n", (1, 1, 0), "incompatible YAML document"),
]


@every_row(ATTACKS)
def test_an_attack_is_refused_with_its_place_and_costs_no_memory(attack: Attack) -> None:
    tracemalloc.start()
    try:
        fault = fault_of(attack.raw, attack.limits)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert attack.words in fault.message
    assert (fault.line, fault.column, fault.document) == attack.place
    assert len(fault.message) < 250
    # What any reader must hold of a text: its copy, and the lines before a fault. A bomb would need gigabytes.
    allowance = len(attack.raw) * 8 if len(attack.raw) <= attack.limits.bytes_ else 0
    assert peak < allowance + MIB


def test_without_libyaml_the_import_says_what_to_install() -> None:
    program = "import sys; sys.modules['yaml._yaml'] = None; import shipyard_api.yaml_stream"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    assert b"ImportError: PyYAML was built without libyaml" in done.stderr


READINGS: list[tuple[str, bytes, list[Any]]] = [
    ("nothing", b"", []),
    ("empty between others", b"a: 1\n---\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}]),
    ("byte order mark", b"\xef\xbb\xbfa: 1\n", [{"a": 1}]),
    ("booleans of YAML 1.1", b"[yes, No, ON, off, true, y]", [[True, False, True, False, True, "y"]]),
    ("numbers of YAML 1.1", b"[012, 0x1f, 0b11, 1_000, 1:30, 08, 0o17]", [[10, 31, 3, 1000, 90, "08", "0o17"]]),
    ("floats of YAML 1.1", b"[1.5, 1.5e+3, 1e3, .5]", [[1.5, 1500.0, "1e3", 0.5]]),
    ("dates are text", b"[2024-02-30, 2001-12-14t21:59:43.10-05:00]", [["2024-02-30", "2001-12-14t21:59:43.10-05:00"]]),
    ("date by tag", b"!!timestamp '2024-01-01'", ["2024-01-01"]),
    (
        "keys as JSON has them",
        b"{1: a, true: b, null: c, 1.5: d, 0x10: e}",
        [{"1": "a", "true": "b", "null": "c", "1.5": "d", "16": "e"}],
    ),
    ("equal in Python, not in JSON", b"{1: a, 1.0: b, true: c}", [{"1": "a", "1.0": "b", "true": "c"}]),
    ("equals sign", b"{=: =}", [{"=": "="}]),
    ("merge sign as a value", b"[<<, a: <<]", [["<<", {"a": "<<"}]]),
    ("merge sign in quotes", b"a: &a {x: 1}\nb: {'<<': 2, <<: *a}", [{"a": {"x": 1}, "b": {"x": 1, "<<": 2}}]),
    ("merge", b"- &a {x: 1, y: 2}\n- {<<: *a, x: 3}", [[{"x": 1, "y": 2}, {"x": 3, "y": 2}]]),
    ("merge of several", b"{<<: [{x: 1}, {x: 2, y: 3}], z: 4}", [{"x": 1, "y": 3, "z": 4}]),
    (
        "tags of JSON",
        b"[!!str 1, !!int '2', !!float 3, !!null '', !!seq [], !!map {}, ! x]",
        [["1", 2, 3.0, None, [], {}, "x"]],
    ),
    ("escaped control characters", rb'"\e[1m\a\x7f"', ["\x1b[1m\x07\x7f"]),
    ("the same anchor in two documents", b"&x a\n---\n[&x b, *x]", ["a", ["b", "b"]]),
    (
        "as JSON writes it",
        json.dumps([{"a": [1, 2.5, None, True, "é\n"]}]).encode(),
        [[{"a": [1, 2.5, None, True, "é\n"]}]],
    ),
    ("long text with colons", b"'a': 1" + b":1" * 5_000, [{"a": "1" + ":1" * 5_000}]),
    ("as deep as allowed", b"[" * 64 + b"]" * 64, [json.loads("[" * 64 + "]" * 64)]),
]


@every_row([row[1:] for row in READINGS])
def test_a_stream_is_read_as_json(raw: bytes, expected: list[Any]) -> None:
    # Compared as text, for 1 == 1.0 == True, and the order of keys counts.
    assert json.dumps(read_documents(raw)) == json.dumps(expected)


def test_what_an_alias_stands_for_is_a_copy() -> None:
    [document] = read_documents(b"a: &a {list: [1]}\nb: *a\nc: {<<: *a}\n")
    document["a"]["list"].append(2)
    assert document == {"a": {"list": [1, 2]}, "b": {"list": [1]}, "c": {"list": [1]}}


def test_faults_are_collected_until_the_syntax_ends() -> None:
    fault = fault_of(b"a: .nan\na: !x 1\n---\nb: 1\nb: 2\n---\nc: [\n")
    assert [(each.line, each.document) for each in fault.faults] == [(1, 0), (2, 0), (2, 0), (5, 1), (7, 2)]
    assert str(fault).splitlines()[3] == "line 5, column 1 (document 2): duplicate key 'b', first given at line 4"
    assert (fault.line, fault.column, fault.document) == (1, 4, 0)


def test_collecting_ends_at_the_limit() -> None:
    assert len(fault_of(b"- .nan\n" * 100).faults) == 20
    assert len(fault_of(b"- .nan\n" * 100, Limits(faults=3)).faults) == 3


def test_a_refused_key_is_no_key_for_those_behind_it() -> None:
    fault = fault_of(b".nan: 1\nnull: 2\n[x]: 3\n? {y: 1}\n: 4\n")
    assert [each.line for each in fault.faults] == [1, 3, 4]


def test_a_message_is_one_line_and_tells_no_values() -> None:
    fault = fault_of(b'"a\\r\\nSet-Cookie: x": 1\n"a\\r\\nSet-Cookie: x": !!int hunter2\n')
    first, second = fault.faults
    assert first.message == r"duplicate key 'a\r\nSet-Cookie: x', first given at line 1"
    assert "hunter2" not in str(second)


SECRET = b"metadata: {storagePolicy: encrypted}\n"


@every_row([
    b"hush: 1\nhush: 2\n", b"a: &hush 1\nb: &hush 2\n", b"a: !hush x\n", b"a: !hush [x]\n", b"a: *hush\n",
    b"a: &hush [*hush]\n", b"a: &hush [x]\n*hush : 1\n",
])  # fmt: skip
def test_a_fault_of_a_secret_document_quotes_nothing(body: bytes) -> None:
    around = b"a: 1\n--- # encrypted\n"
    for raw in (SECRET + body, body + SECRET, around + SECRET + body + b"---\nb: 1\n", SECRET + body + b"c: ["):
        assert "hush" not in str(fault_of(raw))
        assert "(not shown)" in str(fault_of(raw))
    for raw in (body, SECRET + b"---\n" + body + b"---\n" + SECRET):
        assert "hush" in str(fault_of(raw))


@every_row([b"a: .nan", b"[.nan, .inf]", b"\xff"])
def test_a_fault_travels_between_processes(raw: bytes) -> None:
    fault = fault_of(raw)
    copy = pickle.loads(pickle.dumps(fault))
    assert type(copy) is type(fault)
    assert [vars(each) for each in copy.faults] == [vars(each) for each in fault.faults]
    assert str(copy) == str(fault)


def test_a_stream_is_written_for_people() -> None:
    shared = [1]
    document = {"z": shared, "a": shared, "text": "two\nlines\n", "name": "Zürich", "date": "2024-01-01", "no": "no"}
    assert write_documents([document, None]).decode() == (
        "---\nz:\n- 1\na:\n- 1\ntext: |\n  two\n  lines\nname: Zürich\ndate: '2024-01-01'\n'no': 'no'\n--- null\n"
    )


class Colour(StrEnum):
    RED = "red"


@every_row(
    [
        (float("nan"), ValueError, "nan is not a JSON value"),
        ([float("-inf")], ValueError, "-inf is not a JSON value"),
        ({1: "a"}, TypeError, "a key of type int is not a JSON key"),
        ({"a": {1}}, TypeError, "a value of type set is not a JSON value"),
        (Colour.RED, TypeError, "a value of type Colour"),
        ("\ud800", ValueError, "surrogates not allowed"),
    ],
)
def test_what_is_not_json_is_not_written(value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        write_documents([value])


@pytest.mark.skipif(not SITES.is_dir(), reason="the real site definitions are not beside this checkout")
def test_a_real_site_is_read_as_pyyaml_reads_it_and_survives_writing() -> None:
    raw = (SITES / "seaworthy.yaml").read_bytes()
    documents = read_documents(raw)
    assert len(documents) > 300
    assert json.dumps(documents) == json.dumps(list(yaml.load_all(raw, yaml.CSafeLoader)))
    assert read_documents(write_documents(documents)) == documents


def test_a_large_text_is_read_in_pieces_so_that_other_threads_get_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """libyaml holds the interpreter for as long as one event takes."""
    sizes, read = [], reading._Pieces.read
    monkeypatch.setattr(reading._Pieces, "read", lambda pieces, size: sizes.append(size) or read(pieces, size))

    assert read_documents(b"a: " + b"x" * 2**20) == [{"a": "x" * 2**20}]
    assert max(sizes) <= 2**16
    assert sum(sizes) >= 2**20
