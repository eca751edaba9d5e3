"""The task queue of Drydock: one requested task at a time, oldest first, with a pause between two.

One thread starts tasks and logs events when they are due; it sleeps until the next one. Everything else is computed
from the plans on request.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from typing import Any, TypeVar

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.designs import Designs, UnreadableDesign
from shipyard_simulators.drydock.filters import NotEvaluable, select
from shipyard_simulators.drydock.other_actions import plan_action, plan_failure
from shipyard_simulators.drydock.plan import Happening, Plan, names_in
from shipyard_simulators.drydock.site import Site
from shipyard_simulators.drydock.tasks import Task
from shipyard_simulators.events import EventLog
from shipyard_simulators.outcomes import TaskOutcomeKind
from shipyard_simulators.scenario import Scenario

T = TypeVar("T")

USER = "shipyard"  # Drydock keeps the name in a column of 16 characters
_WITHOUT_DESIGN = {"validate_design", "verify_site"}
_WITHOUT_FILTER = {"validate_design", "verify_site", "prepare_site"}


class Orchestrator:
    """All tasks and machines of the site, and the thread that takes tasks from the queue."""

    def __init__(self, scenario: Scenario, clock: Clock, designs: Designs, log: EventLog) -> None:
        self._scenario = scenario
        self._clock = clock
        self._designs = designs
        self._log = log
        self._site = Site(scenario.machines)
        self._tasks: dict[str, Task] = {}
        self._queue: deque[Task] = deque()
        self._due: list[tuple[float, int, Happening]] = []
        self._order = count()
        self._changed = threading.Condition(threading.RLock())
        self._looked = clock.now()
        self._busy_until = -inf
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="orchestrator", daemon=True)

    @property
    def scenario(self) -> Scenario:
        """The current scenario."""
        return self._scenario

    def start(self) -> None:
        """Start taking tasks from the queue."""
        self._thread.start()

    def stop(self) -> None:
        """Stop taking tasks; return when the thread has ended."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()

    def play(self, scenario: Scenario) -> None:
        """Replace the scenario. Tasks that have started keep their plan."""
        with self._changed:
            self._scenario = scenario
            self._site.place(scenario.machines)
            self._changed.notify_all()

    def create(self, action: str, design_ref: str, node_filter: Any, *, render: Callable[[Task, float], T]) -> T:
        """Queue a task and return its state at this moment."""
        with self._changed:
            now = self._clock.now()
            task = Task(action, now, design_ref, node_filter, created_by=USER)
            self._tasks[task.task_id] = task
            self._queue.append(task)
            self._note(
                Happening(
                    now,
                    "task_requested",
                    {
                        "task_id": task.task_id,
                        "action": action,
                        "design_ref": design_ref,
                        "node_filter": node_filter,
                        "nodes": names_in(node_filter),
                    },
                )
            )
            self._write_due(now)
            self._changed.notify_all()
            return render(task, now)

    def probe(self) -> None:
        """Add the finished task that each health check leaves behind."""
        with self._changed:
            now = self._clock.now()
            task = Task("noop", now, created_by=USER, started=now, ended=now)
            self._tasks[task.task_id] = task

    def look(self, read: Callable[[dict[str, Task], Site, float], T]) -> T:
        """Call the function with all tasks, by id, and the site at this moment; return its result."""
        with self._changed:
            now = self._clock.now()
            self._write_due(now)
            return read(self._tasks, self._site, now)

    def purge(self, days: int) -> None:
        """Delete every task older than this many days, including queued and running ones."""
        with self._changed:
            horizon = self._clock.now() - days * 86_400
            old = [task for task in self._tasks.values() if task.parent is None and task.created < horizon]
            self._queue = deque(task for task in self._queue if task not in old)
            for task in old:
                for each in (task, *task.below()):
                    self._tasks.pop(each.task_id, None)
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                now = self._clock.now()
                self._write_due(now)
                if self._stopped:
                    return
                task = self._queue[0] if self._queue else None
                at = self._next_look(task, now) if task else inf
                if task is None or now < at:
                    wake_up = min(at, self._due[0][0] if self._due else inf)
                    self._clock.wait(self._changed, None if wake_up == inf else max(wake_up - now, 0.0))
                    continue
                self._queue.popleft()
                task.started = now
            self._begin(task)

    def _next_look(self, task: Task, now: float) -> float:
        """Return when the queue is next polled with this task in it: every poll interval, never while a task runs."""
        if now < self._busy_until:
            return self._busy_until
        interval = self._clock.scaled(self._scenario.durations["poll_interval"])
        since = max(self._looked, self._busy_until)
        if interval <= 0:
            return since
        return since + interval * max(1, ceil((task.created - since) / interval))

    def _begin(self, task: Task) -> None:
        """Read the design without the lock (the calling client may serve it), then plan the task."""
        nodes: list[str] = []
        fault = ""
        try:
            nodes = self._select(task)
        except (UnreadableDesign, NotEvaluable) as cause:
            fault = str(cause)
        with self._changed:
            plan = Plan(task, self._scenario, self._site, self._clock)
            names: dict[str, object] = {"action": task.action, "nodes": nodes}
            plan.log(task.started, "task_started", **names)
            if not fault:
                plan_action(plan, nodes)
                nothing = not nodes and task.action not in _WITHOUT_FILTER
                if nothing and not self._scenario.quirks["success_of_nothing"]:
                    plan_failure(plan, "the filter selects no node")
            elif self._scenario.quirks["stuck_in_running"]:
                # This task never ends, but the queue continues without it.
                plan.log(task.started, "task_stuck", **names, reason=fault)
            else:
                plan_failure(plan, fault)
            plan.log(
                task.ended,
                "task_ended",
                **names,
                status=task.outcome(),
                successes=task.successes,
                failures=task.failures,
            )
            self._looked = task.started
            self._busy_until = task.started if fault else task.ended
            if task.task_id in self._tasks:
                self._tasks |= {below.task_id: below for below in task.below()}
            self._note(*plan.happenings)

    def _select(self, task: Task) -> list[str]:
        if task.action in _WITHOUT_DESIGN or task.design_ref is None:
            return []
        design = self._designs.read(task.design_ref)
        if design.errors:
            raise NotEvaluable(design.errors[0].message)
        if self._scenario.task_outcome("validate_design").kind is TaskOutcomeKind.FAIL:
            raise NotEvaluable("the scenario says that the design is invalid")
        if task.action in _WITHOUT_FILTER:
            return []
        return sorted(select(design.nodes, task.node_filter))

    def _note(self, *happenings: Happening) -> None:
        for happening in happenings:
            heappush(self._due, (happening.moment, next(self._order), happening))

    def _write_due(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            moment, _, happening = heappop(self._due)
            self._log.write(moment, happening.event, **happening.fields)


def requested(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks that clients requested, oldest first."""
    return [task for task in tasks if task.parent is None and task.action != "noop"]
