"""Configdocs: load a collection, fetch it as it was written, commit the buffer."""

from functools import partial
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.documents import YAML, as_yaml, version_of, wants_clear_text
from shipyard_api.api.airship.errors import (
    InvalidBuffermode,
    LengthRequired,
    NoDocuments,
    UnreadableYaml,
)
from shipyard_api.api.airship.statuses import validation_status
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import boolean, one_of, read_body
from shipyard_api.api.http.threads import answer_in_thread, parsed, threaded
from shipyard_api.domain.documents import BufferMode
from shipyard_api.domain.findings import Finding, Level, errors
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.read import ReadConfigdocs
from shipyard_api.yaml_stream import YamlFault, read_documents


class Collection:
    """``/configdocs/{collection_id}``: load a collection, or fetch it (contract: shipyard-rest, 5.2 and 5.3)."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_configdocs",
        "POST": "workflow_orchestrator:create_configdocs",
    }
    cleartext_rule: ClassVar[str] = "workflow_orchestrator:get_configdocs_cleartext"

    def __init__(self, load: LoadConfigdocs, read: ReadConfigdocs, limit: int) -> None:
        self._load = load
        self._read = read
        self._limit = limit

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, collection_id: str) -> None:
        """Answer with the documents as they were written."""
        clear = wants_clear_text(req, self.cleartext_rule)
        version = version_of(req)
        resp.content_type = YAML
        resp.data = as_yaml(self._read.collection(collection_id, version, clear=clear))

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response, collection_id: str) -> None:
        """Put the documents into the buffer."""
        entries: list[Any] = []
        if not boolean(req, "empty-collection", default=False):
            entries = await parsed(_documents, await self._body(req))
            if not entries:
                raise NoDocuments()
        await answer_in_thread(resp, partial(self._post, req, resp, collection_id, entries))

    def _post(self, req: falcon.Request, resp: falcon.Response, collection_id: str, entries: list[Any]) -> None:
        mode = one_of(req, "buffermode", BufferMode, BufferMode.REJECT_ON_CONTENTS, InvalidBuffermode)
        loaded = self._load(collection_id, mode, entries)
        # What was stored is 201 even if something is wrong with it: existing clients read that from the body.
        code = falcon.HTTP_400 if errors(loaded.findings) else falcon.HTTP_201
        resp.status = falcon.HTTP_201
        resp.location = f"{req.root_path}/api/v1.0/configdocs/{falcon.uri.encode_value(collection_id)}"
        resp.media = validation_status(loaded.findings, code=code)

    async def _body(self, req: falcon.asgi.Request) -> bytes:
        if not req.content_length:
            raise LengthRequired()
        return await read_body(req, self._limit)


class Commit:
    """``/commitconfigdocs``: validate the buffer and put it into force (contract: shipyard-rest, 5.5)."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:commit_configdocs"}

    def __init__(self, commit: CommitConfigdocs) -> None:
        self._commit = commit

    @threaded
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


def _documents(body: bytes) -> list[Any]:
    try:
        return read_documents(body)
    except YamlFault as faults:
        findings = [Finding("YamlError", Level.ERROR, str(fault)) for fault in faults.faults]
        raise UnreadableYaml(findings) from faults
