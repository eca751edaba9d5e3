"""Designs that operators wrote render here as they do in a real Deckhand, less the two mistakes that it makes."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from shipyard_api.domain.documents import Collection, Rendering, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.documents.comparison import value_changes
from shipyard_api.domain.findings import Finding
from shipyard_api.yaml_stream import read_documents
from tests.conftest import site_file
from tests.designs import SCHEMAS
from tests.unit.tables import every_row


@cache
def rendering(name: str) -> tuple[Rendering | None, Sequence[Finding]]:
    documents, findings = parse_documents(read_documents(site_file(name).read_bytes()), SCHEMAS)
    assert findings == ()
    return render([StoredDocument(one, Collection("site"), Revision(1)) for one in documents], SCHEMAS)


@every_row(
    {
        "airskiff": ("airskiff.yaml", 343, 0),
        "airsloop": ("airsloop.yaml", 381, 1),
        "seaworthy": ("seaworthy.yaml", 404, 5),
    },
)
def test_a_real_site_renders_without_a_finding(name: str, documents: int, machines: int) -> None:
    design, findings = rendering(name)

    assert findings == ()
    assert len(design.documents) == documents
    assert sum(one.document.schema == "drydock/BaremetalNode/v1" for one in design.documents) == machines


# The real server hands the very object it took from one document to another. The chart of the provisioner writes its
# own port into the endpoints it took, so that the port shows up in everything that took the same endpoints.
SHARED_PORT = "shared substitution objects (B7): a port that one chart wrote into the endpoints it had taken"
# The accounts of one service are taken by charts that write generated passwords into them; the real server shows
# those passwords in the catalogue, which never received any.
SHARED_PASSWORD = "shared substitution objects (B7): a password that a chart wrote into the accounts it had taken"

DIFFERENT = {
    ("armada/Chart/v1", "ucp-maas", "/data/values/endpoints/physicalprovisioner/port/api/nodeport"): SHARED_PORT,
    ("armada/Chart/v1", "ucp-maas-scaled", "/data/values/endpoints/physicalprovisioner/port/api/nodeport"): SHARED_PORT,
    ("pegleg/EndpointCatalogue/v1", "ucp_endpoints", "/data/ucp/physicalprovisioner/port/api/nodeport"): SHARED_PORT,
    **{
        ("pegleg/AccountCatalogue/v1", "ucp_service_accounts", f"/data/ucp/{place}/password"): SHARED_PASSWORD
        for place in (
            "barbican/oslo_messaging/admin",
            "keystone/oslo_messaging/admin",
            "keystone/oslo_messaging/keystone",
        )
    },
}


def test_seaworthy_is_what_a_real_deckhand_makes_of_it_but_for_its_known_mistakes() -> None:
    design, _ = rendering("seaworthy.yaml")
    theirs = {
        (one["schema"], one["metadata"]["name"]): {"metadata": one["metadata"], "data": one["data"]}
        for one in read_documents(site_file("seaworthy.rendered.yaml").read_bytes())
    }
    ours = {
        one.document.key: {"metadata": dict(one.document.metadata), "data": one.document.data}
        for one in design.documents
    }

    assert ours.keys() == theirs.keys()
    differences = {(*key, change.path) for key, parts in theirs.items() for change in value_changes(parts, ours[key])}
    assert differences - DIFFERENT.keys() == set(), "new differences"
    assert DIFFERENT.keys() - differences == set(), "no difference any more: take it off the list"


def test_what_another_document_wrote_is_not_in_the_catalogues_of_seaworthy() -> None:
    """The exceptions above are ours to be right about: each of these documents shows what stands in the site."""
    written = {
        (one["schema"], one["metadata"]["name"]): one
        for one in read_documents(site_file("seaworthy.yaml").read_bytes())
    }
    design, _ = rendering("seaworthy.yaml")
    ours = {one.document.key: one.document.data for one in design.documents}

    def at(value: Any, path: str) -> Any:
        for step in path.split("/")[2:]:
            value = value.get(step, {})
        return value or None

    for schema, name, path in DIFFERENT:
        if schema != "armada/Chart/v1":
            entry = written[schema, name]
            assert "parentSelector" not in entry["metadata"]["layeringDefinition"]
            assert at(ours[schema, name], path) == at(entry["data"], path), (name, path)


def test_aiab_does_not_render_and_every_finding_says_which_document_takes_what_from_nowhere() -> None:
    """The stream holds no certificates, which a tool was to make before, and eleven charts take some of them.

    So every finding must be about a document that takes a certificate, a key or an authority, with the place of the
    substitution; nothing else is wrong, and documents that need one of the broken ones are not blamed.
    """
    entries = read_documents(site_file("aiab.yaml").read_bytes())
    there = {(one["schema"], one["metadata"]["name"]) for one in entries}
    layers = {
        (one["schema"], one["metadata"]["name"]): one["metadata"]["layeringDefinition"]["layer"]
        for one in entries
        if "layer" in one["metadata"].get("layeringDefinition", {})
    }
    missing = sorted(
        (one["schema"], one["metadata"]["name"], position, source["schema"], source["name"])
        for one in entries
        for position, source in enumerate(entry["src"] for entry in one["metadata"].get("substitutions") or ())
        if (source["schema"], source["name"]) not in there
    )

    design, findings = rendering("aiab.yaml")

    assert design is None
    told = sorted(
        (ref.schema, ref.name, ref.path, one.message.split(":")[0]) for one in findings for ref in one.documents
    )
    assert told == sorted(
        (
            schema,
            name,
            f"/metadata/substitutions/{position}",
            f"Nothing can be taken from {source_schema} '{source_name}'",
        )
        for schema, name, position, source_schema, source_name in missing
    )
    # One finding for each missing document.
    assert (len(findings), len(missing)) == (29, 40)
    assert {one.name for one in findings} == {"SubstitutionSourceNotFound"}
    assert {source_schema.split("/")[0] for _, _, _, source_schema, _ in missing} == {"deckhand"}
    assert all(ref.layer == layers[ref.schema, ref.name] for one in findings for ref in one.documents)


@every_row(["airskiff.yaml", "airsloop.yaml", "seaworthy.yaml"])
def test_no_secret_of_a_real_site_shows_in_a_document_that_is_not_one(name: str) -> None:
    design, _ = rendering(name)
    secrets = {
        one.document.data
        for one in design.documents
        if one.document.is_encrypted and isinstance(one.document.data, str) and len(one.document.data) > 40
    }

    shown = str([one.document.data for one in design.documents if not one.secret])
    assert not [secret[:8] for secret in secrets if repr(secret)[1:-1] in shown]
