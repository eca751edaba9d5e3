"""A site design as Drydock reads it: nodes merged with their profiles, and the problems of the documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]

NODE_SCHEMA = "drydock/BaremetalNode/v1"
PROFILE_SCHEMA = "drydock/HostProfile/v1"
REGION_SCHEMA = "drydock/Region/v1"


@dataclass(frozen=True, slots=True)
class DesignNode:
    """A node of the design, with the fields that filters use."""

    name: str
    tags: frozenset[str]
    rack: str | None
    labels: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """A message of a design check about one document."""

    code: str
    level: str
    message: str
    diagnostic: str
    document: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """The nodes of a site and the problems of its documents.

    ``malformed``: documents that break their schema. A design with one can be neither validated nor deployed.
    """

    nodes: tuple[DesignNode, ...]
    malformed: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that make the design invalid."""
        return (*self.malformed, *(problem for problem in self.problems if problem.level == "Error"))


def read_design(documents: Sequence[object]) -> Design:
    """Return the design of the documents. Documents of other programs are ignored."""
    named: dict[str, dict[str, Document]] = {NODE_SCHEMA: {}, PROFILE_SCHEMA: {}, REGION_SCHEMA: {}}
    malformed: list[Problem] = []
    for document in documents:
        schema = document.get("schema") if isinstance(document, dict) else None
        if not isinstance(document, dict) or schema not in named:
            continue
        name = _mapping(document.get("metadata")).get("name")
        if isinstance(name, str) and isinstance(document.get("data"), dict):
            named[schema][name] = document["data"]
        else:
            message = "metadata.name should be text and data a mapping"
            malformed.append(Problem("DD001", "Error", message, "", (str(schema), str(name))))
    profiles = named[PROFILE_SCHEMA]
    nodes = tuple(_merged(name, data, profiles) for name, data in named[NODE_SCHEMA].items())
    return Design(nodes, tuple(malformed), tuple(_problems(named)))


def _problems(named: Mapping[str, Mapping[str, Document]]) -> list[Problem]:
    problems = []
    if not named[NODE_SCHEMA]:
        problems.append(
            Problem("DD1001", "Error", "The design has no baremetal node", f"Add a document of {NODE_SCHEMA}.")
        )
    if not named[REGION_SCHEMA]:
        problems.append(Problem("DD1002", "Warning", "The design has no region", f"Add a document of {REGION_SCHEMA}."))
    for schema in (NODE_SCHEMA, PROFILE_SCHEMA):
        for name, data in named[schema].items():
            profile = data.get("host_profile")
            if profile is not None and profile not in named[PROFILE_SCHEMA]:
                # Only a warning: in an unrendered design, the profile may be on a layer that is missing here.
                problems.append(
                    Problem(
                        "DD1003",
                        "Warning",
                        f"Host profile {profile} of {name} is not in the design",
                        f"Add a document of {PROFILE_SCHEMA} or correct host_profile.",
                        (schema, name),
                    )
                )
    return problems


def _merged(name: str, data: Document, profiles: Mapping[str, Document]) -> DesignNode:
    chain = [data]
    seen: set[str] = set()
    profile = data.get("host_profile")
    while isinstance(profile, str) and profile in profiles and profile not in seen:
        seen.add(profile)
        chain.append(profiles[profile])
        profile = profiles[profile].get("host_profile")
    tags: set[str] = set()
    rack: str | None = None
    labels: dict[str, Any] = {}
    for level in reversed(chain):  # the most general profile first, so that more specific ones override it
        metadata = _mapping(level.get("metadata"))
        own_tags = metadata.get("tags")
        for tag in own_tags if isinstance(own_tags, list) else ():
            _add(tags, str(tag))
        if isinstance(metadata.get("rack"), str):
            rack = metadata["rack"]
        for key, value in _mapping(metadata.get("owner_data")).items():
            if str(key).startswith("!"):
                labels.pop(str(key)[1:], None)
            else:
                labels[str(key)] = value
    return DesignNode(name, frozenset(tags), None if (rack or "").startswith("!") else rack, labels)


def _add(tags: set[str], tag: str) -> None:
    if tag.startswith("!"):
        tags.discard(tag[1:])
    else:
        tags.add(tag)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
