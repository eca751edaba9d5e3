"""One pool of workers for many sites: ``shipyard worker --sites DIR``.

The pool has the database of each site visited every few seconds. A site that needs a worker gets a process of its own,
forked from the pool; one that has needed none for a while has neither a process nor a connection. So a worker stays
what it is for one site: it ends when its database is lost, without effect on other sites. Nor has a database that is
silent: the pool waits for no visit, and what it knows of a site stays until a newer visit is answered.
"""

import contextlib
import gc
import logging
import math
import mmap
import os
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from multiprocessing import Pipe
from typing import NoReturn

from msgspec import Struct

from shipyard_api.adapters.procrastinate import visits
from shipyard_api.adapters.procrastinate.visits import Answer, Question
from shipyard_api.child_processes import die_with_parent
from shipyard_api.observing import request_context
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.programs import launch
from shipyard_api.storage.addresses import conninfo, parameters
from shipyard_api.storage.wakeups import ATTENTION
from shipyard_api.wiring import bootstrap, monitoring, webhooks
from shipyard_api.wiring.settings import Settings, SettingsError
from shipyard_api.wiring.site_files import load_sites

LOG = logging.getLogger(__name__)

# Seconds without work after which a worker ends.
_LINGER = 60.0
# Seconds after which a site gets a worker although it has no work: for its housekeeping.
_REST = 6 * 3600.0
# Seconds until a worker that failed is started again, and a site in trouble is visited again, at most.
_LONGEST_PAUSE = 60.0
# Visits that begin in a second at most, so that many sites do not keep Postgres busy: each takes 10 ms of processor
# time, two thirds of it there. 500 sites are visited within 8 s.
_VISITS_A_SECOND = 64.0
# Visits under way at most: to the databases of one server, and altogether.
_AT_ONE_SERVER, _AT_ONCE = 16, 512
# Seconds beyond [worker] graceful_seconds that workers have to end.
_STOP_SECONDS = 5.0
# Seconds without a turn of the pool after which it does not count as alive.
_STALLED = 60.0
# Seconds between two turns.
_TURN = 0.25
_STOP, _RELOAD, _ENDED = (signal.SIGTERM, signal.SIGINT), signal.SIGHUP, signal.SIGCHLD


class PooledSite(Struct):
    """A site and its worker. ``pid``: 0 without one. ``trouble``: why the latest visit failed.

    ``is_ending``: its worker has been asked to end, which must not be repeated: a second signal ends it at once.
    ``is_visited``: a visit is under way. On the monotonic clock: ``asked_at``, when the latest visit began;
    ``answered_at``, when the latest one began that was answered; ``needed_at``, when the latest one began that found
    work; ``visit_at``, before which the site is not visited again, ``pause`` seconds after a visit that failed;
    ``worked_at``, when it last had a worker; ``again_at``, when its worker was started, or before which one that failed
    is not started again.
    """

    name: str
    settings: Settings
    worked_at: float
    server: tuple[str, ...] = ()
    asked_at: float = -math.inf
    answered_at: float = -math.inf
    needed_at: float = -math.inf
    is_visited: bool = False
    trouble: str = ""
    visit_at: float = 0.0
    pause: float = 1.0
    pid: int = 0
    is_ending: bool = False
    failures: int = 0
    again_at: float = 0.0


class WorkerPool:
    """``read``: returns the sites. ``ask``: has them visited. ``start``: starts a worker and returns its id.

    ``stop``: ends a worker. ``most``: workers at the same time. ``linger``: seconds without work after which one ends.
    ``every``: seconds between two visits of a site.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, Settings | SettingsError]],
        ask: Callable[[Mapping[str, Question]], object],
        start: Callable[[str, Settings], int],
        stop: Callable[[int], object],
        *,
        most: int,
        linger: float = _LINGER,
        every: float = 5.0,
    ) -> None:
        self._read = read
        self._ask = ask
        self._start = start
        self._stop = stop
        self._most = most
        self._linger = linger
        self._every = every
        # Visits that may begin, as of a time.
        self._allowed, self._allowed_at = _VISITS_A_SECOND, -math.inf
        self._waiting: list[str] = []
        self.sites: dict[str, PooledSite] = {}
        # By id, also those of sites that were removed.
        self.workers: dict[int, PooledSite] = {}

    def reload(self, now: float) -> None:
        """Read the sites again: new ones are served from now on; workers of changed and of removed ones end.

        Raises SettingsError, and changes nothing, if the directory cannot be read.
        """
        loaded = self._read()
        before, self.sites = self.sites, {}
        for number, (name, settings) in enumerate(loaded.items()):
            if isinstance(settings, SettingsError):
                LOG.error("site cannot be served", extra={"site": name, "trouble": str(settings)})
                continue
            # Their housekeeping does not begin at the same time.
            site = before.get(name) or PooledSite(name, settings, worked_at=now - _REST * number / len(loaded))
            if site.settings != settings:
                self._let_end(site)
            site.settings, site.failures, site.again_at = settings, 0, 0.0
            site.server = _server(settings)
            self.sites[name] = site
        for name, site in before.items():
            if name not in self.sites:
                self._let_end(site)

    def visit(self, now: float) -> None:
        """Begin the visits that are due and have room: first of sites with a worker, last of those in trouble."""
        earned = (now - self._allowed_at) * _VISITS_A_SECOND
        self._allowed, self._allowed_at = min(_VISITS_A_SECOND, self._allowed + earned), now
        under_way = Counter(site.server for site in self.sites.values() if site.is_visited)
        due = [site for site in self.sites.values() if not site.is_visited and site.visit_at <= now]
        questions = {}
        for site in sorted(due, key=lambda site: (bool(site.trouble), not site.pid, site.visit_at)):
            if self._allowed < 1 or under_way.total() >= _AT_ONCE:
                break
            if under_way[site.server] >= _AT_ONE_SERVER:
                continue
            site.asked_at = now
            try:
                questions[site.name] = _question(site.settings)
            except (StoreUnavailable, SettingsError) as error:
                self.visited(site.name, str(error), now)
                continue
            site.is_visited = True
            under_way[site.server] += 1
            self._allowed -= 1
        self._ask(questions)

    def visited(self, name: str, answer: Answer, now: float) -> None:
        """Note the answer of a visit, or why there is none: such a site is visited again after a pause that grows."""
        site = self.sites.get(name)
        if site is None:
            return
        site.is_visited = False
        self._note(site, answer if isinstance(answer, str) else "")
        if site.trouble:
            site.pause = min(2 * site.pause, _LONGEST_PAUSE)
            site.visit_at = now + site.pause
            return
        site.pause, site.answered_at, site.visit_at = 1.0, site.asked_at, site.asked_at + self._every
        if answer is True:
            site.needed_at = site.asked_at

    def visit_anew(self) -> None:
        """Forget the visits under way: the process that made them is gone."""
        for site in self.sites.values():
            site.is_visited = False

    def tend(self, now: float) -> None:
        """Start the workers that are needed, those first that have waited for longest; end those that are not."""
        wanted = []
        for name, site in self.sites.items():
            if site.pid:
                site.worked_at = now
                # Not by the clock: without an answer it is not known that there is no work.
                if site.answered_at - max(site.needed_at, site.again_at) > self._linger:
                    self._let_end(site)
            elif not site.trouble and (
                site.answered_at - site.needed_at <= self._linger or now - site.worked_at > _rest(site.settings)
            ):
                wanted.append(name)
        order = {name: place for place, name in enumerate(self._waiting)}
        wanted.sort(key=lambda name: order.get(name, len(order)))
        room = self._most - sum(bool(site.pid) for site in self.sites.values())
        ready = [name for name in wanted if self.sites[name].again_at <= now]
        for name in ready[: max(0, room)]:
            site = self.sites[name]
            site.pid, site.again_at = self._start(name, site.settings), now
            self.workers[site.pid] = site
        waiting = [name for name in ready if not self.sites[name].pid]
        if waiting and not self._waiting:
            LOG.error(
                "sites wait for a worker", extra={"sites": waiting[:10], "waiting": len(waiting), "most": self._most}
            )
        self._waiting = waiting

    def ended(self, pid: int, code: int, now: float) -> None:
        """Note that a worker has ended. One that failed is started again after a pause that grows."""
        site = self.workers.pop(pid, None)
        if site is None:
            return
        site.pid, site.is_ending = 0, False
        if not code:
            site.failures = 0
            return
        if now - site.again_at > _LONGEST_PAUSE:
            site.failures = 0  # it worked for a while
        site.failures += 1
        pause = min(2.0 ** min(site.failures - 1, 10), _LONGEST_PAUSE)
        site.again_at = now + pause
        LOG.warning("worker of a site failed", extra={"site": site.name, "code": code, "pause": pause})

    def _let_end(self, site: PooledSite) -> None:
        if site.pid and not site.is_ending:
            site.is_ending = True
            self._stop(site.pid)

    def _note(self, site: PooledSite, trouble: str) -> None:
        """Log the trouble of a site when it begins and when it is over."""
        if trouble and not site.trouble:
            LOG.error("site cannot be visited", extra={"site": site.name, "trouble": trouble})
        elif site.trouble and not trouble:
            LOG.info("site is back", extra={"site": site.name})
        site.trouble = trouble


def _rest(settings: Settings) -> float:
    """Return the seconds after which a site gets a worker although it has no work: to pull its design, or for that."""
    return min(_REST, settings.git.interval) if settings.git.url else _REST


def _server(settings: Settings) -> tuple[str, ...]:
    """Return the server of a site's database; nothing for an address that no visit can use."""
    with contextlib.suppress(StoreUnavailable):  # its visit says so
        known = parameters(settings.database.url)
        return tuple(known.get(name, "") for name in ("host", "hostaddr", "port"))
    return ()


def _question(settings: Settings) -> Question:
    """Return what to ask the database of a site. Raises StoreUnavailable and SettingsError."""
    targets = [target.name for target in webhooks.targets(settings)]
    return Question(conninfo(settings.database.url), ATTENTION, {"webhooks": targets})


class _Visitor:
    """The process that makes the visits. It is started again when it has ended."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._connection, other = Pipe()
        self.pid = _fork(lambda: visits.serve(other))
        other.close()

    def ask(self, questions: Mapping[str, Question]) -> None:
        for asked in questions.items():
            try:
                self._connection.send(asked)
            except BrokenPipeError:
                return  # it has ended, and with SIGCHLD all visits begin anew

    def answers(self) -> Iterator[tuple[str, Answer]]:
        while self._connection.poll():
            try:
                yield self._connection.recv()
            except (EOFError, ConnectionResetError):
                return


def run(directory: str, settings: Settings) -> int:
    """Serve the sites of a directory until SIGTERM or SIGINT, and read it again at SIGHUP; return the exit code.

    Raises SettingsError. ``settings``: of the process.
    """
    signals = {*_STOP, _RELOAD, _ENDED}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    options = settings.worker
    rounded = _Moment()

    def work(name: str, site_settings: Settings) -> int:
        request_context.work_for_site(name)
        monitoring.trace("worker", settings.traces)
        monitoring.observe_worker(options, name)
        return bootstrap.worker(site_settings).run()

    visitor = _Visitor()
    pool = WorkerPool(
        lambda: load_sites(directory),
        lambda questions: visitor.ask(questions),
        lambda name, site_settings: _fork(lambda: work(name, site_settings)),
        lambda pid: os.kill(pid, signal.SIGTERM),
        most=options.sites_at_once,
        every=options.sweep_seconds,
    )
    pool.reload(time.monotonic())
    import_module("networkx")  # which is imported by the first design otherwise, and so by each worker
    gc.freeze()  # garbage collection in the workers would copy what they share
    status = _fork(lambda: _serve_status(settings, rounded)) if options.status_port else 0
    LOG.info("worker pool is ready", extra={"sites": len(pool.sites), "pid": os.getpid()})
    try:
        while True:
            for name, answer in visitor.answers():
                pool.visited(name, answer, time.monotonic())
            pool.visit(time.monotonic())
            pool.tend(time.monotonic())
            rounded.set(time.monotonic())
            received = signal.sigtimedwait(signals, _TURN)
            for pid, code in _ended():
                if pid == status:
                    return code or 1
                if pid == visitor.pid:
                    visitor.start()
                    pool.visit_anew()
                pool.ended(pid, code, time.monotonic())
            if received is not None and received.si_signo in _STOP:
                return 0
            if received is not None and received.si_signo == _RELOAD:
                _reload(pool)
    finally:
        others = (pid for pid in (visitor.pid, status) if pid)
        _end([*pool.workers, *others], options.graceful_seconds + _STOP_SECONDS)


def _reload(pool: WorkerPool) -> None:
    trouble = ""
    try:
        pool.reload(time.monotonic())
    except SettingsError as error:
        trouble = str(error)
    if trouble:
        LOG.error("sites cannot be read", extra={"trouble": trouble})
    else:
        LOG.info("sites are read again", extra={"sites": len(pool.sites)})


class _Moment:
    """A time that this process sets and its children read."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)
        self.set(time.monotonic())

    def set(self, moment: float) -> None:
        self._memory[:] = struct.pack("d", moment)

    def get(self) -> float:
        return float(struct.unpack("d", self._memory[:])[0])


def _serve_status(settings: Settings, rounded: _Moment) -> NoReturn:
    """Serve probes and metrics of the pool: in a process of its own, because a process with threads must not fork."""
    options = replace(settings.worker, stalled_seconds=_STALLED)
    with monitoring.status_port(options, lambda: time.monotonic() - rounded.get()):
        while True:
            signal.pause()


def _fork(program: Callable[[], int]) -> int:
    """Run a program in a child process that ends with this one; return its id."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with_parent()
        if os.getppid() == parent:
            signal.pthread_sigmask(signal.SIG_SETMASK, set())
            code = launch.run_program(program)
    except BaseException:  # noqa: BLE001  # the child must end here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _ended() -> list[tuple[int, int]]:
    """Return the children that have ended, each with its exit code."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def _end(children: Collection[int], seconds: float) -> None:
    """Stop children and wait for them; end those that take longer."""
    left = set(children)
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, _STOP_SECONDS)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        until = time.monotonic() + patience
        while left and (pause := until - time.monotonic()) > 0:
            signal.sigtimedwait({_ENDED}, min(pause, 0.2))
            left -= {pid for pid, _ in _ended()}
