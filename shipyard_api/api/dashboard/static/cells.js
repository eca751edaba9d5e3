// One cell per node on a canvas. A change draws the cells that changed and no others.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";
import { go } from "./address.js";
import { causeOf } from "./cases.js";
import { arrange, blocks, finder } from "./cell_layout.js";
import { paintCell, painter, palette } from "./cell_paint.js";
import { ended } from "./live.js";
import { tally } from "./summary.js";
import { LEGEND, NODE, inRunOrder } from "./words.js";

const TALLEST = 460;

/** The letters of the nodes; those that can no longer start have a letter of their own. */
export function shownLetters(overview, places) {
  const { letters } = overview.nodes;
  if (!letters.includes("n")) return letters;
  const over = new Set(overview.groups.filter((group) => group.status === "failed").map((group) => group.name));
  const isOver = places.groups.map((name) => ended(overview.action) || over.has(name));
  return Array.from(letters, (letter, node) => (
    letter === "n" && places.groups_of[node].every((group) => isOver[group]) ? "x" : letter)).join("");
}

export function Cells({ overview, places, by, group, selected, cause }) {
  if (!places || !overview.nodes.total || places.names.length !== overview.nodes.total) return null;
  return html`<${Grid} ...${{ overview, places, by, group, selected, cause }} />`;
}

/** The places of the nodes that a case names, of all cases; and of the selected one, null without one. */
function framed(overview, places, cause) {
  const { cases = [] } = overview;
  const at = new Map(places.names.map((name, node) => [name, node]));
  const of = (found) => found.nodes.map((name) => at.get(name));
  const chosen = cases.find((found) => causeOf(found) === cause);
  return { all: new Set(cases.flatMap(of)), chosen: chosen ? new Set(of(chosen)) : null };
}

function Grid({ overview, places, by, group, selected, cause }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const drawn = useRef({ laid: null, letters: "" });
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const [hovered, hover] = useState(-1);
  const [cursor, setCursor] = useState(-1);
  const letters = useMemo(() => shownLetters(overview, places), [overview, places]);
  const marks = JSON.stringify((overview.cases || []).map((found) => [causeOf(found), found.nodes]));
  const frames = useMemo(() => framed(overview, places, cause), [marks, places, cause]);
  const order = inRunOrder(overview.groups).map((one) => one.name).join("\n");
  const laid = useMemo(
    () => (width ? arrange(blocks(places, by, order.split("\n")), places.names.length, width, TALLEST) : null),
    [places, by, width, order],
  );
  const find = useMemo(() => laid && finder(laid), [laid]);

  useLayoutEffect(() => {
    const measure = () => box.current && setWidth(Math.floor(box.current.clientWidth));
    const watch = new ResizeObserver(measure);
    watch.observe(box.current);
    measure();
    const recolour = () => setTheme((count) => count + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", recolour);
    window.addEventListener("themechange", recolour);
    return () => {
      watch.disconnect();
      system.removeEventListener("change", recolour);
      window.removeEventListener("themechange", recolour);
    };
  }, []);

  useLayoutEffect(() => {
    if (!laid) return;
    const context = canvas.current.getContext("2d");
    const before = drawn.current;
    const isSame = before.laid === laid && before.theme === theme && before.group === group && before.frames === frames;
    const at = places.groups.indexOf(group);
    const isDim = (node) => (at >= 0 && !places.groups_of[node].includes(at)) || (frames.chosen !== null && !frames.chosen.has(node));
    const cell = (node) => [letters[node], isDim(node), frames.all.has(node)];
    let { paint } = before;
    if (isSame) {
      for (let node = 0; node < letters.length; node += 1) {
        if (before.letters[node] !== letters[node]) paint.one(node, ...cell(node));
      }
    } else {
      const scale = window.devicePixelRatio || 1;
      canvas.current.width = Math.ceil(laid.width * scale);
      canvas.current.height = Math.ceil(laid.height * scale);
      paint = painter(context, laid, scale, palette(box.current));
      paint.all(letters.length, cell);
    }
    if (!before.laid) performance.mark("cells");
    drawn.current = { laid, theme, group, frames, letters, paint };
  }, [laid, letters, theme, group, frames]);

  const under = (event) => {
    const edge = canvas.current.getBoundingClientRect();
    return find ? find(event.clientX - edge.left, event.clientY - edge.top) : -1;
  };
  const open = (node) => node >= 0 && go({ node: places.names[node] });
  const marked = places.names.indexOf(selected);
  const active = hovered >= 0 ? hovered : cursor;

  const keys = (event) => {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (step) {
      event.preventDefault();
      setCursor((now) => neighbour(laid, now < 0 ? Math.max(marked, 0) : now, step));
      hover(-1);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(cursor);
    }
  };
  const next = () => {
    const failed = laid.order.filter((node) => letters[node] === "f");
    const after = failed[(failed.indexOf(cursor) + 1) % failed.length];
    setCursor(after);
    open(after);
  };
  const counts = useMemo(() => tally(letters), [letters]);
  const describe = (node) => `${places.names[node]}: ${NODE[letters[node]].word}${frames.all.has(node) ? ", of the cause" : ""}, ${places.groups_of[node].map((one) => places.groups[one]).join(", ")}`;
  return html`<section class="panel cells" aria-labelledby="cells-title">
    <div class="row"><h2 id="cells-title">Nodes</h2>
      <div class="switch" role="group" aria-label="Arrange by">${["group", "rack"].map((word) => html`
        <button key=${word} aria-pressed=${by === word} onClick=${() => go({ by: word }, { replace: true })}>by ${word}</button>`)}</div>
      ${group && html`<button class="chip" onClick=${() => go({ group: "" })} aria-label=${`Show all groups, not only ${group}`}>${group} ✕</button>`}
      ${frames.chosen && html`<button class="chip" onClick=${() => go({ cause: "" })} aria-label="Show all nodes, not only those of one cause">one cause ✕</button>`}
      ${counts.f && html`<button class="quiet" onClick=${next}>Next failed</button>`}
      <span class="space"></span><${Legend} counts=${counts} />
    </div>
    <div class="cell-box" ref=${box}>
      ${laid && html`<div class="cell-inner" style=${{ height: `${laid.height}px` }}>
        <canvas ref=${canvas} tabindex="0" role="application" aria-roledescription="grid of nodes"
          aria-label=${`${letters.length} nodes by ${by}. Arrow keys move, Enter opens a node.`} aria-describedby="cell-now"
          style=${{ width: `${laid.width}px`, height: `${laid.height}px` }} onKeyDown=${keys}
          onFocus=${() => cursor < 0 && setCursor(marked >= 0 ? marked : laid.order[0])}
          onPointerMove=${(event) => hover(under(event))} onPointerLeave=${() => hover(-1)}
          onClick=${(event) => { const node = under(event); if (node >= 0) { setCursor(node); open(node); } }}></canvas>
        ${laid.labels.map((one) => html`<span class="cell-label" key=${one.name} title=${one.name}
          style=${{ left: `${one.x}px`, top: `${one.y}px`, width: `${one.width + 14}px` }}><b>${one.name}</b> ${one.count}</span>`)}
        ${marked >= 0 && html`<i class="cell-mark" style=${frame(laid, marked)}></i>`}
        ${active >= 0 && html`<i class="cell-mark cursor" style=${frame(laid, active)}></i>
          <span class="tip" style=${tip(laid, active)}>${describe(active)}</span>`}
      </div>`}
    </div>
    <p id="cell-now" class="unseen" role="status">${cursor >= 0 ? describe(cursor) : ""}</p>
  </section>`;
}

function neighbour(laid, from, [right, down]) {
  const [x, y] = [laid.x[from], laid.y[from]];
  if (right) {
    const place = laid.order.indexOf(from) + right;
    return laid.order[Math.min(laid.order.length - 1, Math.max(0, place))];
  }
  let best = from;
  let least = Infinity;
  for (const node of laid.order) {
    const away = (laid.y[node] - y) * down;
    if (away <= 0) continue;
    const cost = away * 4 + Math.abs(laid.x[node] - x);
    if (cost < least) [best, least] = [node, cost];
  }
  return best;
}

// Moved by transforms: what follows the pointer is a layer of its own, and nothing below it is drawn again.
const frame = (laid, node) => ({
  transform: `translate(${laid.x[node] - 2}px, ${laid.y[node] - 2}px)`, width: `${laid.pitch + 1}px`, height: `${laid.pitch + 1}px`,
});

function tip(laid, node) {
  const isRight = laid.x[node] > laid.width * 0.6;
  const x = laid.x[node] + (isRight ? laid.pitch : 0);
  return { transform: `translate(${x}px, ${laid.y[node] + laid.pitch + 6}px)${isRight ? " translateX(-100%)" : ""}` };
}

function Legend({ counts }) {
  const box = useRef(null);
  return html`<ul class="legend" ref=${box} aria-label="Legend">${LEGEND.map((letter) => html`<li key=${letter} class=${counts[letter] ? "" : "none"}>
    <${Swatch} letter=${letter} /><span>${NODE[letter].word}</span>${counts[letter] ? html`<b>${counts[letter].toLocaleString("en")}</b>` : ""}</li>`)}</ul>`;
}

export function Swatch({ letter }) {
  const canvas = useRef(null);
  useEffect(() => {
    const draw = () => {
      const scale = window.devicePixelRatio || 1;
      const context = canvas.current.getContext("2d");
      canvas.current.width = canvas.current.height = 19 * scale;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      paintCell(context, letter, 0, 0, 19, palette(canvas.current.parentElement), false);
    };
    draw();
    window.addEventListener("themechange", draw);
    return () => window.removeEventListener("themechange", draw);
  }, [letter]);
  return html`<canvas ref=${canvas} class="swatch" aria-hidden="true"></canvas>`;
}
