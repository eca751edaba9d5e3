"""The stores that the suite of the design store port runs over: the embedded one, Deckhand's adapter, and a plug-in.

A store joins by a context manager like ``embedded`` and a line in ``STORES``.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.adapters.encryption.fernet import FernetEncryption, new_key
from shipyard_api.domain.documents import CONTROL, DOCUMENT, Collection, DataCheck, Document, Revision, SchemaFault
from shipyard_api.domain.documents.document import with_defaults
from shipyard_api.ports.documents import DesignStore
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.wiring.design_stores import other_store
from shipyard_api.wiring.settings import load
from tests.integration.storage.rows import empty
from tests.waiting import PATIENCE, until

THING = "example/Thing/v1"


@dataclass(frozen=True)
class Home:
    """A store, empty at first.

    ``keeps_order``: the order of a load stays when some of its documents were there before. ``own_schemas``: a
    revision is held to its own data schemas, not to those of the newest.
    """

    designs: DesignStore
    keeps_order: bool = True
    own_schemas: bool = True

    @property
    def head(self) -> Revision:
        return self.designs.heads().head

    def put(self, collection: str, *documents: Document, base: Revision | None = None) -> Revision | None:
        """Load on top of the newest revision, or of ``base``."""
        head = self.head
        return self.designs.put(Collection(collection), documents, base=head if base is None else base, head=head)

    def load(self, collection: str, *documents: Document, base: Revision | None = None) -> Revision:
        """Load something that makes a revision."""
        made = self.put(collection, *documents, base=base)
        assert made is not None
        return made

    def contents(self, revision: Revision) -> dict[str, dict[str, Any]]:
        """Return the data of the documents of a revision, by collection and name."""
        found: dict[str, dict[str, Any]] = {}
        for one in self.designs.documents(revision):
            found.setdefault(one.collection, {})[one.document.name] = one.document.data
        return found

    def since(self, revision: Revision) -> dict[str, int]:
        return {one.document.name: one.since for one in self.designs.documents(revision)}

    def design(self, revision: Revision) -> dict[str, Any]:
        """Return the rendered data of a revision, by name, without what only steers."""
        found = self.designs.rendered(revision).documents
        return {one.document.name: one.document.data for one in found if not one.document.is_control}


def thing(
    name: str, data: Any = None, *, schema: str = THING, layer: str = "site", abstract: bool = False, **metadata: Any
) -> Document:
    """Return a document; ``parent`` (labels) and ``actions`` go into its layering, all else into its metadata."""
    layering: dict[str, Any] = {"layer": layer, "abstract": abstract}
    if "parent" in metadata:
        layering |= {"parentSelector": metadata.pop("parent"), "actions": metadata.pop("actions")}
    about = {"schema": DOCUMENT, "name": name, "layeringDefinition": layering, **metadata}
    return Document(schema, name, layer, with_defaults(about), {"of": name} if data is None else data)


def secret(name: str, text: str, **metadata: Any) -> Document:
    return thing(name, text, schema="deckhand/Passphrase/v1", storagePolicy="encrypted", **metadata)


def control(schema: str, name: str, data: Any) -> Document:
    return Document(schema, name, "", with_defaults({"schema": CONTROL, "name": name}), data)


def policy(*layers: str, name: str = "layering-policy") -> Document:
    return control("deckhand/LayeringPolicy/v1", name, {"layerOrder": list(layers or ("global", "site"))})


def data_schema(schema: str, rule: Mapping[str, Any]) -> Document:
    return control("deckhand/DataSchema/v1", schema, dict(rule))


def substitution(source: Document, dest: str | Mapping[str, Any], *, path: str = ".") -> dict[str, Any]:
    place = {"path": dest} if isinstance(dest, str) else dict(dest)
    return {"src": {"schema": source.schema, "name": source.name, "path": path}, "dest": place}


def compile_schema(schema: Mapping[str, Any]) -> DataCheck:
    """Compile a data schema with the library that real Deckhands use."""
    try:
        jsonschema.Draft4Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError("no JSON schema") from error
    validator = jsonschema.Draft4Validator(schema)

    def check(value: object) -> Sequence[SchemaFault]:
        faults = validator.iter_errors(value)
        return [
            SchemaFault(_pointer(one.absolute_path), _pointer(one.absolute_schema_path), one.message) for one in faults
        ]

    return check


def _pointer(parts: Any) -> str:
    return "".join(f"/{part}" for part in parts)


class Simulators:
    """Deckhand simulators that run as long as there are tests that want them, one for each way to start one."""

    def __init__(self, directory: Path, cleanup: ExitStack) -> None:
        self._directory = directory
        self._cleanup = cleanup
        self._urls: dict[tuple[str, ...], str] = {}

    def url(self, *options: str) -> str:
        """Return the address of one that was started with these options."""
        if options not in self._urls:
            ready = self._directory / f"ready-{len(self._urls)}.json"
            self._urls[options] = self._cleanup.enter_context(simulator(ready, *options))
        return self._urls[options]


@contextmanager
def embedded(request: pytest.FixtureRequest) -> Iterator[Home]:
    """The store in our own database, which the tests of a module share."""
    engine = request.getfixturevalue("engine")
    empty(engine)
    yield Home(SqlDesigns(engine, FernetEncryption([new_key()]), compile_schema))


def deckhand(request: pytest.FixtureRequest) -> AbstractContextManager[Home]:
    """Deckhand's adapter before a simulator that has the faults of the real one."""
    return _adapter(request.getfixturevalue("simulators").url("--with-defects"), "any")


def good_deckhand(request: pytest.FixtureRequest) -> AbstractContextManager[Home]:
    """Deckhand's adapter before a simulator without these faults."""
    return _adapter(request.getfixturevalue("simulators").url("--well-behaved"), "any")


def real_deckhand(_request: pytest.FixtureRequest) -> AbstractContextManager[Home]:
    """Deckhand's adapter before the Deckhand that the environment names, of which nothing is left."""
    return _adapter(os.environ["DECKHAND_URL"].rstrip("/"), os.environ["DECKHAND_TOKEN"])


def why_no_real_deckhand() -> str:
    """Return why the suite does not run over a real Deckhand; empty if it does."""
    if not os.environ.get("DECKHAND_URL") or not os.environ.get("DECKHAND_TOKEN"):
        return "no Deckhand is named: set DECKHAND_URL (ending in /api/v1.0) and DECKHAND_TOKEN"
    if os.environ.get("DECKHAND_PURGE") != "yes":
        return "each test deletes everything in the Deckhand of DECKHAND_URL: set DECKHAND_PURGE=yes if it may"
    return ""


@contextmanager
def _adapter(url: str, token: str) -> Iterator[Home]:
    purge = urllib.request.Request(f"{url}/revisions", method="DELETE", headers={"X-Auth-Token": token})
    with urllib.request.urlopen(purge, timeout=PATIENCE) as answer:
        assert answer.status == 204
    client = DeckhandClient(url, token=lambda: token, read_pause=0.0)
    yield Home(DeckhandDesigns(client, b"key"), keeps_order=False, own_schemas=False)
    client.close()


@contextmanager
def simulator(ready: Path, *options: str) -> Iterator[str]:
    """Run a Deckhand simulator as a process and yield its address."""
    command = [sys.executable, "-m", "shipyard_simulators.deckhand", "--port", "0", "--ready-file", str(ready)]
    with subprocess.Popen([*command, *options], cwd=Path(__file__).parents[2]) as process:
        try:
            until(lambda: ready.exists() or process.poll() is not None, every=0.01)
            yield f"{json.loads(ready.read_text())['url'].rstrip('/')}/api/v1.0"
        finally:
            process.terminate()


@contextmanager
def files(request: pytest.FixtureRequest) -> Iterator[Home]:
    """The store of the how-to, installed as a plug-in."""
    request.getfixturevalue("file_store_plugin")
    settings = load({"SHIPYARD_FILES_URL": request.getfixturevalue("tmp_path").as_uri()})
    yield Home(other_store(settings, "files", fingerprint_key="key"))


Start = Callable[[pytest.FixtureRequest], AbstractContextManager[Home]]
STORES: dict[str, Start] = {"embedded": embedded, "deckhand": deckhand, "good-deckhand": good_deckhand, "files": files}
if not why_no_real_deckhand():
    STORES["real-deckhand"] = real_deckhand
