"""A site that is tortured: the site of the covering array, its workers as the program makes them, and their queue.

A turn is what the queue has due, fetched as a worker fetches it, in virtual time. Only one thing happens at a time: a
worker that stands still does so while others work, within its own call.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from falcon.testing import Result
from msgspec import structs
from sqlalchemy import event

from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.adapters.procrastinate.wakeup import QUEUE
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.http import client
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage import clock as site_clock
from shipyard_api.storage import histories
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases import health, retention
from shipyard_api.wiring import bootstrap, parts
from shipyard_api.yaml_stream import write_documents
from shipyard_simulators.drydock.designs import Designs
from shipyard_simulators.maas import simulator as maas
from tests import near_peers
from tests.combinations.hosts import addresses
from tests.combinations.site import API, TEMPLATE, Site
from tests.factories import document, layering_policy, node_document, strategy_document
from tests.simulated_peers import PEERS, Peer
from tests.torture.chance import decided
from tests.torture.clock import TorturedClock
from tests.torture.faults import KINDS
from tests.torture.history import Numbers, TorturedHistory
from tests.torture.plan import Deed, Plan
from tests.torture.virtual_database import VirtualDatabase
from tests.world import KilledError

SWEEP, CHORES = 10.0, 30.0  # seconds between two of a worker
RESTART, FOUND_DEAD, STALLED, OUTAGE = 2.0, 1.5, 7.0, 0.5
MOST_DELIVERIES = 20_000
_AT_ONCE = 20  # deliveries of one moment that take no time
ENDED_STATES = tuple(state.value for state in ENDED)


Strike = Callable[["World", Mapping[str, Any], "Worker | None"], None]


class Wire:
    """A port of a worker with a checkpoint before and after each call; ``local``: what needs no wire."""

    def __init__(self, inner: Any, worker: Worker, local: frozenset[str] = frozenset()) -> None:
        self._inner, self._worker, self._local = inner, worker, local

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._inner, name)
        if name in self._local or not callable(call):
            return call

        def called(*arguments: Any, **named: Any) -> Any:
            self._worker.passed(f"before {name}")
            answer = call(*arguments, **named)
            self._worker.passed(f"after {name}")
            return answer

        return called


class WorkersStore:
    """The real store, with a checkpoint before and after each commit."""

    def __init__(self, inner: Store, worker: Worker) -> None:
        self._inner, self._worker = inner, worker

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        self._worker.transactions += 1
        try:
            with self._inner.begin() as tx:
                yield tx
                self._worker.passed("before commit")
        finally:
            self._worker.transactions -= 1
        self._worker.passed("after commit")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Worker:
    """A worker process as ``bootstrap`` makes it.

    ``stands_still``: it is frozen. ``is_cut_off``: from its peers. ``is_doomed``: it ends with its turn, because others
    take it for dead, or because its database is another one. ``job``: the one that it is at. ``transactions``: how many
    it has open.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.is_up, self.stands_still, self.is_cut_off, self.is_doomed = False, False, False, False
        self.job: int | None = None
        self.transactions = 0
        self.turns: TurnWorker

    def start(self) -> None:
        """Start the process: it remembers nothing."""
        world = self.world
        made = world.made
        provisioner = world.peer.provisioner(lambda revision: made.rendered.inventory(Revision(revision)))
        wired: Any = {
            "store": WorkersStore(made.store, self),
            "provisioner": Wire(provisioner, self, frozenset({"design_reference"})),
            "cluster": Wire(made.cluster, self) if made.cluster else None,
            "cluster_nodes": Wire(made.cluster_nodes, self) if made.cluster_nodes else None,
            "etcd": Wire(made.etcd, self),
            "access": RemoteAccess(Wire(world.hosts, self), addresses),  # type: ignore[arg-type]  # by delegation
        }
        own = replace(made, **wired)
        process = {"os": SimpleNamespace(getpid=lambda: 1), "socket": SimpleNamespace(gethostname=lambda: self.name)}
        with patch.multiple(bootstrap, **process), patch.object(parts, "build", lambda *_: own):
            self.turns = bootstrap.worker(world.settings)
        self.is_up, self.is_doomed, self.transactions = True, False, 0

    def passed(self, point: str) -> None:
        """Pass a checkpoint, at which a fault may strike."""
        self.world.passed(self, point)

    @property
    def is_free(self) -> bool:
        """Whether it takes jobs."""
        return self.is_up and not self.stands_still


class World(Site):
    """A plan being played. ``accepted``: the actions that were answered with 201, and are not lost with a history.

    ``strikes``: what each kind of fault does.
    """

    def __init__(self, url: str, plan: Plan, strikes: Mapping[str, Strike]) -> None:
        self.strikes = strikes
        self.plan, self.names = plan, list(plan.nodes)
        self.of_etcd = [*self.names[:2], "x1", "x2", "x3"]
        self.dice = Random(f"world {plan.seed}")
        self.complaints: list[str] = []
        self.accepted: list[str] = []
        self.armed: list[tuple[int, Deed]] = []  # faults that strike after so many further checkpoints
        self.struck: list[str] = []
        self.dumps_kept = 0  # dumps that are still to be restored
        self.unheard = 0  # answers of the API that no operator will hear
        self.ends_within: list[int] = []  # after so many statements the API process ends, once for each
        self.is_asking = False  # whether the API is at work on a request that writes
        self.mistreats_until = 0.0  # the provisioner answers wrongly
        self.acting: Worker | None = None
        self.is_full = False
        self.foreign: set[str] = set()  # jobs at the provisioner of somebody else
        self.deliveries = 0
        self.kept: dict[str, Numbers] = {}  # what the history was at when a copy was made
        self.histories = 1  # of the database, those that left no sign among them
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        super().__init__(url, plan.row)

    # How the site is made.

    def new_clock(self, url: str) -> TorturedClock:
        """Return the time of the site and of its database, from which on nothing is left to chance."""
        histories.HIGHEST.clear()
        self.virtual = VirtualDatabase.emptied(url)
        self.cleanup.callback(self.virtual.close)
        clock = TorturedClock(database=self.virtual)
        enter = self.cleanup.enter_context
        enter(decided(self.plan.seed, clock.now))
        enter(patch.object(maas, "_LOOK_EVERY", 1e6))
        for module in (health, retention, client):
            enter(patch.object(module, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=clock.advance)))
        enter(patch.object(site_clock, "time", SimpleNamespace(monotonic=clock.monotonic)))
        for calls, call in ((near_peers.BEFORE, self._cut), (near_peers.AFTERWARDS, clock.rest)):
            calls.append(call)
            self.cleanup.callback(calls.remove, call)
        return clock

    def new_peer(self) -> Peer:
        """Return the provisioner, which keeps over a restart what a real one does."""
        plan, name = self.plan, self.row["provisioner"]
        peer = PEERS[name](self.clock, plan.scenario, self.names, keeps=name == "maas", ahead=plan.ahead)
        peer.shown = "/designs"
        read = lambda _, reference: (peer.directory / reference.rpartition("/")[2]).read_bytes()  # noqa: E731
        self.cleanup.enter_context(patch.object(Designs, "_fetch", read))
        self.of_site.await_peers()
        return peer

    @property
    def of_site(self) -> TorturedClock:
        """The clock as what it is."""
        assert isinstance(self.clock, TorturedClock)
        return self.clock

    def joined(self, made: parts.Parts) -> parts.Parts:
        """Return the parts of the API, whose clock is the real one over the database's."""
        made = super().joined(made)
        self.site_clock = made.clock
        self.cleanup.enter_context(patch.object(made.clock, "ahead_of_host", lambda: 0.0))
        return replace(made, rules=structs.replace(made.rules, now=made.clock.now))

    def ahead(self) -> timedelta:
        """Return how far the time of workers is ahead: idle sites follow a clock that was set."""
        anchor = self.site_clock._anchor
        if anchor is None:
            return timedelta(0)
        return anchor.at - (self.clock.at - timedelta(seconds=self.clock.seconds - anchor.seconds))

    def _wire(self, url: str) -> None:
        super()._wire(url)
        self.history = TorturedHistory(self.database, self.of_site, ahead=self.ahead)
        event.listen(self.database, "before_cursor_execute", self._statement)
        self.cleanup.callback(event.remove, self.database, "before_cursor_execute", self._statement)
        self.workers = [Worker(self, f"worker-{number + 1}") for number in range(self.plan.workers)]
        for worker in self.workers:
            worker.start()
        self._every(SWEEP, lambda worker: worker.turns._sweep())
        for chore in range(len(self.workers[0].turns._chores)):
            self._every(CHORES, lambda worker, chore=chore: worker.turns._chores[chore]())

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design."""
        plan, row, further = self.plan, self.row, []
        burn_in = {"burn_in": {"cpu": 20}} if row["burn_in"] == "yes" else {}
        configuration = {
            "armada": {"manifest": "full-site"},
            "physical_provisioner": {**plan.section, **burn_in},
            "kubernetes": {"node_status_interval": 30, "node_status_timeout": 120},
        }
        if self.members:
            etcd = {"name": "kubernetes-etcd", "endpoints": list(self.members.endpoints)}
            further.append(document(ETCD_CLUSTERS, "etcd-clusters", {"clusters": [etcd]}))
        if self.apiserver:
            further.append(document(GENESIS, "genesis", {"hostname": "n00"}))
        if row["templates"] == "requested":
            named = {"selectors": [{"node_names": self.names}], "traits": [TEMPLATE], "requested_traits": [TEMPLATE]}
            further.append(document("shipyard/NodeTraits/v1", "all", named))
        return [
            layering_policy(),
            *(
                node_document(name, **{**others, "labels": {**others["labels"], **labels}})
                for name, others in plan.nodes.items()
            ),
            strategy_document(*plan.groups),
            document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
            *further,
        ]

    def try_commit(self, **labels: str) -> bool:
        """Put a design into force; return whether it is, which needs the provisioner's answer.

        What an earlier try loaded or committed, whose process ended before it could say so, is refused as nothing new.
        """
        documents = self.documents(labels)
        for revision in range(1, 10):
            self.peer.publish(revision, documents)
        loaded = self.ask("POST", "/configdocs/design?buffermode=replace", write_documents(documents))
        if loaded.status_code != 201 and "created no new revision" not in loaded.text:
            return False
        done = self.ask("POST", "/commitconfigdocs")
        return done.status_code == 200 or "no documents in the buffer" in done.text

    # Time and turns.

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Let something happen after so many seconds."""
        heapq.heappush(self._later, (self.clock.seconds + seconds, next(self._order), call))

    def play(self, *, until: Callable[[], bool], most: float) -> bool:
        """Let the site live until something is so, for at most so many seconds; return whether it came to be so."""
        end = self.clock.seconds + most
        moment, at_once = self.clock.seconds, 0
        while not until():
            if self.clock.seconds >= end or self.deliveries > MOST_DELIVERIES:
                return False
            self._happen()
            if not self._deliver():
                self.clock.advance(max(self._next(end) - self.clock.seconds, 0.001))
                continue
            moment, at_once = self.clock.seconds, at_once + 1 if self.clock.seconds == moment else 0
            if at_once > _AT_ONCE:
                # Deliveries take time: else a clock that was set would never be looked at again.
                self.clock.advance(0.1)
        return True

    def open_actions(self) -> list[str]:
        """Return the actions that have not ended, the oldest first."""
        query = "SELECT id FROM actions WHERE NOT state = ANY(%s) ORDER BY id"
        return [action for (action,) in self.virtual.all(query, (list(ENDED_STATES),))]

    def actions_there(self) -> set[str]:
        """Return the actions that the database knows."""
        return {action for (action,) in self.virtual.all("SELECT id FROM actions")}

    def stragglers(self) -> list[str]:
        """Return the jobs that are still watched although their actions have gone on."""
        if not self.has_database:
            return ["unknown: the database is away"]
        query = "SELECT job FROM stragglers WHERE ended_at IS NULL ORDER BY job"
        return [job for (job,) in self.virtual.all(query)]

    @property
    def has_database(self) -> bool:
        """Whether anything can be written."""
        return not self.virtual.is_away and not self.is_full

    def _happen(self) -> None:
        while self._later and self._later[0][0] <= self.clock.seconds:
            heapq.heappop(self._later)[2]()

    def _next(self, end: float) -> float:
        """Return when something happens next, which may be long after its time if nothing can be written."""
        moments = [end, *([self._later[0][0]] if self._later else [])]
        if self.has_database:
            query = "SELECT extract(epoch FROM min(scheduled_at) - now())::float8 FROM procrastinate_jobs"
            (due,) = self.virtual.one(f"{query} WHERE status = 'todo' AND scheduled_at > now()")
            moments += [] if due is None else [self.clock.seconds + due]
        return min(moments)

    def _deliver(self) -> bool:
        """Deliver what is due first to some worker; return whether anything was."""
        free = [worker for worker in self.workers if worker.is_free]
        if not self.has_database or not free:
            return False
        fetch = "SELECT id, queue_name, args->>'action' FROM procrastinate_fetch_job_v2(NULL, NULL)"
        job, queue, action = self.virtual.one(fetch)
        if job is None:
            return False
        self.deliveries += 1
        worker, history = self.dice.choice(free), self.histories

        def run() -> None:
            if queue == QUEUE:
                worker.turns._run(ActionId(action))
            else:
                worker.turns._run_items(ActionId(action), str(job))

        worker.job = job
        seconds = self._done_by(worker, run)
        worker.job = None
        if history == self.histories:
            if seconds is None and self.has_database:
                finish = "SELECT procrastinate_finish_job_v1(id, 'succeeded', true) FROM procrastinate_jobs"
                self.virtual.run(f"{finish} WHERE id = %s AND status IN ('todo', 'doing')", (job,))
            else:
                self.requeue(job, FOUND_DEAD if seconds is None else seconds)
        if self.has_database:
            self.history.read()
        self._let_join()
        return True

    def _done_by(self, worker: Worker, work: Callable[[], object]) -> float | None:
        """Let a worker do something; return after how many seconds it must be done once more, None if it is done."""
        before, self.acting = self.acting, worker
        try:
            work()
        except KilledError:
            self.bury(worker)
            return FOUND_DEAD
        except StoreUnavailable:
            if self.has_database:
                return OUTAGE
            self.bury(worker)  # a worker without a database exits
            return FOUND_DEAD
        finally:
            self.acting = before
        if worker.is_doomed or not self.has_database:
            self.bury(worker)
        return None

    def bury(self, worker: Worker) -> None:
        """Let a worker be gone; a supervisor starts it again."""
        worker.is_up = False

        def restart() -> None:
            if not self.has_database:
                self.later(RESTART, restart)
                return
            worker.start()

        self.later(RESTART, restart)

    def requeue(self, job: int | None, seconds: float) -> None:
        """Put a job back after so many seconds, as other workers do for one that is gone.

        Without a job, all but those of workers that live on: a doomed one sends no heartbeat for what it is at.
        """
        history = self.histories

        def put_back() -> None:
            if history != self.histories:
                return  # the job is another one's number by now
            if not self.has_database:
                self.later(FOUND_DEAD, put_back)
                return
            update = "UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, scheduled_at = NULL"
            at_work = [worker.job for worker in self.workers if worker.job is not None and not worker.is_doomed]
            self.virtual.run(f"{update} WHERE status = 'doing' AND coalesce(id = %s, NOT id = ANY(%s))", (job, at_work))

        self.later(seconds, put_back)

    def _every(self, seconds: float, work: Callable[[Worker], object]) -> None:
        """Let some worker do something now and then."""

        def do() -> None:
            self.later(seconds if self.clock.seconds < self.plan.quiet else 4 * seconds, do)
            free = [worker for worker in self.workers if worker.is_free]
            if self.has_database and free:
                worker = self.dice.choice(free)
                self._done_by(worker, lambda: work(worker))

        self.later(seconds, do)

    def ask(self, method: str, path: str, body: Any = None, *, expect: int | None = None, key: str = "") -> Result:
        """Send a request to the API, and again if its process ends within it.

        A server's error is right only while nothing can be written, or the provisioner answers wrongly. ``key``: the
        Idempotency-Key.
        """
        headers = {"Idempotency-Key": key} if key else {}
        sent = body if isinstance(body, bytes) else json.dumps(body) if body is not None else None
        if body is not None:
            headers["Content-Type"] = "application/x-yaml" if isinstance(body, bytes) else "application/json"
        answer = None
        while answer is None:
            self.is_asking = method != "GET"
            try:
                answer = self.client.simulate_request(method, f"{API}{path}", body=sent, headers=headers)
            except KilledError:
                self.history.add("api", "ended", "info", value={"method": method, "path": path})
            finally:
                self.is_asking = False
        said = f"{method} {path}: {answer.status_code} {answer.text}"
        excused = not self.has_database or self.clock.seconds < self.mistreats_until
        assert answer.status_code < 500 or excused, said
        assert expect in (None, answer.status_code), said
        return answer

    def _statement(self, *_: Any) -> None:
        """Let the API process end before a statement, if it is to."""
        if self.is_asking and self.ends_within:
            self.ends_within[0] -= 1
            if self.ends_within[0] < 0:
                self.ends_within.pop(0)
                raise KilledError

    # Faults.

    def due(self, deed: Deed) -> None:
        """Let a fault strike whose time has come: now, or at one of the next checkpoints of a turn."""
        kind = KINDS[deed.kind]
        if kind.needs_database and not self.has_database:
            self.later(30.0, lambda: self.due(deed))
        elif kind.amid:
            self.armed.append((self.dice.randint(0, 12), deed))
        else:
            self.strike(deed)

    def passed(self, worker: Worker, point: str) -> None:
        """Let the next fault strike that waits for a checkpoint, if it has waited for enough of them."""
        if not self.armed:
            return
        left, deed = self.armed[0]
        kind = KINDS[deed.kind]
        if left > 0 or (kind.outside and worker.transactions) or (kind.needs_database and not self.has_database):
            self.armed[0] = max(left - 1, 0), deed
            return
        self.armed.pop(0)
        self.strike(deed, worker, point)

    def strike(self, deed: Deed, worker: Worker | None = None, point: str = "") -> None:
        """Let a fault happen."""
        self.struck.append(deed.kind)
        where = {"worker": worker.name, "point": point} if worker else {}
        drawn = {name: value for name, value in (deed.value or {}).items() if name != "copy"}  # its name is chance
        self.history.add("fault", deed.kind, "info", value={**where, **drawn})
        self.strikes[deed.kind](self, deed.value or {}, worker)

    def _cut(self) -> None:
        """Let no request through of a worker that is cut off."""
        if self.acting is not None and self.acting.is_cut_off:
            raise ConnectionRefusedError("this host is cut off from its peers")
