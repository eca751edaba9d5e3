// A node: its status and why it has it, holds, its tasks, and what every action did with it.
import { html, useEffect, useRef, useState } from "./preact.js";
import { get, post, remove, segment, V1 } from "./api.js";
import { follow, go, link } from "./address.js";
import { Fault } from "./dialog.js";
import { NodeLabels } from "./labels.js";
import { Loaded, useRead } from "./loading.js";
import { Drain } from "./plan_summary.js";
import { may } from "./session.js";
import { ACTION, at, clock, localTime, plain, statusOf } from "./words.js";

export function NodeDrawer({ name, overview, places }) {
  const [again, setAgain] = useState(0);
  const heading = useRef(null);
  // Read again when its letter on the page changes, and when another action is shown.
  const letter = overview && places ? overview.nodes.letters[places.names.indexOf(name)] : "";
  const found = useRead(() => get(`${V1}/nodes/${segment(name)}`), [name, again, letter, overview?.action.id]);
  useEffect(() => heading.current?.focus(), [name]);
  return html`<aside class="drawer" aria-labelledby="node-title">
    <div class="row"><h2 id="node-title" tabindex="-1" ref=${heading}>${name}</h2><span class="space"></span>
      <button class="quiet" aria-label="Close the node" onClick=${() => go({ node: "" })}>✕</button></div>
    <${Loaded} found=${found}>${(node) => html`<${Body} node=${node} onChange=${() => setAgain(again + 1)} />`}<//>
  </aside>`;
}

function Body({ node, onChange }) {
  const { word, tone } = statusOf(node);
  const last = node.history[0];
  const words = node.detail || last?.changes.map((one) => one.detail).filter(Boolean).at(-1) || last?.phases.at(-1)?.message;
  return html`
    <p class="status"><span class=${`pill tone-${tone}`}>${word}</span>
      <span class="muted">${node.groups.join(", ")}${node.reason ? ` · ${plain(node.reason)}` : ""}</span>
      ${node.look_at && html`<a class="outside" href=${node.look_at} target="_blank" rel="noreferrer noopener">Open in the provisioner ↗</a>`}</p>
    ${words && html`<figure class="words"><blockquote>${words}</blockquote><figcaption class="muted">${node.status === "failure" ? "why it failed" : "the latest message"}</figcaption></figure>`}
    ${node.late && html`<p class="late"><span class="badge queued">late</span> since ${localTime(node.late.since, true)}; its phase usually lasts at most ${clock(node.late.usual_seconds)}. It goes on.</p>`}
    ${node.cordon && html`<p class="cordon"><span class="badge queued">cordoned</span> ${node.cordon.action} left it so, ${localTime(node.cordon.since, true)}: ${node.cordon.commands.map((one, place) => html`${place > 0 && " or "}<code>${one}</code>`)}</p>`}
    <${Holds} node=${node} onChange=${onChange} />
    <${NodeLabels} node=${node} onChange=${onChange} />
    <${Tasks} name=${node.name} />
    <${Hardware} name=${node.name} />
    <${DrainPlan} name=${node.name} />
    <h3>History</h3>
    <ol class="history">${node.history.map((one) => html`<${Entry} key=${one.action_id} entry=${one} />`)}</ol>
    ${node.next && html`<p class="muted">Older actions: <code>shipyard describe node ${node.name}</code></p>`}
    ${node.teardowns.length > 0 && html`<h3>Teardown</h3><ul class="plain">${node.teardowns.slice(0, 20).map((one) => html`<li key=${one.at + one.operation}>
      <time class="muted">${localTime(one.at, true)}</time> ${plain(one.operation)} ${plain(one.outcome)}${one.message ? `: ${one.message}` : ""}</li>`)}</ul>`}`;
}

function Entry({ entry }) {
  const state = ACTION[entry.dag_status] || ACTION.queued;
  const { word, tone } = statusOf(entry);
  const to = { action: entry.action_id };
  return html`<li><div class="row"><a href=${link(to)} onClick=${follow(to)}><b>${entry.action}</b></a>
      <span class=${`tone-${tone}`}>${word}</span><span class="space"></span>
      <time class="muted" title=${`${state.word}, ${entry.action_id}`}>${localTime(entry.created_at, true)}</time></div>
    ${entry.phases.length > 0 && html`<ul class="phases">${entry.phases.map((one) => html`<li key=${one.phase + one.group + one.batch}>
      <span>${one.phase}</span><span class="muted">${one.group}</span><span class=${one.status === "success" ? "" : "tone-bad"}>${plain(one.status)}</span>
      <span class="number">${one.ended_at ? clock((at(one.ended_at) - at(one.submitted_at)) / 1000) : "…"}</span>
      ${one.look_at && html`<a href=${one.look_at} target="_blank" rel="noreferrer noopener">job ↗</a>`}</li>`)}</ul>`}
    ${entry.detail && html`<p>${entry.detail}</p>`}
    ${entry.changes.filter((one) => one.late).map((one) => html`<p class="muted" key=${one.at}>late: ${plain(one.status)} at ${localTime(one.at)}</p>`)}
  </li>`;
}

function Holds({ node, onChange }) {
  const [reason, setReason] = useState("");
  const [state, set] = useState({ busy: false, error: null, note: "" });
  const send = async (work, note) => {
    set({ busy: true, error: null, note: "" });
    try {
      const made = await work();
      set({ busy: false, error: null, note: note(made) });
      setReason("");
      onChange();
    } catch (error) {
      set({ busy: false, error, note: "" });
    }
  };
  const place = (event) => {
    event.preventDefault();
    send(() => post(`${V1}/nodes/${segment(node.name)}/holds`, { reason }), (made) => (
      made.actions?.length ? "Held from the next action on; an action is at work on it now." : "Held."));
  };
  return html`<h3>Holds</h3>
    ${node.holds.map((one) => html`<p key=${one.id} class="hold"><span class="badge queued">${one.kind}</span>${one.class !== "all" && html` <span class="badge">${plain(one.class)}</span>`} ${one.reason}
      <span class="muted"> by ${one.placed_by}${one.until ? `, until ${localTime(one.until, true)}` : ""}</span>
      ${may("release_hold") && html`<button class="quiet" disabled=${state.busy}
        onClick=${() => send(() => remove(`${V1}/holds/${segment(one.id)}`), () => "Released.")}>Release</button>`}</p>`)}
    ${node.pending.map((one) => html`<p key=${one.action_id} class="muted">pending: ${one.phase} by <a href=${link({ action: one.action_id })} onClick=${follow({ action: one.action_id })}>${one.action}</a></p>`)}
    ${may("place_hold") ? html`<form class="row" onSubmit=${place}>
      <input aria-label="Reason for a hold" placeholder="Reason" value=${reason} onInput=${(event) => setReason(event.target.value)} />
      <button type="submit" disabled=${state.busy || !reason.trim()}>Hold</button></form>
      <p class="muted">No action touches a held node.</p>` : node.holds.length === 0 && html`<p class="muted">None.</p>`}
    ${state.note && html`<p role="status">${state.note}</p>`}<${Fault} error=${state.error} />`;
}

function Tasks({ name }) {
  const found = useRead(() => get(`${V1}/nodes/${segment(name)}/tasks?limit=1`), [name]);
  const tasks = found.value?.tasks || [];
  if (!tasks.length) return null;
  return html`<h3>Software tasks</h3><ul class="phases">${tasks.map((one) => html`<li key=${one.task}>
    <span>${one.task}</span><span class=${one.status === "success" ? "tone-good" : one.status === "failed" ? "tone-bad" : "muted"}>${plain(one.status)}</span>
    <span class="number">${one.seconds === null ? "" : clock(one.seconds)}</span></li>`)}</ul>`;
}

function Hardware({ name }) {
  const [asked, ask] = useState(false);
  const found = useRead(() => (asked ? get(`${V1}/nodes/${segment(name)}/hardware`) : null), [name, asked]);
  return html`<details onToggle=${(event) => event.target.open && ask(true)}><summary>Hardware</summary>
    ${asked && html`<${Loaded} found=${found}>${(body) => html`
      ${body.differences.map((one) => html`<p key=${one} class="tone-bad">${one}</p>`)}
      ${body.expected && !body.differences.length && !body.unknown && html`<p class="tone-good">As the design expects.</p>`}
      ${!body.expected && html`<p class="muted">The design expects no hardware of it.</p>`}
      ${body.unknown && html`<p class="muted">Not compared: ${body.unknown}.</p>`}
      ${body.seen && html`<p class="muted">${[body.seen.model, body.seen.cpu_model].filter(Boolean).join(", ")}</p>`}`}<//>`}</details>`;
}

function DrainPlan({ name }) {
  const [asked, ask] = useState(false);
  const found = useRead(() => (asked ? get(`${V1}/nodes/${segment(name)}/drain-plan`) : null), [name, asked]);
  return html`<details onToggle=${(event) => event.target.open && ask(true)}><summary>What a drain would do</summary>
    ${asked && html`<${Loaded} found=${found}>${(plan) => html`<${Drain} drain=${{ node: name, plan }} />`}<//>`}</details>`;
}
