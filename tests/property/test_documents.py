"""Documents of any shape are told apart, and never break what reads them."""

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.documents import BAREMETAL_NODE, HOST_PROFILE, inventory, parse_documents
from shipyard_api.domain.findings import Level
from tests.factories import document

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
layering = st.fixed_dictionaries({}, optional={"layer": st.just("site") | values, "abstract": st.booleans() | values})
metadata = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from(["metadata/Document/v1", "metadata/Control/v1"]) | values,
        "name": st.sampled_from(["a", "b"]) | values,
        "layeringDefinition": layering | values,
        "storagePolicy": st.just("cleartext") | values,
    },
)
almost = st.fixed_dictionaries(
    {"schema": st.sampled_from(["a/B/v1", BAREMETAL_NODE, HOST_PROFILE]) | values, "metadata": metadata | values},
    optional={"data": values},
)


@given(st.lists(almost | values, max_size=4))
def test_a_stream_of_any_shape_gives_documents_or_findings_and_never_breaks(entries: list[object]) -> None:
    documents, findings = parse_documents(entries)

    assert len(documents) <= len(entries)
    assert len({parsed.identity for parsed in documents}) == len(documents) or findings
    assert {finding.level for finding in findings} <= {Level.ERROR}
    for position, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            assert any(finding.message.startswith(f"Document {position}: ") for finding in findings)
    assert len(inventory(documents).nodes) <= len(documents)


words = st.sampled_from(["x", "y", "!x", "!y"])
machine = st.fixed_dictionaries(
    {},
    optional={
        "host_profile": st.sampled_from(["p", "q", "nowhere"]) | values,
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "tags": st.lists(words | scalars, max_size=3) | values,
                "owner_data": st.dictionaries(words, st.text(max_size=3) | scalars, max_size=3) | values,
                "rack": st.sampled_from(["r1", "r2"]) | values,
            },
        )
        | values,
    },
)


@given(machine, machine, machine)
def test_machines_of_any_shape_are_read_and_keep_no_mark_of_what_was_taken_out(
    node: object, first: object, second: object
) -> None:
    documents, findings = parse_documents(
        [
            document(BAREMETAL_NODE, "n1", node),
            document(HOST_PROFILE, "p", first),
            document(HOST_PROFILE, "q", second),
        ]
    )
    assert findings == ()

    (read,) = inventory(documents).nodes.values()

    assert read.name == "n1"
    assert not any(tag.startswith("!") for tag in read.tags)
    assert not any(key.startswith("!") for key, _ in read.labels)
    assert len({key for key, _ in read.labels}) == len(read.labels)
