// The plan beside what happened: order, nodes, criteria, time.
import { html } from "./preact.js";
import { get, segment, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { useRead } from "./loading.js";
import { planned } from "./planned.js";
import { GROUP, at, clock, inRunOrder, percent } from "./words.js";

export function PlanView({ overview }) {
  const groups = inRunOrder(overview.groups);
  const began = at(overview.action.started_at || overview.action.created_at);
  const started = [...groups].filter((group) => group.phases.length)
    .sort((one, other) => at(one.phases[0].submitted_at) - at(other.phases[0].submitted_at)).map((group) => group.name);
  const { id } = overview.action;
  const found = useRead(() => get(`${V1}/actions/${segment(id)}/forecast?from-start=true`), [id]);
  const plan = planned(found.value);
  const none = found.value || found.error ? "–" : "…";
  return html`<section class="panel" aria-labelledby="plan-title"><h2 id="plan-title">Plan and reality</h2>
    ${plan.source && html`<p class="muted">Times and chances are those before this action began, ${plan.source}; what is left of it is above.</p>`}
    ${groups.length === 0 && html`<p class="muted">The groups are not known yet.</p>`}
    ${groups.length > 0 && html`<div class="scroll"><table class="beside">
      <thead><tr><th rowspan="2">Group</th><th colspan="6" scope="colgroup">Plan</th><th colspan="6" scope="colgroup">Reality</th></tr>
      <tr><th class="number first">#</th><th class="number">nodes</th><th class="number">needs</th><th class="number">chance at the start</th>
        <th class="number">begins at</th><th class="number">takes</th>
        <th class="number first">#</th><th class="number">deployed</th><th class="number">failed</th><th class="number">began at</th><th class="number">took</th><th>state</th></tr></thead>
      <tbody>${groups.map((group, place) => {
    const state = GROUP[group.status];
    const order = started.indexOf(group.name) + 1;
    const isShort = group.status === "failed";
    const wanted = plan.of(group.name);
    return html`<tr key=${group.name}>
          <td><a href=${link({ view: "", group: group.name })} onClick=${follow({ view: "", group: group.name })}>${group.name}</a> ${group.critical && html`<span class="badge">critical</span>`}</td>
          <td class="number first">${place + 1}</td><td class="number">${group.nodes.total}</td>
          <td class="number">${group.needs}</td><td class="number">${wanted ? percent(wanted.chance) : none}</td>
          <td class="number">${wanted ? clock(wanted.begins) : none}</td><td class="number">${wanted ? clock(wanted.ends - wanted.begins) : none}</td>
          <td class="number first">${order || "–"}</td>
          <td class=${`number ${isShort && group.nodes.success < group.needs ? "tone-bad" : ""}`}>${group.nodes.success}</td>
          <td class=${`number ${group.nodes.failure ? "tone-bad" : "muted"}`}>${group.nodes.failure}</td>
          <td class="number">${group.phases.length ? clock((at(group.phases[0].submitted_at) - began) / 1000) : "–"}</td>
          <td class="number">${took(group)}</td>
          <td><span class=${`tone-${state.tone}`}>${state.glyph} ${state.word}</span></td></tr>`;
  })}</tbody></table></div>`}
  </section>`;
}

function took(group) {
  const last = group.phases.at(-1);
  return last?.ended_at ? clock((at(last.ended_at) - at(group.phases[0].submitted_at)) / 1000) : "–";
}
