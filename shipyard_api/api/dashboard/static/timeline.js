// Phases over time: as they ran, filled, and below them in outline as the forecast at the start expected them.
import { html } from "./preact.js";
import { get, segment, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { ended } from "./live.js";
import { useRead } from "./loading.js";
import { beside, planned } from "./planned.js";
import { useNow } from "./store.js";
import { at, clock, count, plain } from "./words.js";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];
// A plan far longer than what happened would leave no room for it.
const MOST_OF_PLAN = 3;

export function Timeline({ overview }) {
  const { action, groups } = overview;
  const now = useNow(!ended(action));
  const plan = planned(useRead(() => get(`${V1}/actions/${segment(action.id)}/forecast?from-start=true`), [action.id]).value);
  const began = at(action.started_at || action.created_at);
  const until = Math.max(action.ended_at ? at(action.ended_at) : now, began + 1000);
  const real = (until - began) / 1000;
  const length = Math.max(real, Math.min(plan.length, ended(action) ? MOST_OF_PLAN * real : Infinity));
  const step = STEPS.find((one) => length / one <= 10) || 86_400;
  const ticks = Array.from({ length: Math.floor(length / step) + 1 }, (_, place) => place * step);
  const share = (seconds) => Math.max(0, Math.min(100, (100 * seconds) / length));
  const since = (moment) => (moment - began) / 1000;
  const begins = (group) => (group.phases.length ? since(at(group.phases[0].submitted_at)) : plan.of(group.name)?.begins ?? Infinity);
  const rows = groups.filter((group) => group.phases.length || (plan.of(group.name) && !ended(action)))
    .sort((one, other) => begins(one) - begins(other));
  const rest = groups.length - rows.length;
  return html`<section class="panel" aria-labelledby="timeline-title">
    <div class="row"><h2 id="timeline-title">Timeline</h2><span class="muted">${clock(real)} since the start</span><span class="space"></span>
      <span class="key"><i class="swatch-bar queue"></i>in the provisioner's queue</span>
      <span class="key"><i class="swatch-bar prepare"></i>prepare</span><span class="key"><i class="swatch-bar deploy"></i>deploy</span>
      ${plan.length > 0 && html`<span class="key"><i class="swatch-bar plan"></i>planned</span>`}</div>
    ${plan.source && html`<p class="muted">Planned: the forecast at the start, ${plan.source}.</p>`}
    ${rows.length === 0 && html`<p class="muted">No phase has been submitted.</p>`}
    ${rows.length > 0 && html`<div class="gantt">
      <div class="gantt-axis" aria-hidden="true">${ticks.map((tick) => html`<span key=${tick} style=${{ left: `${share(tick)}%` }}>${clock(tick)}</span>`)}</div>
      ${rows.map((group) => {
    const [words, tone] = beside(group, plan.of(group.name), began, until);
    return html`<div class="gantt-row" key=${group.name}>
        <div class="gantt-name"><a href=${link({ view: "", group: group.name })} onClick=${follow({ view: "", group: group.name })} title=${group.name}>${group.name}</a>
          <span class=${`gantt-note tone-${tone}`} title=${words}>${words}</span></div>
        <div class="gantt-track">${ticks.map((tick) => html`<u key=${tick} style=${{ left: `${share(tick)}%` }}></u>`)}
          <${Plan} group=${group.name} plan=${plan.of(group.name)} length=${length} share=${share} />
          ${group.phases.map((phase) => html`<${Phase} key=${phase.phase + phase.batch} phase=${phase} group=${group} now=${until} since=${since} share=${share}
            plan=${plan.of(group.name)} />`)}
          ${deadline(action, group, since, share, real)}</div></div>`;
  })}
    </div>`}
    ${rest > 0 && html`<p class="muted">${count(rest, "group")} without a phase${ended(action) ? "" : " yet"}.</p>`}
  </section>`;
}

const width = (share, from, to) => ({ left: `${share(from)}%`, width: `${Math.max(0.15, share(to) - share(from))}%` });

function Plan({ group, plan, length, share }) {
  if (!plan) return null;
  const text = `${group}, planned: ${plan.phases.map((one) => `${one.phase} for ${clock(one.ends - one.begins)} from ${clock(one.begins)}`).join(", ")}`;
  return html`<span role="img" aria-label=${text} title=${text}>${plan.phases.filter((one) => one.begins < length).map((one) => html`
    <i key=${one.phase} class=${`planned ${one.phase}`} style=${width(share, one.begins, one.ends)}></i>`)}</span>`;
}

function Phase({ phase, group, plan, now, since, share }) {
  const sent = at(phase.submitted_at);
  const end = phase.ended_at ? at(phase.ended_at) : now;
  const ran = phase.running_at ? at(phase.running_at) : end;
  const isBad = phase.ended_at && phase.status !== "success";
  const isWhole = group.phases.filter((one) => one.phase === phase.phase).length === 1;
  const wanted = isWhole && plan?.phases.find((one) => one.phase === phase.phase);
  const text = `${group.name}, ${phase.phase}${phase.batch > 1 ? ` batch ${phase.batch}` : ""}: ${plain(phase.status)}, ${count(phase.nodes_sent, "node")}; `
    + `queued ${clock((ran - sent) / 1000)}, worked ${clock((end - ran) / 1000)}`
    + `${wanted ? `; planned ${clock(wanted.ends - wanted.begins)}` : ""}${phase.message ? `; ${phase.message}` : ""}`;
  return html`<span role="img" aria-label=${text} title=${text}>
    ${ran > sent && html`<i class="queue" style=${width(share, since(sent), since(ran))}></i>`}
    ${end > ran && html`<i class=${`${phase.phase} ${phase.ended_at ? "" : "open"}`} style=${width(share, since(ran), since(end))}>
      ${isBad ? html`<em>${phase.status === "partial_success" ? "◐" : "✕"}</em>` : ""}</i>`}</span>`;
}

function deadline(action, group, since, share, real) {
  const limit = since(at(action.waiting_for?.deadline));
  const isOpen = group.phases.some((phase) => !phase.ended_at);
  if (!isOpen || !(limit <= real)) return null;
  return html`<b class="gantt-limit" style=${{ left: `${share(limit)}%` }} title="deadline"></b>`;
}
