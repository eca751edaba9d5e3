"""The peers that check a design at its commit: asked at the same time, all of them, and told in their order."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import BufferMode, Rendering, Revision, RevisionTag
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import Blocked, BufferChanged, BufferEmpty
from shipyard_api.domain.findings import Finding, error, info, warning
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode, Committed, Validator
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from tests.conftest import ROOT
from tests.factories import node_document
from tests.integration.api.wire import small_design
from tests.refusals import refuses
from tests.waiting import PATIENCE


class Desk:
    """What writers of configdocs do, with a sound design in the buffer."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.designs, self.lock = SqlDesigns(engine, None, DataSchemas()), SqlWriterLock(engine)
        self.load("design")

    def load(self, collection: str, *, mode: BufferMode = BufferMode.REPLACE) -> Revision:
        """Load a collection that differs from all that was loaded before."""
        nodes = [f"{collection}-{self.designs.heads().head}"]
        documents = small_design(nodes) if collection == "design" else [node_document(*nodes)]
        return LoadConfigdocs(self.designs, self.lock, DataSchemas())(collection, mode, documents).revision

    def commit(self, *validators: Validator, mode: CommitMode = CommitMode.NORMAL) -> Committed:
        """Commit under the eyes of these peers."""
        rules = DesignRules(SchemaFiles(ROOT / "schemas").check)
        return CommitConfigdocs(self.designs, RenderedDesigns(self.designs), self.lock, rules, validators)(mode)

    def committed(self) -> list[Revision]:
        """Every revision that was ever committed."""
        tagged = self.designs.revisions(tags=[RevisionTag.COMMITTED.value], after=Revision(0), limit=99)
        return [one.revision for one in tagged]


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    engine = connect(database_url, pool_size=4)
    yield Desk(engine)
    engine.dispose()


def commit(url: str, *validators: Validator) -> Sequence[Finding]:
    """Load and commit a sound design under the eyes of these peers, and return what was found."""
    engine = connect(url, pool_size=3)
    outcome = Desk(engine).commit(*validators)
    engine.dispose()
    return [finding for finding in outcome.findings if finding.name != "DeploymentStrategyNotSpecified"]


def meanwhile(do: Callable[[], object], *found: Finding) -> Validator:
    """A peer that takes so long that others get something done."""

    def ask(_revision: int) -> Sequence[Finding]:
        do()
        return found

    return Validator("Drydock", ask)


def test_they_are_asked_at_the_same_time_and_told_in_their_order(database_url: str) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def validator(name: str) -> Validator:
        def ask(revision: int) -> Sequence[Finding]:
            together.wait()  # passes only when all of them have been asked
            return (info(name, f"{name} saw revision {revision}"),)

        return Validator(name, ask)

    found = commit(database_url, *map(validator, ("Drydock", "Promenade", "Another")))

    assert [finding.message for finding in found] == [
        "Drydock saw revision 1",
        "Promenade saw revision 1",
        "Another saw revision 1",
    ]


@pytest.mark.parametrize("kind", [Unavailable, Refused, Busy])
def test_one_that_says_nothing_silences_nobody(database_url: str, kind: type[PeerError]) -> None:
    def silent(_revision: int) -> Sequence[Finding]:
        raise kind("Drydock", "POST /validatedesign", "it is away")

    found = commit(database_url, Validator("Drydock", silent), Validator("Promenade", lambda _: (error("P", "no"),)))

    assert [(finding.source, finding.message) for finding in found] == [
        ("Drydock", "Drydock unable to validate configdocs or an invalid response has been returned"),
        ("", "no"),
    ]
    assert "it is away" in found[0].diagnostic


def test_a_bug_in_one_is_not_taken_for_an_answer(database_url: str) -> None:
    def broken(_revision: int) -> Sequence[Finding]:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        commit(database_url, Validator("Drydock", broken))


class ReportingStore(SqlDesigns):
    """A store that has findings of its own, as Deckhand has. ``broken``: why the design cannot be rendered, if so."""

    reported: tuple[Finding, ...] = ()
    broken: Finding | None = None

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        return self.reported

    def rendered(self, revision: Revision) -> Rendering:
        if self.broken is not None:
            raise RenderingFailed(revision, (self.broken,))
        return super().rendered(revision)


PEER = error("P", "the peer's")
STORE = error("D", "the store's")
RENDERING = error("R", "the rendering's")
HINT = warning("D", "only a hint of the store's")


@pytest.mark.parametrize(
    ("reported", "broken", "found"),
    [
        pytest.param(STORE, None, [STORE], id="an error without a rendering failure"),
        pytest.param(STORE, RENDERING, [RENDERING, STORE], id="an error with a rendering failure"),
        pytest.param(HINT, RENDERING, [RENDERING, HINT], id="a warning with a rendering failure"),
        pytest.param(HINT, None, [HINT, PEER], id="a warning without a rendering failure"),
    ],
)
def test_an_error_of_the_store_and_a_failed_rendering_are_reported_and_no_peer_is_asked(
    desk: Desk, reported: Finding, broken: Finding | None, found: list[Finding]
) -> None:
    store = ReportingStore(desk.engine, None, DataSchemas())
    store.reported, store.broken = (reported,), broken
    desk.designs = store

    outcome = desk.commit(Validator("P", lambda _: (PEER,)))

    # Shipyard's own finding, that there is no strategy, needs a design that can be read.
    assert [one for one in outcome.findings if one.name != "DeploymentStrategyNotSpecified"] == found
    assert (len(outcome.findings) > len(found)) == (PEER in found)
    assert not outcome.committed
    assert desk.committed() == []


def test_a_peer_that_takes_its_time_keeps_nobody_out(desk: Desk) -> None:
    """It may take minutes; the lock of the writers is not held for that."""

    def others() -> None:
        with desk.lock.held():
            pass

    assert desk.commit(meanwhile(others)).committed


def test_what_was_loaded_while_the_peers_looked_is_not_committed_unseen(desk: Desk) -> None:
    looked_at = desk.designs.heads().head

    with refuses(BufferChanged) as refused:
        desk.commit(meanwhile(lambda: desk.load("other", mode=BufferMode.APPEND)))

    assert refused.value.data == {"checked": looked_at, "actual": looked_at + 1}
    assert desk.committed() == []
    assert desk.commit().revision == looked_at + 1
    assert desk.committed() == [looked_at + 1]


def test_of_two_commits_of_different_buffers_one_is_refused(desk: Desk) -> None:
    def another_commits() -> None:
        desk.load("design", mode=BufferMode.REPLACE)
        assert desk.commit().committed

    with refuses(BufferEmpty):
        desk.commit(meanwhile(another_commits))

    assert desk.committed() == [desk.designs.heads().head]


def test_of_many_commits_at_once_one_commits(desk: Desk) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def one_of_them() -> bool:
        looked = threading.Event()

        def look() -> None:
            looked.set()
            together.wait()

        while True:
            try:
                return desk.commit(meanwhile(look)).committed
            except Conflict as refused:
                if looked.is_set() or refused.kind is not Blocked:
                    return False

    with ThreadPoolExecutor(3) as threads:
        outcomes = [threads.submit(one_of_them) for _ in range(3)]

    assert sorted(one.result() for one in outcomes) == [False, False, True]
    assert desk.committed() == [desk.designs.heads().head]


def test_a_writer_who_is_at_it_when_the_peers_have_answered_keeps_the_commit_out(desk: Desk) -> None:
    with ExitStack() as writing, refuses(Blocked):
        desk.commit(meanwhile(lambda: writing.enter_context(SqlWriterLock(desk.engine).held())))

    assert desk.committed() == []


@pytest.mark.parametrize(
    ("mode", "found"), [(CommitMode.DRYRUN, ()), (CommitMode.NORMAL, (error("P", "no"),))], ids=["dry run", "refused"]
)
def test_what_commits_nothing_tells_what_it_found_of_the_buffer_that_it_saw(
    desk: Desk, mode: CommitMode, found: Sequence[Finding]
) -> None:
    looked_at = desk.designs.heads().head

    outcome = desk.commit(meanwhile(lambda: desk.load("design"), *found), mode=mode)

    assert (outcome.revision, outcome.committed) == (looked_at, False)
    assert desk.committed() == []
