"""Configdocs: load, compare, fetch, commit; and the design of a revision for provisioners."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.auth import Policy
from shipyard_api.api.reading import boolean, one_of, read_body
from shipyard_api.api.statuses import validation_status
from shipyard_api.domain.configdocs import BufferMode, Document, Version
from shipyard_api.domain.errors import Invalid, NotFound
from shipyard_api.domain.findings import Finding, Level, errors
from shipyard_api.usecases.commit_configdocs import CommitConfigdocs, CommitMode
from shipyard_api.usecases.load_configdocs import LoadConfigdocs
from shipyard_api.usecases.read_configdocs import ReadConfigdocs
from shipyard_api.yaml_stream import YamlFault, read_documents, write_documents

YAML = "application/x-yaml"
_VERSIONS = ", ".join(version.value for version in Version)


class ConfigdocsStatus:
    """``/configdocs``: compare two versions (contract: shipyard-rest, 5.1)."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_configdocs_status"}

    def __init__(self, read: ReadConfigdocs) -> None:
        self._read = read

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with one entry for each collection in either version."""
        req.context.error_type = "AppError"
        base, new = _two_versions(req)
        resp.media = [
            {
                "collection_name": entry.collection,
                "base_version": entry.base.value,
                "base_revision": entry.base_revision,
                "new_version": entry.new.value,
                "new_revision": entry.new_revision,
                "new_status": entry.status,
                "base_status": "not present" if entry.status == "created" else "present",
            }
            for entry in self._read.compare(base, new)
        ]


class Collection:
    """``/configdocs/{collection_id}``: load a collection, or fetch it (contract: shipyard-rest, 5.2 and 5.3)."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_configdocs",
        "POST": "workflow_orchestrator:create_configdocs",
    }

    def __init__(self, load: LoadConfigdocs, read: ReadConfigdocs, limit: int) -> None:
        self._load = load
        self._read = read
        self._limit = limit

    def on_get(self, req: falcon.Request, resp: falcon.Response, collection_id: str) -> None:
        """Answer with the documents as they were written."""
        req.context.error_type = "AppError"
        version = one_of(req, "version", Version, Version.BUFFER, _no_such_version)
        resp.content_type = YAML
        resp.data = _yaml(self._read.collection(collection_id, version))

    def on_post(self, req: falcon.Request, resp: falcon.Response, collection_id: str) -> None:
        """Put the documents into the buffer."""
        req.context.error_type = "AppError"
        empty = boolean(req, "empty-collection", default=False)
        mode = one_of(req, "buffermode", BufferMode, BufferMode.REJECT_ON_CONTENTS, _no_such_mode)
        entries: list[Any] = []
        if not empty:
            if not req.content_length:
                raise Invalid("Content-Length is a required header", "Content Length is 0 or not specified")
            entries = _documents(read_body(req, self._limit))
            if not entries:
                raise Invalid(
                    "Document(s) invalid syntax or otherwise unsuitable",
                    "The body holds no document; use empty-collection=true to empty the collection",
                )
        self._load(collection_id, mode, entries)
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1.0/configdocs/{falcon.uri.encode_value(collection_id)}"
        resp.media = validation_status((), code="201 Created")


class Commit:
    """``/commitconfigdocs``: validate the buffer and put it into force (contract: shipyard-rest, 5.5)."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:commit_configdocs"}

    def __init__(self, commit: CommitConfigdocs) -> None:
        self._commit = commit

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with everything that was found; 400 if that kept the buffer from being committed."""
        force, dryrun = boolean(req, "force", default=False), boolean(req, "dryrun", default=False)
        mode = CommitMode.DRYRUN if dryrun else CommitMode.FORCE if force else CommitMode.NORMAL
        outcome = self._commit(mode)
        wrong = bool(errors(outcome.findings))
        refused = wrong and mode is CommitMode.NORMAL
        suffix = {CommitMode.DRYRUN: " DRYRUN", CommitMode.FORCE: " FORCED SUCCESS" if wrong else ""}.get(mode, "")
        resp.status = falcon.HTTP_400 if refused else falcon.HTTP_200
        resp.media = validation_status(outcome.findings, code=resp.status, suffix=suffix)


class RevisionDesign:
    """``/revisions/{revision}/rendered-documents``: a design, for a provisioner to fetch (contract: deckhand, A6)."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_renderedconfigdocs"}

    def __init__(self, read: ReadConfigdocs) -> None:
        self._read = read

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision: str) -> None:
        """Answer with the documents that are in force in a revision."""
        if not (revision.isascii() and revision.isdigit() and len(revision) <= 10):
            raise NotFound("Revision not found", "A revision is a whole number")
        resp.content_type = YAML
        resp.data = _yaml(self._read.design(int(revision)))


def _two_versions(req: falcon.Request) -> tuple[Version, Version]:
    given = req.get_param_as_list("versions")
    if given is None:
        return Version.COMMITTED, Version.BUFFER
    if len(given) != 2:
        raise Invalid(
            "Incorrect number of versions for comparison", "User must pass in 2 valid versions for comparison"
        )
    for written in given:
        if written not in [version.value for version in Version]:
            raise Invalid(
                "Invalid version detected",
                f"{written} is not a valid version, which include: {_VERSIONS}",
            )
    if given[0] == given[1]:
        raise Invalid(
            "Versions must be different for comparison", "Versions must be unique in order to perform comparison"
        )
    base, new = (version for version in Version if version.value in given)
    return base, new


def _no_such_version(_written: str) -> Invalid:
    return Invalid(
        "Invalid version query parameter specified",
        "version must be buffer, committed, last_site_action, successful_site_action",
    )


def _no_such_mode(written: str) -> Invalid:
    modes = ", ".join(mode.value for mode in BufferMode)
    return Invalid("Invalid buffermode", f"'{written}' is none of: {modes}")


def _documents(body: bytes) -> list[Any]:
    try:
        return read_documents(body)
    except YamlFault as faults:
        findings = [Finding("YamlError", Level.ERROR, str(fault)) for fault in faults.faults]
        raise Invalid("Document(s) invalid syntax or otherwise unsuitable", findings[0].message, findings) from faults


def _yaml(documents: tuple[Document, ...]) -> bytes:
    return write_documents(
        {"schema": document.schema, "metadata": document.metadata, "data": document.data} for document in documents
    )
