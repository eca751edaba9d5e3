"""The peers that check a design at its commit: asked at the same time, all of them, and told in their order."""

import threading
from collections.abc import Sequence

import pytest

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.configdocs import BufferMode
from shipyard_api.domain.findings import Finding, error, info
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.commit_configdocs import CommitConfigdocs, CommitMode, Validator
from shipyard_api.usecases.load_configdocs import LoadConfigdocs
from shipyard_api.usecases.rendered_designs import RenderedDesigns
from tests.conftest import ROOT
from tests.integration.api.wire import small_design


def commit(url: str, *validators: Validator) -> Sequence[Finding]:
    """Load and commit a sound design under the eyes of these peers, and return what was found."""
    engine = connect(url, pool_size=3)
    designs, lock = SqlDesigns(engine, None, DataSchemas()), SqlWriterLock(engine)
    LoadConfigdocs(designs, lock, DataSchemas())("design", BufferMode.REPLACE, small_design())
    rules = DesignRules(SchemaFiles(ROOT / "schemas").check)
    outcome = CommitConfigdocs(designs, RenderedDesigns(designs), lock, rules, validators)(CommitMode.NORMAL)
    engine.dispose()
    return [finding for finding in outcome.findings if finding.name != "DeploymentStrategyNotSpecified"]


def test_they_are_asked_at_the_same_time_and_told_in_their_order(database_url: str) -> None:
    together = threading.Barrier(3, timeout=20)

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
