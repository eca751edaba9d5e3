// Nodes by tasks on a canvas: a row is a node, a column a task. A change draws the cells that changed and no others.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";
import { go } from "./address.js";
import { palette, painter } from "./cell_paint.js";

const LARGEST = 15; // no letters: those of cells are of nodes
const SMALLEST = 5;
const NAMES = 130; // pixels for the names of nodes
const NAMED = 12; // pixels of a row that has room for one
// How tasks are drawn: with the shapes of nodes.
const SHAPE = { "-": "n", r: "i", s: "s", f: "f", l: "q" };
const WORD = { "-": "not begun", r: "running", s: "succeeded", f: "failed", l: "left running when the action was stopped" };
const COLLATOR = new Intl.Collator("en", { numeric: true });

/** The rows of a matrix: nodes with failures first, then those at work, each by name. */
export function rowsOf({ nodes, letters }) {
  const rank = letters.map((line) => (line.includes("f") ? 0 : line.includes("r") ? 1 : 2));
  return nodes.map((_, at) => at).sort((one, other) => rank[one] - rank[other] || COLLATOR.compare(nodes[one], nodes[other]));
}

export function TaskMatrix({ matrix, selected }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const drawn = useRef(null);
  const order = useRef({ key: "", rows: [] });
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const [active, setActive] = useState(null);
  const { tasks, nodes, letters } = matrix;
  // Rows stay where they are while someone looks at them, until a node comes or fails.
  const key = nodes.map((name, at) => `${name}${letters[at].includes("f")}`).join(" ");
  if (order.current.key !== key) order.current = { key, rows: rowsOf(matrix) };
  const { rows } = order.current;
  const laid = useMemo(() => {
    if (!width) return null;
    const pitch = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - NAMES) / Math.max(1, tasks.length))));
    const left = pitch >= NAMED ? NAMES : 0;
    const count = rows.length * tasks.length;
    const [x, y] = [new Float64Array(count), new Float64Array(count)];
    for (let cell = 0; cell < count; cell += 1) {
      x[cell] = left + (cell % tasks.length) * pitch;
      y[cell] = Math.floor(cell / tasks.length) * pitch;
    }
    return { pitch, left, x, y, width: left + tasks.length * pitch, height: rows.length * pitch };
  }, [width, tasks.length, rows]);
  const cells = useMemo(() => rows.map((row) => letters[row]).join(""), [rows, letters]);

  useLayoutEffect(() => {
    const measure = () => box.current && setWidth(Math.floor(box.current.clientWidth));
    const watch = new ResizeObserver(measure);
    watch.observe(box.current);
    measure();
    const recolour = () => setTheme((count) => count + 1);
    window.addEventListener("themechange", recolour);
    return () => {
      watch.disconnect();
      window.removeEventListener("themechange", recolour);
    };
  }, []);

  useLayoutEffect(() => {
    if (!laid) return;
    const before = drawn.current;
    if (before && before.laid === laid && before.theme === theme && before.cells.length === cells.length) {
      for (let cell = 0; cell < cells.length; cell += 1) {
        if (before.cells[cell] !== cells[cell]) before.paint.one(cell, SHAPE[cells[cell]], false);
      }
      drawn.current = { ...before, cells };
      return;
    }
    const scale = window.devicePixelRatio || 1;
    canvas.current.width = Math.ceil(laid.width * scale);
    canvas.current.height = Math.ceil(laid.height * scale);
    const colours = palette(box.current);
    const context = canvas.current.getContext("2d");
    const paint = painter(context, laid, scale, colours);
    paint.all(cells.length, (cell) => [SHAPE[cells[cell]], false]);
    if (laid.left) write(context, scale, laid, rows.map((row) => nodes[row]), colours["--text"]);
    drawn.current = { laid, theme, cells, paint };
    performance.mark("matrix");
  }, [laid, cells, theme]);

  useEffect(() => setActive(null), [tasks.length, rows]);
  const under = (event) => {
    const edge = canvas.current.getBoundingClientRect();
    const [row, task] = [Math.floor((event.clientY - edge.top) / laid.pitch), Math.floor((event.clientX - edge.left - laid.left) / laid.pitch)];
    return row >= 0 && row < rows.length && task < tasks.length ? { row, task: Math.max(0, task) } : null;
  };
  const open = (at) => at && go({ node: nodes[rows[at.row]], task: tasks[at.task] });
  const keys = (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (step) {
      event.preventDefault();
      setActive((now) => ({
        row: Math.min(rows.length - 1, Math.max(0, (now?.row ?? 0) + (now ? step[0] : 0))),
        task: Math.min(tasks.length - 1, Math.max(0, (now?.task ?? 0) + (now ? step[1] : 0))),
      }));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(active);
    }
  };
  const said = active && `${nodes[rows[active.row]]}, ${tasks[active.task]}: ${WORD[letters[rows[active.row]][active.task]]}`;
  const mark = (at) => ({ width: `${laid.pitch}px`, height: `${laid.pitch}px`, transform: `translate(${laid.left + at.task * laid.pitch}px, ${at.row * laid.pitch}px)` });
  const column = tasks.indexOf(selected);
  return html`<p class="matrix-now" role="status">${said || `${nodes.length} nodes by ${tasks.length} tasks, in the order in which tasks first began. Nodes with failures come first.`}</p>
    <div class="cell-box matrix" ref=${box}>
      ${laid && html`<div class="cell-inner" style=${{ height: `${laid.height}px`, width: `${laid.width}px` }}>
        <canvas ref=${canvas} tabindex="0" role="application" aria-roledescription="nodes by tasks"
          aria-label=${`${nodes.length} nodes by ${tasks.length} tasks. Arrow keys move, Enter opens a node.`}
          style=${{ width: `${laid.width}px`, height: `${laid.height}px` }} onKeyDown=${keys}
          onFocus=${() => !active && setActive({ row: 0, task: 0 })}
          onPointerMove=${(event) => setActive(under(event))} onPointerLeave=${() => setActive(null)}
          onClick=${(event) => open(under(event))}></canvas>
        ${column >= 0 && html`<i class="cell-mark" style=${{ ...mark({ row: 0, task: column }), height: `${laid.height}px` }}></i>`}
        ${active && html`<i class="cell-mark cursor" style=${mark(active)}></i>`}
      </div>`}
    </div>`;
}

/** Write the names of the rows beside them. */
function write(context, scale, laid, names, colour) {
  context.save();
  context.scale(scale, scale);
  context.font = `${Math.min(12, laid.pitch - 2)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.fillStyle = colour;
  names.forEach((name, row) => context.fillText(name, 0, (row + 0.5) * laid.pitch, laid.left - 8));
  context.restore();
}
