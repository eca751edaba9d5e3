// The newest actions with their results, and a field that keeps only some of them.
import { html, useState } from "./preact.js";
import { OF_SITE, address, follow, link } from "./address.js";
import { isCommand, shownId } from "./live.js";
import { useNow, useStore } from "./store.js";
import { ACTION, at, count, localTime, rough } from "./words.js";

export function ActionList({ actions, onStart }) {
  useStore(address);
  const current = shownId();
  const now = useNow(true);
  const [wanted, want] = useState("");
  const isCurrent = (action) => action.id === current && !OF_SITE.includes(address.get().view);
  const entry = (action) => html`<${Entry} key=${action.id} action=${action} now=${now} isCurrent=${isCurrent(action)} />`;
  const shown = (actions || []).filter((one) => matches(one, wanted));
  return html`<nav class="actions" aria-label="Actions">
    <div class="row"><h2>Actions</h2><span class="space"></span>
      ${onStart && html`<button id="start" onClick=${onStart} title="Plan and start an action (n)">New …</button>`}</div>
    ${actions === null && html`<p class="muted">Loading …</p>`}
    ${actions?.length === 0 && html`<p class="muted">None yet.</p>`}
    ${actions?.length > 1 && html`<input type="search" class="filter" aria-label="Filter actions" placeholder="Filter: name, user, failed …"
      value=${wanted} onInput=${(event) => want(event.target.value)} />`}
    ${actions?.length > 0 && shown.length === 0 && html`<p class="muted">None of the newest ${actions.length} matches.</p>`}
    <ul>${runs(shown).map((run) => (run.length > 1 && !wanted ? html`<${Folded} key=${run.at(-1).id} actions=${run} isCurrent=${isCurrent}>${run.map(entry)}<//>` : run.map(entry)))}</ul>
  </nav>`;
}

/** The actions, with commands on nodes that follow each other as one entry. */
function runs(actions) {
  const found = [];
  for (const action of actions) {
    if (isCommand(action) && found.length && isCommand(found.at(-1)[0])) found.at(-1).push(action);
    else found.push([action]);
  }
  return found;
}

const URGENCY = ["running", "paused", "queued", "failed", "success"];

/** Commands on nodes below one line, with the most urgent of their states; open while one of them is shown. */
function Folded({ actions, isCurrent, children }) {
  const states = new Set(actions.map((one) => one.dag_status));
  const state = ACTION[URGENCY.find((one) => states.has(one))] || ACTION.queued;
  const failed = actions.filter((one) => one.dag_status === "failed").length;
  return html`<li class="folded"><details open=${actions.some(isCurrent)}>
    <summary><span class="glyph tone-${state.tone}" aria-hidden="true">${state.glyph}</span>${count(actions.length, "node command")}${failed ? `, ${failed} failed` : ""}</summary>
    <ul>${children}</ul></details></li>`;
}

/** Whether an action has all words of a text in its name, command, nodes, user, id or state. */
function matches(action, text) {
  const { command = "", nodes = [] } = action.parameters || {};
  const has = `${action.name} ${command} ${nodes} ${action.user} ${action.id} ${ACTION[action.dag_status]?.word}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => has.includes(word));
}

/** Where an action failed: its first failed step, but of a command; of one that runs, how many of its steps have ended. */
function result(action) {
  const { dag_status: status, steps = [] } = action;
  if (isCommand(action)) return "";
  if (status === "failed") return steps.filter((one) => one.state === "failed").at(-1)?.id.replace(/^[^.]*\./, "") || "";
  if (status !== "running") return "";
  return `step ${steps.filter((one) => ["success", "failed", "skipped"].includes(one.state)).length + 1} of ${steps.length}`;
}

/** Whether an action failed and no operator has acknowledged it. */
function isUnseen({ dag_status: status, notes = [] }) {
  return status === "failed" && !notes.some((one) => one.sub_type === "Acknowledged");
}

const names = ({ parameters: { nodes } }) => (nodes?.length ? nodes.join(", ") : "all nodes");

function Entry({ action, now, isCurrent }) {
  const state = ACTION[action.dag_status] || ACTION.queued;
  const began = at(action.datetime);
  const to = { action: action.id, node: "", group: "", task: "", ...(OF_SITE.includes(address.get().view) ? { view: "", plan: "" } : {}) };
  return html`<li><a href=${link(to)} onClick=${follow(to)} aria-current=${isCurrent ? "page" : undefined}>
    <span class="glyph tone-${state.tone}" aria-hidden="true">${state.glyph}</span>
    <span class="what">${isCommand(action)
    ? html`<b title=${action.parameters.command}><code>${action.parameters.command}</code></b><small class="result" title=${names(action)}>on ${names(action)}</small>`
    : html`<b>${action.name}</b>`}<small><span class="tone-${state.tone}">${state.word}</span> · ${action.user}</small>
      ${isUnseen(action) && html`<small>not acknowledged</small>`}
      ${result(action) && html`<small class="result" title=${result(action)}>${result(action)}</small>`}</span>
    <time title=${localTime(action.datetime, true)}>${rough((now - began) / 1000)} ago</time>
  </a></li>`;
}
