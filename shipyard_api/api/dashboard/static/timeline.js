// Phases over time: waiting in the provisioner's queue is hatched, prepare is light, deploy is full.
import { html } from "./preact.js";
import { follow, link } from "./address.js";
import { ended } from "./live.js";
import { useNow } from "./store.js";
import { at, clock, count, plain } from "./words.js";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

export function Timeline({ overview }) {
  const { action, groups } = overview;
  const now = useNow(!ended(action));
  const began = at(action.started_at || action.created_at);
  const until = Math.max(action.ended_at ? at(action.ended_at) : now, began + 1000);
  const length = (until - began) / 1000;
  const step = STEPS.find((one) => length / one <= 10) || 86_400;
  const ticks = Array.from({ length: Math.floor(length / step) + 1 }, (_, place) => place * step);
  const share = (moment) => Math.max(0, Math.min(100, (100 * (moment - began)) / (until - began)));
  const rows = groups.filter((group) => group.phases.length)
    .sort((one, other) => at(one.phases[0].submitted_at) - at(other.phases[0].submitted_at));
  const rest = groups.length - rows.length;
  return html`<section class="panel" aria-labelledby="timeline-title">
    <div class="row"><h2 id="timeline-title">Timeline</h2><span class="muted">${clock(length)} since the start</span><span class="space"></span>
      <span class="key"><i class="swatch-bar queue"></i>in the provisioner's queue</span>
      <span class="key"><i class="swatch-bar prepare"></i>prepare</span><span class="key"><i class="swatch-bar deploy"></i>deploy</span></div>
    ${rows.length === 0 && html`<p class="muted">No phase has been submitted.</p>`}
    ${rows.length > 0 && html`<div class="gantt">
      <div class="gantt-axis" aria-hidden="true">${ticks.map((tick) => html`<span key=${tick} style=${{ left: `${(100 * tick) / length}%` }}>${clock(tick)}</span>`)}</div>
      ${rows.map((group) => html`<div class="gantt-row" key=${group.name}>
        <a class="gantt-name" href=${link({ view: "", group: group.name })} onClick=${follow({ view: "", group: group.name })} title=${group.name}>${group.name}</a>
        <div class="gantt-track">${ticks.map((tick) => html`<u key=${tick} style=${{ left: `${(100 * tick) / length}%` }}></u>`)}
          ${group.phases.map((phase) => html`<${Phase} key=${phase.phase + phase.batch} phase=${phase} group=${group.name} now=${until} share=${share} />`)}
          ${deadline(action, group, share, until)}</div></div>`)}
    </div>`}
    ${rest > 0 && html`<p class="muted">${count(rest, "group")} without a phase yet.</p>`}
  </section>`;
}

function Phase({ phase, group, now, share }) {
  const sent = at(phase.submitted_at);
  const end = phase.ended_at ? at(phase.ended_at) : now;
  const ran = phase.running_at ? at(phase.running_at) : end;
  const isBad = phase.ended_at && phase.status !== "success";
  const text = `${group}, ${phase.phase}${phase.batch > 1 ? ` batch ${phase.batch}` : ""}: ${plain(phase.status)}, ${count(phase.nodes_sent, "node")}; `
    + `queued ${clock((ran - sent) / 1000)}, worked ${clock((end - ran) / 1000)}${phase.message ? `; ${phase.message}` : ""}`;
  const width = (from, to) => ({ left: `${share(from)}%`, width: `${Math.max(0.15, share(to) - share(from))}%` });
  return html`<span role="img" aria-label=${text} title=${text}>
    ${ran > sent && html`<i class="queue" style=${width(sent, ran)}></i>`}
    ${end > ran && html`<i class=${`${phase.phase} ${phase.ended_at ? "" : "open"}`} style=${width(ran, end)}>
      ${isBad ? html`<em>${phase.status === "partial_success" ? "◐" : "✕"}</em>` : ""}</i>`}</span>`;
}

function deadline(action, group, share, until) {
  const limit = at(action.waiting_for?.deadline);
  const isOpen = group.phases.some((phase) => !phase.ended_at);
  if (!isOpen || !(limit <= until)) return null;
  return html`<b class="gantt-limit" style=${{ left: `${share(limit)}%` }} title="deadline"></b>`;
}
