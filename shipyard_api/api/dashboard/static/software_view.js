// The software stage: nodes by tasks, how far each task is, and the nodes of one of them.
import { html, useRef } from "./preact.js";
import { get, segment, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { Loaded, useCalm, useRead } from "./loading.js";
import { TaskMatrix } from "./task_matrix.js";
import { clock, plain } from "./words.js";

// Milliseconds between two reads: an answer has a letter for each task on each node.
const PAUSE = 1000;
const LONG_PAUSE = 10000;
const MANY = 20000;
const TONES = { success: "good", failed: "bad", running: "working", left: "queued", skipped: "idle", pending: "idle" };

export function SoftwareView({ overview, place }) {
  const base = `${V1}/actions/${segment(overview.action.id)}/tasks`;
  const cells = useRef(0);
  const calm = useCalm(overview, cells.current > MANY ? LONG_PAUSE : PAUSE);
  const found = useRead(() => get(`${base}?limit=1&matrix=true`), [calm]);
  const { tasks = [], nodes = [] } = found.value?.matrix || {};
  cells.current = tasks.length * nodes.length;
  const task = useRead(() => (place.task ? get(`${base}?limit=200&task=${segment(place.task)}`) : null), [calm, place.task]);
  return html`<section class="panel" aria-labelledby="software-title"><h2 id="software-title">Software</h2>
    <${Loaded} found=${found}>${({ totals, matrix }) => (totals.length === 0
    ? html`<p class="muted">This action runs no software tasks.</p>`
    : html`<${TaskMatrix} matrix=${matrix} selected=${place.task} /><div class="scroll"><table><thead><tr><th>Task</th>${statuses(totals).map((one) => html`<th key=${one} class="number">${plain(one)}</th>`)}</tr></thead>
      <tbody>${totals.map((row) => html`<tr key=${row.task} class=${row.task === place.task ? "selected" : ""}>
        <td><a href=${link({ task: row.task })} onClick=${follow({ task: row.task === place.task ? "" : row.task })}>${row.task}</a></td>
        ${statuses(totals).map((one) => html`<td key=${one} class=${`number ${row[one] ? `tone-${TONES[one] || "idle"}` : "muted"}`}>${row[one] || "–"}</td>`)}</tr>`)}</tbody></table></div>`)}<//>
    ${place.task && html`<h3>${place.task}</h3><${Loaded} found=${task}>${({ tasks, next }) => html`
      <div class="scroll"><table><thead><tr><th>Node</th><th>Status</th><th class="number">Exit</th><th class="number">Took</th><th>Last output</th></tr></thead>
      <tbody>${tasks.map((one) => html`<tr key=${one.node}><td><a href=${link({ node: one.node })} onClick=${follow({ node: one.node })}>${one.node}</a></td>
        <td class=${`tone-${TONES[one.status] || "idle"}`}>${plain(one.status)}</td><td class="number">${one.exit_status ?? ""}</td>
        <td class="number">${one.seconds === null ? "" : clock(one.seconds)}</td><td><code>${(one.detail || one.tail || "").slice(-160)}</code></td></tr>`)}</tbody></table></div>
      ${next && html`<p class="muted">Only the first 200 nodes are listed.</p>`}`}<//>`}
  </section>`;
}

const statuses = (totals) => Object.keys(totals[0]).filter((name) => name !== "task");
