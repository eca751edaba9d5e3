"""The documents of sites that only benchmarks know; ``./dev bench`` runs the files beside this folder."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]


def documents(
    machines: Iterable[tuple[str, Mapping[str, Any]]],
    groups: Sequence[Mapping[str, Any]],
    physical_provisioner: Mapping[str, Any],
) -> list[Document]:
    """Return a design: machines by name with their data, the groups of the strategy, the provisioner's settings."""
    policy = {"schema": "metadata/Control/v1", "name": "layering-policy"}
    configuration = {"physical_provisioner": dict(physical_provisioner), "armada": {"manifest": "full-site"}}
    return [
        {"schema": "deckhand/LayeringPolicy/v1", "metadata": policy, "data": {"layerOrder": ["site"]}},
        *(_document("drydock/BaremetalNode/v1", name, data) for name, data in machines),
        _document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": list(groups)}),
        _document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
    ]


def _document(schema: str, name: str, data: Mapping[str, Any]) -> Document:
    metadata = {
        "schema": "metadata/Document/v1",
        "name": name,
        "layeringDefinition": {"abstract": False, "layer": "site"},
        "storagePolicy": "cleartext",
    }
    return {"schema": schema, "metadata": metadata, "data": dict(data)}
