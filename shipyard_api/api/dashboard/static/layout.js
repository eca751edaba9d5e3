import { Graph, layout as dagre } from "./vendor/dagre.js";

// Above this, dagre takes seconds; columns by depth, ordered by their parents, are as good to read.
const MOST_FOR_DAGRE = 120;
const GAP = { column: 44, row: 14 };

/** Return the position of each group's left upper corner, the points of each edge, and the size of all. */
export function layout(groups, size) {
  const known = new Set(groups.map((group) => group.name));
  const edges = groups.flatMap((group) => group.depends_on.filter((name) => known.has(name)).map((name) => [name, group.name]));
  return groups.length <= MOST_FOR_DAGRE ? byDagre(groups, edges, size) : byDepth(groups, edges, size);
}

function byDagre(groups, edges, size) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP.row, ranksep: GAP.column, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const group of groups) graph.setNode(group.name, { ...size });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre(graph);
  const at = {};
  for (const group of groups) {
    const { x, y } = graph.node(group.name);
    at[group.name] = { x: x - size.width / 2, y: y - size.height / 2 };
  }
  const { width, height } = graph.graph();
  return { at, width, height, edges: edges.map(([from, to]) => ({ from, to, points: graph.edge(from, to).points })) };
}

function byDepth(groups, edges, size) {
  const parents = new Map(groups.map((group) => [group.name, []]));
  for (const [from, to] of edges) parents.get(to).push(from);
  const depth = new Map();
  const find = (name, path) => {
    if (depth.has(name)) return depth.get(name);
    if (path.has(name)) return 0;
    path.add(name);
    const found = Math.max(-1, ...parents.get(name).map((parent) => find(parent, path))) + 1;
    depth.set(name, found);
    return found;
  };
  const columns = [];
  for (const group of groups) {
    const column = find(group.name, new Set());
    (columns[column] ||= []).push(group.name);
  }
  const row = new Map();
  for (const column of columns) {
    const middle = (name) => {
      const rows = parents.get(name).map((parent) => row.get(parent) ?? 0);
      return rows.length ? rows.reduce((sum, one) => sum + one, 0) / rows.length : 0;
    };
    column.sort((one, other) => middle(one) - middle(other));
    column.forEach((name, place) => row.set(name, place));
  }
  const at = {};
  columns.forEach((column, number) => column.forEach((name, place) => {
    at[name] = { x: 2 + number * (size.width + GAP.column), y: 2 + place * (size.height + GAP.row) };
  }));
  const tallest = Math.max(...columns.map((column) => column.length));
  return {
    at,
    width: columns.length * (size.width + GAP.column) - GAP.column + 4,
    height: tallest * (size.height + GAP.row) - GAP.row + 4,
    edges: edges.map(([from, to]) => ({ from, to, points: [
      { x: at[from].x + size.width, y: at[from].y + size.height / 2 }, { x: at[to].x, y: at[to].y + size.height / 2 },
    ] })),
  };
}
