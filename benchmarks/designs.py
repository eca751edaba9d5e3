"""Time and memory to render a large design: ``python benchmarks/designs.py``.

The design is fixed: 5,000 documents in 4 layers with 10,000 substitutions. Chains of parents go through all layers, and
documents substitute texts, numbers and mappings from catalogues of each layer and from each other. It is rendered in a
new process, in memory, with a data schema. Exits 1 beyond the CPU time of ``LOOPS`` fixed loops of Python
(``reference``), or 400 MB.
"""

import random
import resource
import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import reference

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import Collection, Revision, StoredDocument, parse_documents, render

LAYERS = ("global", "region", "type", "site")
CHART = "armada/Chart/v1"
CATALOGUE = "pegleg/EndpointCatalogue/v1"
LOOPS = 1_000
MEGABYTES = 400


def large_design(documents: int = 5_000, substitutions: int = 10_000) -> list[dict[str, Any]]:
    """Return the entries of a design, a policy and a data schema among them."""
    dice = random.Random(documents)
    entries = list(_control())
    catalogues = max(4, documents // 50)
    for number in range(catalogues):
        entries.append(_catalogue(number, dice))
    charts = documents - len(entries)
    for number in range(charts):
        # Four consecutive documents are a chain of parents, one layer each; the outermost is abstract.
        rank = number % 4
        takes = substitutions * (number + 1) // charts - substitutions * number // charts
        entries.append(_chart(number, rank, [_taking(number, one, catalogues, dice) for one in range(takes)]))
    return entries


def _control() -> Iterator[dict[str, Any]]:
    policy = {"layerOrder": list(LAYERS)}
    schema = {"type": "object", "properties": {"values": {"type": "object"}}, "required": ["values"]}
    for kind, name, data in (("LayeringPolicy", "policy", policy), ("DataSchema", CHART, schema)):
        metadata = {"schema": "metadata/Control/v1", "name": name}
        yield {"schema": f"deckhand/{kind}/v1", "metadata": metadata, "data": data}


def _document(schema: str, name: str, rank: int, data: Any, **metadata: Any) -> dict[str, Any]:
    layering = {"layer": LAYERS[rank], **metadata.pop("layering", {})}
    written = {
        "schema": "metadata/Document/v1",
        "name": name,
        "storagePolicy": "cleartext",
        "layeringDefinition": layering,
        **metadata,
    }
    return {"schema": schema, "metadata": written, "data": data}


def _catalogue(number: int, dice: random.Random) -> dict[str, Any]:
    endpoints = {
        f"service{one}": {
            "host": f"host{dice.randrange(1000)}.example",
            "ports": {"api": {"default": dice.randrange(1024, 65536), "public": 443}},
            "paths": ["/v1", "/v2"],
        }
        for one in range(20)
    }
    return _document(CATALOGUE, f"catalogue{number:04}", number % 4, {"endpoints": endpoints})


def _chart(number: int, rank: int, substitutions: list[dict[str, Any]]) -> dict[str, Any]:
    layering: dict[str, Any] = {"abstract": rank == 0}
    if rank:
        layering["parentSelector"] = {"chart": f"chart{number - 1:05}"}
        layering["actions"] = [{"method": "merge", "path": "."}]
        if rank == 3:
            layering["actions"].append({"method": "delete", "path": ".values.conf.level0"})
    values = {
        "conf": {f"level{rank}": {f"key{one}": f"value {one} of {number}" for one in range(10)}},
        "url": "http://HOST/",
    }
    return _document(
        CHART,
        f"chart{number:05}",
        rank,
        {"values": values, "name": f"chart{number:05}"},
        layering=layering,
        labels={"chart": f"chart{number:05}"},
        substitutions=substitutions,
    )


def _taking(number: int, position: int, catalogues: int, dice: random.Random) -> dict[str, Any]:
    service = f".endpoints.service{dice.randrange(20)}"
    source = {"schema": CATALOGUE, "name": f"catalogue{dice.randrange(catalogues):04}"}
    match position % 4:
        case 0:
            return {"src": {**source, "path": service}, "dest": {"path": f".values.endpoints.taken{position}"}}
        case 1:
            return {"src": {**source, "path": f"{service}.host"}, "dest": {"path": ".values.url", "pattern": "HOST"}}
        case 2:
            return {
                "src": {**source, "path": f"{service}.ports.api.default"},
                "dest": [{"path": ".values.endpoints.taken0.ports.api.default"}, {"path": ".values.port"}],
            }
        case _:
            before = max(1, number - number % 4 - 3)
            return {
                "src": {"schema": CHART, "name": f"chart{before:05}", "path": ".values.conf"},
                "dest": {"path": ".values.neighbour"},
            }


def _main() -> int:
    entries = large_design()
    schemas = DataSchemas()
    documents, findings = parse_documents(entries, schemas)
    assert not findings, findings[:3]
    held = [StoredDocument(one, Collection("design"), Revision(1)) for one in documents]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    loops = reference.loops()
    start = process_time()
    design, findings = render(held, schemas)
    seconds = process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert design is not None, findings[:3]
    print(f"{len(held):,} documents, {len(design.documents):,} of them rendered")
    loops = (loops + reference.loops()) / 2
    print(f"{seconds:.2f} s of processor time, {seconds / loops:.0f} loops (at most {LOOPS:,})")
    print(f"{after} MB at most, {before} MB before rendering (at most {MEGABYTES})")
    return int(seconds > LOOPS * loops or after > MEGABYTES)


if __name__ == "__main__":
    sys.exit(_main())
