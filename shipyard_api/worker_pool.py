"""One pool of workers for many sites: ``shipyard worker --sites DIR``.

The pool visits the database of each site in turn. A site that needs a worker gets a process of its own, forked from
the pool; one that has needed none for a while has neither a process nor a connection. So a worker stays what it is for
one site: it ends when its database is lost, without effect on other sites.
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
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from shipyard_api import programs, request_context
from shipyard_api.adapters.procrastinate import visits
from shipyard_api.adapters.procrastinate.visits import Answer, Question
from shipyard_api.child_processes import die_with_parent
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.settings import Settings, SettingsError
from shipyard_api.site_files import load_sites
from shipyard_api.storage.addresses import conninfo
from shipyard_api.storage.attention import ATTENTION
from shipyard_api.wiring import bootstrap, monitoring, webhooks

LOG = logging.getLogger(__name__)

# Seconds without work after which a worker ends.
_LINGER = 60.0
# Seconds after which a site gets a worker although it has no work: for its housekeeping.
_REST = 6 * 3600.0
# Seconds until a worker that failed is started again, and a site in trouble is visited again, at most.
_LONGEST_PAUSE = 60.0
# The share of the time that visits take at most, so that many sites do not keep Postgres busy.
_VISITING = 0.1
# Seconds beyond [worker] graceful_seconds that workers have to end.
_STOP_SECONDS = 5.0
# Seconds without a round of visits after which the pool does not count as alive.
_STALLED = 60.0
_STOP, _RELOAD, _ENDED = (signal.SIGTERM, signal.SIGINT), signal.SIGHUP, signal.SIGCHLD


@dataclass(slots=True)
class PooledSite:
    """A site and its worker. ``pid``: 0 without one. ``trouble``: why the latest visit failed.

    ``is_ending``: its worker has been asked to end, which must not be repeated: a second signal ends it at once.
    On the monotonic clock: ``needed_at``, when a visit last found work; ``worked_at``, when it last had a worker;
    ``again_at``, when its worker was started, or before which one that failed is not started again; ``visit_at``,
    before which a site in trouble is not visited again: ``pause`` seconds after the latest visit.
    """

    name: str
    settings: Settings
    worked_at: float
    needed_at: float = -math.inf
    trouble: str = ""
    visit_at: float = 0.0
    pause: float = 1.0
    pid: int = 0
    is_ending: bool = False
    failures: int = 0
    again_at: float = 0.0


class WorkerPool:
    """``read``: returns the sites. ``ask``: visits them. ``start``: starts a worker, returns its id. ``stop``: ends it.

    ``most``: workers at the same time. ``linger``: seconds without work after which one ends.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, Settings | SettingsError]],
        ask: Callable[[Mapping[str, Question]], Mapping[str, Answer]],
        start: Callable[[str, Settings], int],
        stop: Callable[[int], object],
        *,
        most: int,
        linger: float = _LINGER,
    ) -> None:
        self._read = read
        self._ask = ask
        self._start = start
        self._stop = stop
        self._most = most
        self._linger = linger
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
            self.sites[name] = site
        for name, site in before.items():
            if name not in self.sites:
                self._let_end(site)

    def visit(self, now: float) -> None:
        """Ask the sites whether they need a worker; and retry a few of those in trouble."""
        sick = sorted(
            (candidate for candidate in self.sites.values() if candidate.trouble),
            key=lambda candidate: candidate.visit_at,
        )
        retried = [candidate for candidate in sick if candidate.visit_at <= now][: visits.AT_ONCE]
        questions = {}
        for site in (*(candidate for candidate in self.sites.values() if not candidate.trouble), *retried):
            name = site.name
            try:
                targets = [target.name for target in webhooks.targets(site.settings)]
                questions[name] = Question(conninfo(site.settings.database.url), ATTENTION, {"webhooks": targets})
            except (StoreUnavailable, SettingsError) as error:
                self._note(name, str(error))
        for name, answer in self._ask(questions).items():
            self._note(name, answer if isinstance(answer, str) else "")
            if answer is True:
                self.sites[name].needed_at = now
        for site in self.sites.values():
            if not site.trouble:
                site.pause = 1.0
            elif site.visit_at <= now:
                site.pause = min(2 * site.pause, _LONGEST_PAUSE)
                site.visit_at = now + site.pause

    def tend(self, now: float) -> None:
        """Start the workers that are needed, those first that have waited for longest; end those that are not."""
        wanted = []
        for name, site in self.sites.items():
            if site.pid:
                site.worked_at = now
                if now - max(site.needed_at, site.again_at) > self._linger:
                    self._let_end(site)
            elif not site.trouble and (now - site.needed_at <= self._linger or now - site.worked_at > _REST):
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

    def _note(self, name: str, trouble: str) -> None:
        """Log the trouble of a site when it begins and when it is over."""
        site = self.sites[name]
        if trouble and not site.trouble:
            LOG.error("site cannot be visited", extra={"site": name, "trouble": trouble})
        elif site.trouble and not trouble:
            LOG.info("site is back", extra={"site": name})
        site.trouble = trouble


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

    pool = WorkerPool(
        lambda: load_sites(directory),
        visits.ask,
        lambda name, site_settings: _fork(lambda: work(name, site_settings)),
        lambda pid: os.kill(pid, signal.SIGTERM),
        most=options.sites_at_once,
    )
    pool.reload(time.monotonic())
    gc.freeze()  # garbage collection in the workers would copy what they share
    status = _fork(lambda: _serve_status(settings, rounded)) if options.status_port else 0
    LOG.info("worker pool is ready", extra={"sites": len(pool.sites), "pid": os.getpid()})
    try:
        while True:
            began = time.monotonic()
            pool.visit(began)
            took = time.monotonic() - began
            until = began + took + max(float(options.sweep_seconds), took / _VISITING)
            while (left := until - time.monotonic()) > 0:
                pool.tend(time.monotonic())
                rounded.set(time.monotonic())
                received = signal.sigtimedwait(signals, min(left, 1.0))
                for pid, code in _ended():
                    if pid == status:
                        return code or 1
                    pool.ended(pid, code, time.monotonic())
                if received is not None and received.si_signo in _STOP:
                    return 0
                if received is not None and received.si_signo == _RELOAD:
                    _reload(pool)
                    break
    finally:
        _end([*pool.workers, *([status] if status else [])], options.graceful_seconds + _STOP_SECONDS)


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
            code = programs.run_program(program)
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
