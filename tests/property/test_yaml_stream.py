"""What holds for every stream, not only for those we thought of."""

import json
import string
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shipyard_api.yaml_stream import Limits, YamlFault, read_documents, write_documents

# NUL is the one character that storage cannot hold; surrogates are halves, not characters.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(characters)
    | st.text(" \t\n\r\x85\u2028\ufeff#-:?|>'\"!&*%@`[]{},<=~0123456789.abxnoyes", max_size=12)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(characters), inner, max_size=5)
)

# Pieces of YAML, so that chance makes streams rather than syntax errors.
PIECES = (
    "---\n ...\n -_ ?_ :_ a:_ b:_ <<:_ &x_ *x_ *x [ ] { } ,_ \n __ 1 '1' no ~ .nan 1:30 0x= 2024-01-01 !!int_ "
    '!!python/x_ !!map_ !_ |\n >-\n "\\0" #_c\n %TAG_!_b\n = << \t é \ufeff \u2028'
)
pieces = st.sampled_from([piece.replace("_", " ") for piece in PIECES.split(" ")])
small = Limits(nodes=200, text=2_000, depth=8, documents=5, faults=3)


def is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and is_json(item) for key, item in value.items())
    if type(value) is list:
        return all(is_json(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)


def check(raw: bytes, limits: Limits) -> None:
    faults: tuple[YamlFault, ...] = ()
    documents: list[Any] = []
    try:
        documents = read_documents(raw, limits)
    except YamlFault as fault:
        faults = fault.faults
    assert is_json(documents)
    json.dumps(documents, allow_nan=False)
    assert len(faults) <= limits.faults
    lines = len(raw.decode(errors="replace").splitlines()) + 1
    assert all(fault.message and (fault.line is None or 1 <= fault.line <= lines) for fault in faults)


@given(st.lists(values, max_size=4))
@example(
    ["\n x", "\n", " \n", "a\n\n", "\ufeff", "\x85", "a\u2028b", "---", "1e5", "=", "<<", "0_", "1:2", "2024-01-01"]
)
@example([1e16, 1e-7, -0.0, 5e-324, 10**4299])
def test_what_is_written_is_read_back(documents: list[Any]) -> None:
    assert json.dumps(read_documents(write_documents(documents))) == json.dumps(documents)


@settings(max_examples=2 * settings.default.max_examples)
@given(
    st.binary(max_size=200)
    | st.text(string.printable + "\x85\u2028\ufeff\x00\x1b", max_size=80).map(str.encode)
    | st.lists(pieces, max_size=30).map(lambda chosen: "".join(chosen).encode())
)
@example(b"- &x [1]\n- {*x : 1}")
@example("\ufeff\ufeff---\n".encode())
def test_any_bytes_are_read_as_pyyaml_reads_them_or_are_a_fault(raw: bytes) -> None:
    check(raw, Limits())
    check(raw, small)
    try:
        ours = read_documents(raw, small)
        theirs = list(yaml.load_all(raw, yaml.CSafeLoader))
        # Dates are the one kind we read otherwise; str gives them back as they stand in the pieces.
        expected = json.dumps(theirs, default=str)
    except (YamlFault, yaml.YAMLError, ValueError, TypeError):
        return
    assert json.loads(json.dumps(ours)) == json.loads(expected)


plain_keys = st.text(string.ascii_lowercase, min_size=1, max_size=6).filter(
    lambda key: key not in ("on", "off", "yes", "no", "true", "false", "null")
)
plain_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
plain_values = st.recursive(
    plain_scalars.filter(lambda value: not isinstance(value, str) or "\0" not in value),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(plain_keys, inner, max_size=5),
)


@given(st.lists(plain_values, max_size=4), st.booleans(), st.sampled_from([None, "'", '"', "|", ">"]))
def test_a_stream_without_oddities_means_what_it_means_to_pyyaml(
    documents: list[Any], flow: bool, style: str | None
) -> None:
    # Written by PyYAML with shared lists, so that anchors and aliases are among it.
    stream = yaml.safe_dump_all(
        [[document, document] for document in documents], default_flow_style=flow, default_style=style, encoding="utf-8"
    )
    assert json.dumps(read_documents(stream)) == json.dumps(list(yaml.safe_load_all(stream)))
