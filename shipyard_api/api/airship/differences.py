"""Comparing two versions of the configdocs: collection by collection, and on demand document by document."""

from collections.abc import Sequence
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.errors import (
    InvalidDiffFormat,
    SameVersion,
    UnknownVersion,
    VersionsGivenTwice,
    WrongNumberOfVersions,
)
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import boolean, single
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.documents import Change, DocumentChange, Version, unified
from shipyard_api.usecases.configdocs.read import Comparison, ReadConfigdocs
from shipyard_api.yaml_stream import write_documents

DIFF = "text/x-diff; charset=utf-8"
_VERSIONS = [version.value for version in Version]


class ConfigdocsStatus:
    """``/configdocs``: compare two versions (contract: shipyard-rest, 5.1; seed 004, Shipyard Tag Releases)."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_configdocs_status"}

    def __init__(self, read: ReadConfigdocs) -> None:
        self._read = read

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with one entry for each collection in either version, and on demand with what differs in it."""
        chosen = _base_and_diff(req)
        if chosen is None:
            resp.media = _collections(self._read.compare(*_two_versions(req)), documents=False)
            return
        rendered = bool(boolean(req, "rendered", default=False))
        form = single(req, "format") or "json"
        if form not in ("json", "unified"):
            raise InvalidDiffFormat(form)
        comparison = self._read.compare_documents(*chosen, rendered=rendered)
        if form == "unified":
            resp.content_type = DIFF
            resp.data = unified(comparison.documents, lambda document: write_documents([document]).decode()).encode()
        else:
            resp.media = _collections(comparison, documents=True)


def _collections(comparison: Comparison, *, documents: bool) -> list[dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {
        name: {
            "collection_name": name,
            "base_version": comparison.base.value,
            "base_revision": comparison.base_revision,
            "new_version": comparison.new.value,
            "new_revision": comparison.new_revision,
            "new_status": change.value,
            "base_status": "not present" if change is Change.CREATED else "present",
        }
        for name, change in comparison.collections.items()
    }
    if documents:
        listed: dict[str, list[dict[str, Any]]] = {name: [] for name in entries}
        for changed in comparison.documents:
            listed[changed.collection].append(_document_change(changed))
        for name, entry in entries.items():
            entry["documents"] = listed[name]
    return list(entries.values())


def _document_change(changed: DocumentChange) -> dict[str, Any]:
    """Return how a document differs; ``old`` and ``new`` are left out where there is no such value."""
    document = changed.document
    changes = []
    for value in changed.values():
        change: dict[str, Any] = {"kind": value.kind, "path": value.path}
        if not value.kind.endswith("_added"):
            change["old"] = value.old
        if not value.kind.endswith("_removed"):
            change["new"] = value.new
        changes.append(change)
    return {
        "schema": document.schema,
        "name": document.name,
        "layer": document.layer,
        "status": changed.change.value,
        "changes": changes,
    }


def _base_and_diff(req: falcon.Request) -> tuple[Version, Version] | None:
    """Return the versions in the order that the caller chose; None if he did not choose."""
    given = {name: single(req, name) for name in ("base-version", "diff-version")}
    asked = any(single(req, name) for name in ("rendered", "format"))
    if not any(given.values()) and not asked:
        return None
    if req.get_param_as_list("versions") is not None:
        raise VersionsGivenTwice()
    base = _version(
        given["base-version"] or "committed", [version for version in Version if version is not Version.BUFFER]
    )
    new = _version(given["diff-version"] or "buffer", list(Version))
    if base is new:
        raise SameVersion()
    return base, new


def _version(written: str, allowed: Sequence[Version]) -> Version:
    """Return the version; seed 004 writes its words with hyphens."""
    for version in allowed:
        if version.value == written.lower().replace("-", "_"):
            return version
    raise UnknownVersion(written, [version.value for version in allowed])


def _two_versions(req: falcon.Request) -> tuple[Version, Version]:
    given = req.get_param_as_list("versions")
    if given is None:
        return Version.COMMITTED, Version.BUFFER
    if len(given) != 2:
        raise WrongNumberOfVersions()
    first, second = (written.replace("-", "_") for written in given)
    if first == second:
        raise SameVersion()
    for written, word in zip(given, (first, second), strict=True):
        if word not in _VERSIONS:
            raise UnknownVersion(written, _VERSIONS)
    base, new = (version for version in Version if version.value in (first, second))
    return base, new
