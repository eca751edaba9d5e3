"""``shipyard import deckhand``: from a Deckhand with a history into the store that the API serves."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import falcon
import pytest
import requests
import sqlalchemy as sa
import yaml
from falcon.testing import Result

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.adapters.encryption.fernet import FernetEncryption
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import Revision
from shipyard_api.programs.imports import run
from shipyard_api.programs.launch import run_program
from shipyard_api.settings.types import Address, HeaderSecret
from shipyard_api.storage import tables as t
from shipyard_api.storage.designs import RevisionImport
from shipyard_api.usecases.configdocs.import_revisions import ImportRevisions
from shipyard_api.wiring import bootstrap
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.simulator import running
from tests.factories import document, layering_policy
from tests.forked import Program
from tests.integration.api.conftest import KEY, known_tokens
from tests.integration.api.conftest import settings as configured
from tests.integration.api.wire import Caller, Site
from tests.waiting import PATIENCE

REVISIONS = 12
PASSPHRASE = "deckhand/Passphrase/v1"


@dataclass
class Deckhand:
    """A simulated Deckhand, and what an Airship site does with one."""

    url: str
    tags: dict[int, dict[str, Any]] = field(default_factory=dict)

    def put(self, bucket: str, *documents: Mapping[str, Any]) -> None:
        self._ask("PUT", f"buckets/{bucket}/documents", yaml.safe_dump_all(documents))

    def tag(self, revision: int, tag: str, data: dict[str, Any] | None = None) -> None:
        self._ask("POST", f"revisions/{revision}/tags/{tag}", yaml.safe_dump(data) if data else "")
        self.tags.setdefault(revision, {})[tag] = data or {}

    def rollback(self, revision: int) -> None:
        self._ask("POST", f"rollback/{revision}", "")

    def revisions(self) -> dict[int, str]:
        (found,) = self._ask("GET", "revisions")
        return {one["id"]: one["createdAt"] for one in found["results"]}

    def hashes(self, revision: int) -> dict[str, str]:
        return hashes(self.read(f"revisions/{revision}/rendered-documents"))

    def read(self, path: str) -> list[Any]:
        return self._ask("GET", path)

    def _ask(self, method: str, path: str, body: str | None = None) -> list[Any]:
        headers = {"X-Auth-Token": "any", "Content-Type": "application/x-yaml"}
        answer = requests.request(method, f"{self.url}/{path}", data=body, headers=headers, timeout=PATIENCE)
        assert answer.ok, answer.text
        return [one for one in yaml.safe_load_all(answer.text) if one is not None]


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str


Import = Callable[..., Ended]


def hashes(documents: list[dict[str, Any]]) -> dict[str, str]:
    """The hash of each document of a rendering, of its metadata, data and bucket."""
    return {
        f"{one['schema']} {one['metadata']['name']}": hashlib.sha256(
            json.dumps([one["metadata"], one["data"], one["status"]["bucket"]], sort_keys=True).encode()
        ).hexdigest()
        for one in documents
    }


def site_documents(number: int) -> list[dict[str, Any]]:
    """A passphrase, a parent, a child of it that takes the passphrase: something to render."""
    return [
        document(PASSPHRASE, "admin", f"secret-{number // 3}", storagePolicy="encrypted"),
        document(
            "a/Chart/v1",
            "parent",
            {"port": number, "password": ""},
            labels={"name": "parent"},
            layeringDefinition={"abstract": True, "layer": "global"},
        ),
        document(
            "a/Chart/v1",
            "child",
            {"replicas": 2},
            layeringDefinition={
                "layer": "site",
                "parentSelector": {"name": "parent"},
                "actions": [{"method": "merge", "path": "."}],
            },
            substitutions=[
                {"src": {"schema": PASSPHRASE, "name": "admin", "path": "."}, "dest": {"path": ".password"}}
            ],
        ),
    ]


def live(deckhand: Deckhand, revisions: int = REVISIONS) -> None:
    """Let a site work: its documents need another bucket at first, change, are committed, deployed and rolled back."""
    deckhand.put("software", *site_documents(0)[1:])  # renders only with the next two
    deckhand.put("policy", layering_policy())
    deckhand.put("secrets", site_documents(0)[0])
    deckhand.tag(3, "committed")
    for number in range(4, revisions + 1):
        if number == revisions - 2:
            deckhand.rollback(3)
            deckhand.tag(number, "rollback_commit")
        elif number % 3:
            deckhand.put("software", *site_documents(number)[1:])
        else:
            deckhand.put("secrets", site_documents(number)[0])
            deckhand.tag(number, "committed")
            deckhand.tag(number, "site-action-success", {"dag_id": f"deploy_site.{number}"})


@pytest.fixture
def behaviour() -> Behaviour:
    """A Deckhand that renders correctly, unless a test wants another one."""
    return Behaviour()


@pytest.fixture
def deckhand(behaviour: Behaviour) -> Iterator[Deckhand]:
    with running(behaviour=behaviour) as simulator:
        yield Deckhand(f"{simulator.url}/api/v1.0")


@pytest.fixture
def settings(shared_url: str) -> dict[str, str]:
    return {
        "SHIPYARD_CONFIG": os.devnull,
        "DATABASE_URL": shared_url,
        "SHIPYARD_DECKHAND_TOKEN": "any",
        "SHIPYARD_SECRETS_KEYS": KEY,
    }


@pytest.fixture
def run_import(
    settings: dict[str, str], deckhand: Deckhand, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Import:
    """The command in this process."""

    def command(*words: str, **other: str) -> Ended:
        for name, value in {**settings, **other}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["shipyard", "deckhand", "--url", deckhand.url, *words])
        try:
            code = run_program(run)
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Ended(code, *capsys.readouterr())

    return command


def served(site: Site) -> dict[int, dict[str, str]]:
    """The hashes of each revision as a client of the API sees them."""
    found = {}
    for one in site.designs.revisions(after=Revision(0), limit=1000):
        answer = site.admin.get(f"/revisions/{one.revision}/rendered-documents", cleartext_secrets="true")
        if answer.status == falcon.HTTP_200:
            found[int(one.revision)] = hashes(list(yaml.safe_load_all(answer.text)))
    return found


def stored(site: Site) -> dict[int, tuple[str, dict[str, Any]]]:
    """The time and the tags of each revision."""
    return {
        int(one.revision): (one.created_at.replace(tzinfo=None).isoformat(), dict(one.tags))
        for one in site.designs.revisions(after=Revision(0), limit=1000)
    }


def expected(deckhand: Deckhand) -> dict[int, tuple[str, dict[str, Any]]]:
    return {number: (at, deckhand.tags.get(number, {})) for number, at in deckhand.revisions().items()}


def test_revisions_are_served_with_their_numbers_times_tags_and_equal_hashes(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    live(deckhand)

    ended = run_import()

    assert ended.err == ""
    assert ended.out.splitlines()[-1] == f"{REVISIONS} revision(s) imported, 0 of them render differently; 0 left out"
    assert ended.code == 0
    assert stored(site) == expected(deckhand)
    ours = served(site)
    assert sorted(ours) == [*range(3, REVISIONS + 1)]
    assert ours == {number: deckhand.hashes(number) for number in ours}
    assert "secret-" not in ended.out


REQUESTS = [
    "/configdocs",
    "/configdocs?versions=committed&versions=last_site_action",
    "/configdocs?versions=committed&versions=successful_site_action",
    *(
        f"/{what}?version={version}"
        for what in ("configdocs/software", "renderedconfigdocs")
        for version in ("buffer", "committed", "last_site_action", "successful_site_action")
    ),
    *(f"/revisions/{number}/rendered-documents?cleartext-secrets=true" for number in (1, 3, 9, 10)),
]
"""What clients of Airship read, and what Drydock fetches."""


def test_clients_get_the_answers_that_they_got_before_the_cut_over(
    site: Site, deckhand: Deckhand, run_import: Import, shared_url: str
) -> None:
    live(deckhand, revisions=9)
    options = DeckhandOptions(url=Address(deckhand.url), token=HeaderSecret("any"))
    old = Caller(bootstrap.api(configured(shared_url, site.drydock.url, options)), known_tokens()[0][0])
    before = {path: old.get(path) for path in REQUESTS}

    run_import()

    for path, answer in before.items():
        after = site.admin.get(path)
        assert after.status == answer.status, path
        # Findings of a design that does not render are worded by its store.
        assert answer.status != falcon.HTTP_200 or read(after) == read(answer), path
    assert len({answer.status for answer in before.values()}) > 1
    assert site.admin.load("more", document("a/B/v1", "one", {"x": 1})).status == falcon.HTTP_201
    assert site.designs.heads().head == 10


def read(answer: Result) -> object:
    """The content of an answer, without row numbers, order of documents, and fingerprints of secrets."""
    documents = list(yaml.safe_load_all(re.sub("[0-9a-f]{64}", "fingerprint", answer.text)))
    for one in documents:
        if isinstance(one, dict):
            one.pop("id", None)
    return sorted(documents, key=lambda one: json.dumps(one, sort_keys=True))


def test_a_killed_import_goes_on_and_imports_nothing_twice(
    site: Site, deckhand: Deckhand, run_import: Import, settings: dict[str, str]
) -> None:
    live(deckhand, revisions=15)
    reading, writing = os.pipe()
    environment = {**os.environ, **settings}
    process = Program("shipyard_api.programs.imports", ["deckhand", "--url", deckhand.url], environment, writing)
    os.close(writing)
    said = b""
    while b"revision 5" not in said:
        assert select.select([reading], [], [], PATIENCE)[0]
        said += os.read(reading, 65536)
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    os.close(reading)

    ended = run_import()

    assert ended.code == 0
    # The database may have kept what was under way when the process died, so only the second import knows.
    begin, rest = ended.out.split("\n", 1)
    begun = int(begin.removeprefix("the store has the revisions up to "))
    assert 5 <= begun <= 15
    assert f"revision {begun}" not in rest
    assert stored(site) == expected(deckhand)
    ours = served(site)
    assert ours == {number: deckhand.hashes(number) for number in ours}


class Broken(Exception):
    """The process died here."""


def test_an_import_may_end_at_any_request_or_transaction(site: Site, deckhand: Deckhand, engine: sa.Engine) -> None:
    live(deckhand, revisions=4)
    left = 0

    def breaking(target: Any) -> Any:
        class Proxy:
            def __getattr__(self, name: str) -> Any:
                def call(*words: Any, **more: Any) -> Any:
                    nonlocal left
                    if not left:
                        raise Broken
                    left -= 1
                    return getattr(target, name)(*words, **more)

                return call

        return Proxy()

    source = DeckhandDesigns(DeckhandClient(deckhand.url, token=lambda: "any"), b"")
    importer = RevisionImport(engine, FernetEncryption([KEY]))
    revisions = ImportRevisions(breaking(source), site.designs, breaking(importer), DataSchemas(), True)
    allowed = 0
    while True:
        allowed, left = allowed + 3, allowed + 3
        with engine.begin() as connection:
            for table in (t.revision_tags, t.revision_documents, t.revisions):
                connection.execute(table.delete())
        before = 0
        try:
            list(revisions.run(store=True))
            whole = True
        except Broken:
            whole = False
            before = site.designs.heads().head
        left = 1000
        imported = [int(one.record.revision) for one in revisions.run(store=True)]
        if whole:
            break
        assert imported == [number for number in range(1, 5) if number > before]
        assert stored(site) == expected(deckhand)
    assert allowed > 12


def test_a_dry_run_shows_the_same_lines_and_changes_nothing(site: Site, deckhand: Deckhand, run_import: Import) -> None:
    assert run_import() == Ended(0, "0 revision(s) imported, 0 of them render differently; 0 left out\n", "")
    assert stored(site) == {}
    live(deckhand, revisions=6)
    away = run_import("--url", "http://127.0.0.1:9/api/v1.0")
    assert (away.code, away.out, away.err.count("\n")) == (1, "", 1)
    assert away.err.startswith("Error: Deckhand GET /revisions: no connection")

    dry, again, ended = run_import("--dry-run"), run_import("--dry-run"), run_import()

    assert dry == again
    assert dry.out.splitlines()[:-1] == ended.out.splitlines()[:-1]
    assert dry.out.splitlines()[-1] == "6 revision(s) would be imported, 0 of them render differently; 0 left out"
    assert dry.out.splitlines()[0] == "revision 1: software: renders neither in Deckhand nor here"
    assert dry.out.splitlines()[2] == "revision 3 [committed]: policy, secrets, software: 3 document(s), renders alike"
    # What came after an import is imported by the next one, unless the store is in use since.
    deckhand.tag(6, "site-action-failure", {"dag_id": "x"})
    deckhand.put("secrets", site_documents(40)[0])
    assert run_import().out.splitlines()[1:] == [
        "revision 7: policy, secrets, software: 3 document(s), renders alike",
        "1 revision(s) imported, 0 of them render differently; 0 left out",
    ]
    assert stored(site) == expected(deckhand)
    site.designs.tag(Revision(5), "site-action-success", {})
    deckhand.put("secrets", site_documents(41)[0])
    used = run_import()
    assert used.code == 1
    assert "the document store is in use: its revision 5 has the tag site-action-success" in used.err
    assert len(stored(site)) == 7


def test_a_store_with_other_revisions_is_refused_and_stays_as_it_was(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    live(deckhand, revisions=3)
    site.admin.load("design", layering_policy())
    before = stored(site)

    ended = run_import()

    assert (ended.code, ended.out.count("\n")) == (1, 1)
    assert ended.err == (
        "Error: the document store is not empty: its revision 1 is not from Deckhand. Nothing was changed. "
        "Import into an empty database\n"
    )
    assert stored(site) == before


def test_a_revision_whose_secrets_no_revision_shows_is_left_out(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    passphrase, _, child = site_documents(0)
    child["metadata"]["substitutions"][0]["src"]["name"] = "nobody"
    deckhand.put("secrets", passphrase, child, layering_policy())
    # Without a key, secrets are refused before anything is stored.
    locked = run_import(SHIPYARD_SECRETS_KEYS="")
    assert locked.code == 2
    assert locked.err == (
        "Error: [secrets] keys is not set, and the source has secrets, such as deckhand/Passphrase/v1 'admin'\n"
    )
    assert stored(site) == {}
    deckhand.put("secrets", site_documents(9)[0], layering_policy())
    deckhand.put("secrets", *site_documents(0), layering_policy())
    # Then it shows hashes, which are not taken for secrets.
    deckhand.read("revisions/3/rendered-documents?cleartext-secrets=false")

    ended = run_import()

    assert ended.out.splitlines() == [
        "revision 1: secrets: left out, Deckhand does not show the secrets of deckhand/Passphrase/v1 'admin'",
        "revision 2: secrets: 2 document(s), renders alike",
        "revision 3: secrets: left out, Deckhand does not show the secrets of deckhand/Passphrase/v1 'admin'",
        "1 revision(s) imported, 0 of them render differently; 2 left out",
    ]
    assert ended.code == 1
    assert sorted(stored(site)) == [2]


def test_the_secrets_of_a_revision_that_does_not_render_come_from_a_later_one(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    passphrase, parent, child = site_documents(0)
    astray = copy.deepcopy(child)
    astray["metadata"]["substitutions"][0]["src"]["name"] = "missing"
    deckhand.put("software", parent, astray, layering_policy())
    deckhand.put("secrets", passphrase)
    deckhand.put("software", parent, child, layering_policy())

    ended = run_import()

    assert ended.out.splitlines() == [
        "revision 1: software: renders neither in Deckhand nor here",
        "revision 2: secrets, software: renders neither in Deckhand nor here",
        "revision 3: secrets, software: 3 document(s), renders alike",
        "3 revision(s) imported, 0 of them render differently; 0 left out",
    ]
    assert (ended.code, stored(site)) == (0, expected(deckhand))


def test_a_revision_that_only_deckhand_renders_is_imported_with_the_reason(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    deckhand.put("policy", layering_policy())
    deckhand.put("policy")
    deckhand.put("all", document("a/B/v1", "one", {"x": 1}))

    ended = run_import()

    assert ended.code == 1
    assert ended.out.splitlines() == [
        "revision 1: policy: 1 document(s), renders alike",
        *(
            f"revision {about}: renders only in Deckhand: The design holds no deckhand/LayeringPolicy/v1, so the order "
            "of its layers is not known."
            for about in ("2: empty", "3: all")
        ),
        "3 revision(s) imported, 2 of them render differently; 0 left out",
    ]
    assert stored(site) == expected(deckhand)


@pytest.mark.parametrize("behaviour", [Behaviour().with_defects()], ids=["with defects"])
def test_a_document_that_deckhand_renders_otherwise_is_named(
    site: Site, deckhand: Deckhand, run_import: Import
) -> None:
    # Deckhand deletes the first equal value that it finds, here of another key.
    parent = document(
        "a/Chart/v1", "parent", {"a": "x", "b": "x"}, labels={"name": "parent"},
        layeringDefinition={"abstract": True, "layer": "global"},
    )  # fmt: skip
    layering = {"layer": "site", "parentSelector": {"name": "parent"}, "actions": [{"method": "delete", "path": ".b"}]}
    deckhand.put("all", layering_policy(), parent, document("a/Chart/v1", "child", {}, layeringDefinition=layering))

    ended = run_import()

    assert ended.code == 1
    assert ended.out.splitlines() == [
        "revision 1: all: 1 of 2 document(s) render differently: a/Chart/v1 'child'",
        "1 revision(s) imported, 1 of them render differently; 0 left out",
    ]
    assert sorted(stored(site)) == [1]
