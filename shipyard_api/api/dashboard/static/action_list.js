import { html } from "./preact.js";
import { address, follow, link } from "./address.js";
import { shownId } from "./live.js";
import { useNow, useStore } from "./store.js";
import { ACTION, at, localTime, rough } from "./words.js";

export function ActionList({ actions, onStart }) {
  useStore(address);
  const current = shownId();
  const now = useNow(true);
  return html`<nav class="actions" aria-label="Actions">
    <div class="row"><h2>Actions</h2><span class="space"></span>
      ${onStart && html`<button id="start" onClick=${onStart} title="Plan and start an action (n)">New …</button>`}</div>
    ${actions === null && html`<p class="muted">Loading …</p>`}
    ${actions?.length === 0 && html`<p class="muted">None yet.</p>`}
    <ul>${(actions || []).map((one) => html`<${Entry} key=${one.id} action=${one} now=${now} isCurrent=${one.id === current} />`)}</ul>
  </nav>`;
}

function Entry({ action, now, isCurrent }) {
  const state = ACTION[action.dag_status] || ACTION.queued;
  const began = at(action.datetime);
  const to = { action: action.id, node: "", group: "", task: "" };
  return html`<li><a href=${link(to)} onClick=${follow(to)} aria-current=${isCurrent ? "page" : undefined}>
    <span class="glyph tone-${state.tone}" aria-hidden="true">${state.glyph}</span>
    <span class="what"><b>${action.name}</b><small>${state.word} · ${action.user}</small></span>
    <time title=${localTime(action.datetime, true)}>${rough((now - began) / 1000)} ago</time>
  </a></li>`;
}
