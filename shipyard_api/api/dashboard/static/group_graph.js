// The groups, left to right in run order; the chain that decides how long it takes is drawn thick.
import { html, useEffect, useMemo, useRef, useState } from "./preact.js";
import { follow, link } from "./address.js";
import { GROUP, at, inRunOrder, percent, plain } from "./words.js";

const SIZE = { width: 258, height: 68 };
const MOST_HEIGHT = 992; // twelve groups below each other; panels.css has it, too
let worker = null;
let asked = 0;
const waiting = new Map();

function place(groups) {
  if (!worker) {
    worker = new Worker("/dashboard/layout_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    };
  }
  asked += 1;
  const id = asked;
  worker.postMessage({ id, size: SIZE, groups: groups.map(({ name, depends_on }) => ({ name, depends_on })) });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const seconds = (group) => {
  const began = at(group.phases[0]?.submitted_at);
  const last = group.phases.at(-1)?.ended_at;
  return last ? (at(last) - began) / 1000 : NaN;
};

/** The names on the longest chain of dependencies, by how long its groups took; others count as an average group. */
export function criticalPath(groups) {
  const took = groups.map(seconds).filter((one) => one >= 0);
  const usual = took.length ? took.reduce((sum, one) => sum + one, 0) / took.length : 1;
  const byName = new Map(groups.map((group) => [group.name, group]));
  const best = new Map();
  const chain = (name, path) => {
    if (best.has(name)) return best.get(name);
    const group = byName.get(name);
    if (!group || path.has(name)) return { length: 0, names: [] };
    const before = group.depends_on.map((parent) => chain(parent, new Set(path).add(name)))
      .reduce((one, other) => (other.length > one.length ? other : one), { length: 0, names: [] });
    const own = seconds(group);
    const found = { length: before.length + (own >= 0 ? own : usual), names: [...before.names, name] };
    best.set(name, found);
    return found;
  };
  const all = groups.map((group) => chain(group.name, new Set()));
  return all.reduce((one, other) => (other.length > one.length ? other : one), { length: 0, names: [] }).names;
}

export function GroupGraph({ overview, selected, forecast }) {
  const { groups } = overview;
  const isFlat = groups.every((group) => !group.depends_on.length);
  const shape = groups.map((group) => `${group.name}<${group.depends_on.join()}`).join(";");
  const [placed, set] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    if (groups.length && !isFlat) place(groups).then((found) => isCurrent && set(found));
    return () => { isCurrent = false; };
  }, [shape]);
  const box = useRef(null);
  const [hides, hide] = useState(false);
  useEffect(() => {
    const found = box.current;
    if (!found) return undefined;
    const look = () => hide(found.scrollWidth > found.clientWidth + 4 || found.scrollHeight > found.clientHeight + 4);
    const watcher = new ResizeObserver(look);
    watcher.observe(found);
    look();
    return () => watcher.disconnect();
  }, [placed]);
  const path = useMemo(() => criticalPath(groups), [overview]);
  if (!groups.length) {
    return html`<section class="panel"><h2>Groups</h2><p class="muted">
      ${overview.action.ended_at ? "This action deployed no groups." : "Not selected yet: the action checks the design first."}</p></section>`;
  }
  const chances = new Map((forecast?.groups || []).map((one) => [one.name, one.success?.probability]));
  const card = (group, corner) => html`<${Card} key=${group.name} group=${group} at=${corner} isSelected=${group.name === selected}
    isOn=${path.length > 1 && path.includes(group.name)} chance=${chances.get(group.name)} />`;
  const isOn = (edge) => path.includes(edge.to) && path[path.indexOf(edge.to) - 1] === edge.from;
  return html`<section class="panel" aria-labelledby="groups-title">
    <div class="row"><h2 id="groups-title">Groups</h2><span class="muted">${groups.length} in run order${hides ? "; scroll to see all" : ""}</span><span class="space"></span>
      <span class="key"><i class="line path"></i>longest chain</span><span class="key"><i class="line"></i>depends on</span>
      <span class="key"><span class="badge">critical</span>its failure fails the action</span></div>
    ${isFlat ? html`<div class="graph flat">${groups.map((group) => card(group))}</div>` : html`
    <div class=${`graph ${hides ? "hides" : ""}`} tabindex="0" role="group" aria-label="Graph of groups" ref=${box}
      style=${placed ? undefined : { height: `${Math.min(MOST_HEIGHT, reserved(groups))}px` }}>
      ${placed && html`<div class="graph-inner" style=${{ width: `${placed.width}px`, height: `${placed.height}px` }}>
        <svg width=${placed.width} height=${placed.height} aria-hidden="true">
          ${placed.edges.map((edge) => html`<path key=${`${edge.from} ${edge.to}`} class=${isOn(edge) ? "path" : ""} d=${curve(anchored(edge, placed.at))} />`)}
        </svg>
        ${groups.map((group) => placed.at[group.name] && card(group, placed.at[group.name]))}
      </div>`}
    </div>`}
  </section>`;
}

/** The height that the graph is likely to take, so that nothing below it moves when it is drawn. */
function reserved(groups) {
  const depth = new Map();
  for (const group of inRunOrder(groups)) depth.set(group.name, 1 + Math.max(0, ...group.depends_on.map((name) => depth.get(name) || 0)));
  const columns = [...depth.values()].reduce((counts, one) => counts.set(one, (counts.get(one) || 0) + 1), new Map());
  return Math.max(...columns.values()) * (SIZE.height + 14) + 4;
}

/** Edges leave a card in the middle of its right side and reach the next in the middle of its left. */
function anchored({ from, to, points }, at) {
  const middle = SIZE.height / 2;
  return [
    { x: at[from].x + SIZE.width, y: at[from].y + middle }, ...points.slice(1, -1), { x: at[to].x, y: at[to].y + middle },
  ];
}

function curve(points) {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length <= 3) {
    const middle = (first.x + last.x) / 2;
    return `M${first.x},${first.y}C${middle},${first.y} ${middle},${last.y} ${last.x},${last.y}`;
  }
  let text = `M${first.x},${first.y}`;
  for (let place = 1; place < points.length; place += 1) {
    const [from, to] = [points[place - 1], points[place]];
    const middle = (from.x + to.x) / 2;
    text += `C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
  }
  return text;
}

function Card({ group, at: corner, isSelected, isOn, chance }) {
  const state = GROUP[group.status];
  const { total, success, failure } = group.nodes;
  const patch = { group: isSelected ? "" : group.name };
  const isOpen = group.status !== "success" && group.status !== "failed";
  return html`<a class=${`card tone-${state.tone} ${isSelected ? "selected" : ""} ${isOn ? "on-path" : ""}`}
    href=${link(patch)} onClick=${follow(patch)} aria-current=${isSelected ? "true" : undefined}
    style=${{ ...(corner && { left: `${corner.x}px`, top: `${corner.y}px` }), width: `${SIZE.width}px`, height: `${SIZE.height}px` }}
    title=${`${group.name}: ${state.word}${group.reason ? ` (${plain(group.reason)})` : ""}${group.detail ? `: ${group.detail}` : ""}`}>
    <span class="name"><span class="glyph" aria-hidden="true">${state.glyph}</span><b>${group.name}</b>
      ${group.critical && html`<span class="badge">critical</span>`}</span>
    <span class="needs">${success} of ${total}, needs ${group.needs}${isOpen && chance !== undefined
      ? html` <span class="chance" title="The chance that it meets its criteria, from where it is now">· ${percent(chance)}</span>` : ""}</span>
    <span class="state">${group.reason === "dependency" ? "dependency failed" : state.word}</span>
    <span class="bar" aria-hidden="true">
      <i class="fill-s" style=${{ width: `${(100 * success) / Math.max(1, total)}%` }}></i>
      <i class="fill-p" style=${{ width: `${(100 * group.nodes.prepared) / Math.max(1, total)}%` }}></i>
      <i class="fill-f" style=${{ width: `${(100 * failure) / Math.max(1, total)}%` }}></i>
      ${total > 0 && html`<u style=${{ left: `${Math.min(100, (100 * group.needs) / total)}%` }}></u>`}</span>
  </a>`;
}
