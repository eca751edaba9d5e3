"""The cost of documents, and whether it grows with history: ``python benchmarks/design_store.py``.

Loads, renders and lists real sites through the use cases of the API on an embedded Postgres, after 1, 30 and 300
revisions. Seconds are CPU time of this process, the median of several rounds; wall time beside it includes the
database. ``growth`` is the time at the most revisions divided by the time at one, measured alternately. A generated
design of 5,000 documents in 4 layers with 10,000 substitutions is rendered in another process, with its peak memory.

Bounds are multiples of a fixed piece of Python (``reference.loops``) in the same run. Deckhand needed 1.37 s for a load
and 0.88 s for a rendering on another machine, so that column says only the order. Exits 1 if a bound is exceeded.
"""

import gc
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import reference

from shipyard_api.adapters.encryption.fernet import FernetEncryption, new_key
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import (
    BufferMode,
    Collection,
    Query,
    Revision,
    StoredDocument,
    Version,
    parse_documents,
    render,
)
from shipyard_api.storage import migrations
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.read import ReadConfigdocs
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.wiring.settings import share_directory
from shipyard_api.yaml_stream import read_documents, write_documents
from shipyard_simulators.embedded_postgres import server

SITES = Path(__file__).resolve().parents[2] / "shared" / "data" / "sites"
NAMES = ("airsloop", "airskiff", "seaworthy")
HISTORIES = (1, 30, 300)
ROUNDS = 9
BOUNDS = {"load": 90.0, "render cold": 90.0}  # multiples of the reference, for airsloop
DECKHAND = {"load": 1.37, "render cold": 0.88}
GROWTH = 1.15
LARGE_LOOPS, LARGE_MEGABYTES = 400.0, 400


@dataclass
class Times:
    """CPU and wall seconds of one stage, one entry per round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def run(self, work: Callable[[], Any]) -> None:
        gc.collect()
        cpu, wall = process_time(), perf_counter()
        work()
        self.cpu.append(process_time() - cpu)
        self.wall.append(perf_counter() - wall)

    @property
    def typical(self) -> float:
        return statistics.median(self.cpu)


class Store:
    """One site in its own database, with a given number of earlier revisions."""

    def __init__(self, url: str, raw: bytes, revisions: int) -> None:
        self.engine = connect(url, pool_size=2)
        migrations.upgrade(self.engine, share_directory() / "migrations")
        self.schemas = DataSchemas()
        self.designs = SqlDesigns(self.engine, FernetEncryption([new_key()]), self.schemas)
        self.load = LoadConfigdocs(self.designs, SqlWriterLock(self.engine), self.schemas)
        self.raw = raw
        self.times: dict[str, Times] = {}
        self.round = 0
        self._write(raw)
        documents, _ = parse_documents(read_documents(raw))
        for number in range(1, revisions):
            # One of many documents changes, as on a real site.
            chosen = number % len(documents)
            changed = [one if index != chosen else with_label(one, number) for index, one in enumerate(documents)]
            head = self.designs.heads().head
            self.designs.put(Collection("design"), changed, base=head, head=head)
        self.head = self.designs.heads().head

    def measure(self) -> None:
        """Run every stage once."""
        self.round += 1
        extra = f"\n---\n{NOTE.format(number=self.round)}".encode()
        self._time("load", lambda: self._write(self.raw + extra))
        head = self.designs.heads().head
        # A running service has compiled the site's schemas already.
        rendered = RenderedDesigns(self.designs)
        read = ReadConfigdocs(self.designs, rendered)
        self._time("render cold", lambda: text_of(read, head))
        self._time("render cached", lambda: rendered.of(head))
        self._time("list", lambda: self._list(read))

    def _list(self, read: ReadConfigdocs) -> None:
        read.compare(Version.COMMITTED, Version.BUFFER)
        self.designs.revisions(after=Revision(max(self.head - 20, 0)), limit=20)
        read.collection("design", Version.BUFFER, clear=False)

    def _write(self, raw: bytes) -> None:
        self.load("design", BufferMode.REPLACE, read_documents(raw))

    def _time(self, stage: str, work: Callable[[], Any]) -> None:
        self.times.setdefault(stage, Times()).run(work)


NOTE = """\
schema: benchmark/Note/v1
metadata:
  schema: metadata/Document/v1
  name: note
  layeringDefinition: {{layer: site}}
  storagePolicy: cleartext
data: {number}
"""


def with_label(document: Any, number: int) -> Any:
    from msgspec.structs import replace

    return replace(document, metadata={**document.metadata, "labels": {"benchmark": str(number)}})


def text_of(read: ReadConfigdocs, revision: Revision) -> bytes:
    """Render, and write the answer."""
    shown = read.shown(read.design(revision), Query(), clear=True)
    return write_documents(
        {"schema": one.document.schema, "metadata": one.document.metadata, "data": one.document.data} for one in shown
    )


@contextmanager
def databases(count: int) -> Iterator[list[str]]:
    """Yield the addresses of new databases on one server."""
    import psycopg2

    with server.temporary({"fsync": "off", "synchronous_commit": "off"}) as running:
        connection = psycopg2.connect(running.url)
        connection.autocommit = True
        urls = []
        for number in range(count):
            connection.cursor().execute(f"CREATE DATABASE design_{number}")
            urls.append(f"{running.url.rpartition('/')[0]}/design_{number}")
        connection.close()
        yield urls


def sites() -> list[str]:
    """Measure the real sites, and return exceeded bounds."""
    exceeded = []
    for name in NAMES:
        file = SITES / f"{name}.yaml"
        if not file.is_file():
            print(f"{name}: left out, there is no {file}")
            continue
        raw = file.read_bytes()
        with databases(len(HISTORIES)) as urls:
            stores = [Store(url, raw, revisions) for url, revisions in zip(urls, HISTORIES, strict=True)]
            loops = []
            for _ in range(ROUNDS):
                loops.append(reference.loops())
                for store in stores:
                    store.measure()
            exceeded += report(name, stores, statistics.median(loops))
            for store in stores:
                store.engine.dispose()
    return exceeded


def report(name: str, stores: list[Store], loops: float) -> list[str]:
    """Print the table of one site, and return exceeded bounds. ``loops``: seconds of the reference."""
    heading = "".join(f"{f'{revisions} revisions':>18}" for revisions in HISTORIES)
    print(f"\n{name:<14}{heading}{'growth':>10}{'Deckhand / ours':>17}")
    exceeded = []
    for stage in stores[0].times:
        typical = [store.times[stage].typical for store in stores]
        walls = [statistics.median(store.times[stage].wall) for store in stores]
        # Of each round: the machine is not as fast in every one.
        rounds = zip(stores[-1].times[stage].cpu, stores[0].times[stage].cpu, strict=True)
        growth = statistics.median(last / first for last, first in rounds)
        cells = "".join(f"{cpu * 1e3:9.1f} /{wall * 1e3:6.1f}" for cpu, wall in zip(typical, walls, strict=True))
        deckhand = f"{DECKHAND[stage] / typical[0]:.1f}" if stage in DECKHAND and name == "airsloop" else ""
        print(f"  {stage:<14}{cells}{growth:9.2f}x{deckhand:>16}")
        ratio = max(typical) / loops
        if name == "airsloop" and stage in BOUNDS:
            print(f"  {stage:<14}{ratio:9.1f} times the reference (at most {BOUNDS[stage]:g})")
            if ratio > BOUNDS[stage]:
                exceeded.append(f"{name}: {stage} took {ratio:.1f} times the reference, at most {BOUNDS[stage]:g}")
        # Below a millisecond, the measurement is too coarse.
        if growth > GROWTH and typical[-1] - typical[0] > 0.001:
            exceeded.append(f"{name}: {stage} grew {growth:.2f} times with history, the bound is {GROWTH}")
    print("  (milliseconds of processor time / wall clock)")
    return exceeded


def large() -> list[str]:
    """Render the generated design in a fresh process, and return exceeded bounds."""
    said = subprocess.run(
        [sys.executable, __file__, "large"], check=True, capture_output=True, text=True, env=dict(os.environ)
    ).stdout
    documents, substitutions, seconds, ratio, megabytes = said.split()
    print(
        f"\ngenerated: {documents} documents, {substitutions} substitutions: rendered in {float(seconds):.2f} s, "
        f"{ratio} times the reference, peak {megabytes} MB"
    )
    exceeded = []
    if float(ratio) > LARGE_LOOPS:
        exceeded.append(f"the generated design took {ratio} times the reference, at most {LARGE_LOOPS:g}")
    if int(megabytes) > LARGE_MEGABYTES:
        exceeded.append(f"the generated design took {megabytes} MB, the bound is {LARGE_MEGABYTES} MB")
    return exceeded


def render_large() -> None:
    """Render the generated design here, and print its size, the seconds and the peak of memory."""
    from designs import large_design

    documents, findings = parse_documents(large_design(), DataSchemas())
    assert not findings
    stored = [StoredDocument(document, Collection("design"), Revision(1)) for document in documents]
    loops, began = reference.loops(), process_time()
    rendering, wrong = render(stored, DataSchemas())
    seconds = process_time() - began
    loops = (loops + reference.loops()) / 2
    assert rendering is not None, wrong[:3]
    substitutions = sum(len(document.metadata.get("substitutions", ())) for document in documents)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(len(documents), substitutions, f"{seconds:.3f}", f"{seconds / loops:.0f}", peak)


def main() -> int:
    if sys.argv[1:] == ["large"]:
        render_large()
        return 0
    exceeded = [*sites(), *large()]
    for line in exceeded:
        print(f"TOO MUCH: {line}")
    if not exceeded:
        print(f"within all bounds; history makes nothing dearer by more than {GROWTH}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
