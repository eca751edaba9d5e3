"""How close the software stage comes to its critical path: ``python benchmarks/pace.py [--nodes 1000] [FILE ...]``.

Plays the plan of each graph in virtual time. The length of a task on a node is lognormal with sigma 0.3, 0.6 and 1.0;
the scheduler knows none of the lengths in advance. FILE and the sites are those of ``task_graph.py``.

The first ratio is that to the critical path, which knows all lengths: the longest way through the graph, between two
points the work of a window (the strategy of a group) by its width, all work by the nodes at once, and what one node has
to do. The second is that to a bound for schedulers that, like ours, do not know them. Tasks between two points then
take as long as they would without any order: begun one after another, as in the run, as soon as there is room. Lengths
have nothing to do with that order, so on average no scheduler is faster. Exits 1 if a run takes more than 1.05 times as
long as that.

Tasks of 9.2 whose condition is an expression that is not evaluated run, as those do that replace them.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from task_graph import made_up_graph, site_of

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.execution import Ended, Execution, Piece, Rules
from shipyard_api.domain.task_graph.flow import Cell, Flow
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.plan import Site, plan
from shipyard_api.domain.task_graph.roles import facts_of
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks

SIGMAS = (0.3, 0.6, 1.0)
MOST = 1.05
Lengths = dict[tuple[TaskId, NodeName], float]
COMPUTED = ("condition", "cross-depends", "cross-depended-by")


def lengths_of(flow: Flow, sigma: float, seed: int) -> Lengths:
    """Return the length of each task on each node."""
    dice = random.Random(seed)
    return {(cell.task, node): dice.lognormvariate(0, sigma) for cell in flow.cells for node in flow.nodes[cell.number]}


def played(execution: Execution, lengths: Lengths) -> tuple[float, list[tuple[TaskId, NodeName]]]:
    """Return when the run ends, and its tasks on nodes in the order in which they began."""
    clock = 0.0
    begun: list[tuple[TaskId, NodeName]] = []
    ends: list[tuple[float, str, TaskId, NodeName]] = []
    left: dict[str, set[NodeName]] = {}
    piece_of: dict[tuple[TaskId, NodeName], str] = {}

    def begin(pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            left[piece.id] = set(piece.nodes)
            for node in piece.nodes:
                piece_of[piece.task, node] = piece.id
                if piece.goes_on is None:
                    begun.append((piece.task, node))
                    heapq.heappush(ends, (clock + lengths[piece.task, node], piece.id, piece.task, node))

    execution, pieces = execution.advance()
    begin(pieces)
    while ends:
        clock, _, task, node = heapq.heappop(ends)
        piece = piece_of[task, node]
        rest = left.pop(piece) - {node}
        parts = (tuple(sorted(rest)),) if rest else ()
        execution, pieces = execution.advance([Ended(piece, {}, parts)])
        begin(pieces)
    assert execution.has_ended
    return clock, begun


class Bound:
    """When each cell and each point of a run can have ended at the earliest.

    Between two points, the later one ends no sooner than the cells in between take: their work in a window by its
    width, all their work by the nodes at once, and that of each node. ``begun``: the order in which a run began its
    tasks, for a bound of schedulers that do not know lengths.
    """

    def __init__(
        self, flow: Flow, rules: Rules, lengths: Lengths, begun: Sequence[tuple[TaskId, NodeName]] = ()
    ) -> None:
        self._flow, self._lengths = flow, lengths
        self._place = {one: place for place, one in enumerate(begun)}
        self._widths = [(frozenset(range(len(flow.cells))), rules.nodes_at_once)]
        self._widths += [(frozenset(window.cells), window.most) for window in flow.windows]
        self._ends: dict[tuple[int, NodeName], float] = {}
        self._before_cell = [0] * len(flow.cells)  # cells and, above them, points that end before it; as bits
        self._before_point = [0] * len(flow.points)
        self._whole = [0.0] * len(flow.points)
        self._work = [sum(lengths[cell.task, node] for node in flow.nodes[cell.number]) for cell in flow.cells]
        for is_point, index in flow.order:
            if is_point:
                point = flow.points[index]
                self._before_point[index] = self._all_before(point.cells, point.before)
                self._whole[index] = self._end(self._before_point[index])
            else:
                self._add(index)

    @property
    def end(self) -> float:
        """When the run can have ended at the earliest."""
        return self._end(self._all_before(range(len(self._flow.cells)), range(len(self._flow.points))))

    def _all_before(self, cells: Iterable[int], points: Iterable[int]) -> int:
        offset, found = len(self._flow.cells), 0
        for cell in cells:
            found |= self._before_cell[cell] | 1 << cell
        for point in points:
            found |= self._before_point[point] | 1 << offset + point
        return found

    def _add(self, index: int) -> None:
        cell = self._flow.cells[index]
        self._before_cell[index] = self._all_before(cell.after, cell.points)
        after_points = max((self._whole[point] for point in cell.points), default=0.0)
        for node in self._nodes(cell):
            begins = max([after_points, *(self._ends[earlier, node] for earlier in cell.after)])
            self._ends[index, node] = begins + self._lengths[cell.task, node]

    def _end(self, before: int) -> float:
        """Return when these cells and points can have ended at the earliest."""
        offset = len(self._flow.cells)
        cells = [index for index in range(offset) if before >> index & 1]
        points = [index for index in range(len(self._flow.points)) if before >> offset + index & 1]
        longest = (self._ends[one, node] for one in cells for node in self._flow.nodes[self._flow.cells[one].number])
        found = max([0.0, *longest, *(self._whole[point] for point in points)])
        for start, between in [(0.0, cells), *((self._whole[point], self._after(point, cells)) for point in points)]:
            for inside, width in self._widths:
                found = max(found, start + self._shortest([index for index in between if index in inside], width))
            found = max(found, start + self._longest_of_a_node(between))
        return found

    def _shortest(self, cells: Sequence[int], width: int) -> float:
        """Return the least time that these cells take on so many nodes at once."""
        if not self._place:
            return sum(self._work[index] for index in cells) / width
        tasks = [(cell.task, node) for cell in map(self._flow.cells.__getitem__, cells) for node in self._nodes(cell)]
        ends = [0.0] * width
        for task in sorted(tasks, key=self._place.__getitem__):
            heapq.heapreplace(ends, ends[0] + self._lengths[task])
        return max(ends)

    def _nodes(self, cell: Cell) -> Sequence[NodeName]:
        return self._flow.nodes[cell.number]

    def _after(self, point: int, cells: Iterable[int]) -> list[int]:
        bit = 1 << len(self._flow.cells) + point
        return [index for index in cells if self._before_cell[index] & bit]

    def _longest_of_a_node(self, cells: Iterable[int]) -> float:
        work: dict[NodeName, float] = defaultdict(float)
        for index in cells:
            cell = self._flow.cells[index]
            for node in self._nodes(cell):
                work[node] += self._lengths[cell.task, node]
        return max(work.values(), default=0.0)


def tasks_of(file: Path) -> list[dict[str, Any]]:
    """Return the tasks of a stored graph, without what would have to be computed."""
    data = json.loads(file.read_text("utf-8"))
    tasks: list[dict[str, Any]] = data["tasks"] if isinstance(data, dict) else data
    for task in tasks:
        for name in COMPUTED:
            if isinstance(task.get(name), dict):
                del task[name]
    return tasks


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    graphs = {Path(name).name: tasks_of(Path(name)) for name in options.files} or {"made-up graph": made_up_graph()}
    worst = 0.0
    for title, entries in graphs.items():
        graph = TaskGraph.of(parse_tasks(entries))
        nodes, primaries = site_of(options.nodes)
        facts = facts_of(nodes, nodes, status="new", models={"settings": {}, "cluster": {}})
        made, _ = plan(graph, Site(tuple(nodes), primaries, facts))
        if made is None:
            print(f"{title}: cannot be planned without values")
            continue
        rules = Rules.of(graph, made.groups)
        print(f"{title}: {len(made.flow.cells)} cells, windows {[w.most for w in made.flow.windows]}")
        for sigma in SIGMAS:
            lengths = lengths_of(made.flow, sigma, 1)
            start = time.process_time()
            makespan, begun = played(Execution(made.flow, rules), lengths)
            cpu = time.process_time() - start
            known = makespan / Bound(made.flow, rules, lengths).end
            unknown = makespan / Bound(made.flow, rules, lengths, begun).end
            worst = max(worst, unknown)
            print(
                f"  sigma {sigma:.1f}: {makespan:8.1f}, {known:.3f} of the critical path, {unknown:.3f} of the bound "
                f"for unknown lengths; {len(begun)} tasks on nodes, {cpu:.1f} s of CPU",
                flush=True,
            )
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
