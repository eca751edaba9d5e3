// What if: sliders on the criteria of each group, and what the forecast makes of them.
import { html, useEffect, useState } from "./preact.js";
import { post, V1 } from "./api.js";
import { Fault } from "./dialog.js";
import { Loaded, useRead } from "./loading.js";
import { count, few, percent, plain, rough } from "./words.js";

const PLANNED = ["deploy_site", "update_site"];

export function ForecastView({ overview }) {
  const name = PLANNED.includes(overview.action.name) ? overview.action.name : "deploy_site";
  const plan = useRead(() => post(`${V1}/plans`, { name }), [name]);
  return html`<section class="panel" aria-labelledby="what-if-title">
    <h2 id="what-if-title">What if</h2>
    <p class="muted">A forecast of a new ${name} of the whole site with the committed design, not of the action above.
      Move a criterion to see what it would change; nothing is stored.</p>
    <${Loaded} found=${plan}>${(found) => html`<${WhatIf} name=${name} groups=${found.groups} />`}<//>
  </section>`;
}

function WhatIf({ name, groups }) {
  const [moved, move] = useState({});
  const [found, set] = useState({ now: null, base: null, error: null, busy: false, missing: false });
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(async () => {
      set((before) => ({ ...before, busy: true }));
      try {
        const body = { name, ...(Object.keys(moved).length ? { criteria: moved } : {}) };
        const now = await post(`${V1}/forecasts`, body);
        if (isCurrent) set((before) => ({ now, base: before.base || now, error: null, busy: false, missing: false }));
      } catch (error) {
        if (isCurrent) set((before) => ({ ...before, error, busy: false, missing: error.status === 404 || error.status === 405 }));
      }
    }, 250);
    return () => { isCurrent = false; clearTimeout(timer); };
  }, [moved, name]);
  if (found.missing) return html`<p class="muted">This server makes no forecasts.</p>`;
  if (!groups.length) return html`<p class="muted">The committed design has no deployment groups.</p>`;
  const chances = new Map((found.now?.groups || []).map((one) => [one.name, one.success]));
  return html`<${Fault} error=${found.error} />
    ${found.now && html`<${Outcome} name=${name} now=${found.now} base=${found.base} busy=${found.busy} groups=${groups} onRelax=${(relax) => move({ ...moved, [relax.group]: { ...start(groups.find((one) => one.name === relax.group)), [relax.criterion]: relax.to } })} />`}
    <div class="scroll"><table class="sliders"><thead><tr><th>Group</th><th>Success criteria</th><th class="number">Nodes</th><th class="number">Meets its criteria</th></tr></thead>
      <tbody>${groups.map((group) => html`<${Criteria} key=${group.name} group=${group} moved=${moved[group.name]} chance=${chances.get(group.name)}
        onMove=${(value) => move((before) => {
    const next = { ...before };
    if (value) next[group.name] = value;
    else delete next[group.name];
    return next;
  })} />`)}</tbody></table></div>`;
}

const start = (group) => Object.fromEntries(Object.entries(group.success_criteria).filter(([, value]) => value !== null));

function Outcome({ name, now, base, busy, groups, onRelax }) {
  const gain = now.success.probability - base.success.probability;
  const { relax } = now;
  return html`<div class="facts what-if" aria-busy=${busy}>
    <div class="fact"><h3>A new ${name} succeeds with</h3><p class="value">${percent(now.success.probability)}</p>
      <p class="muted">${percent(now.success.low)} to ${percent(now.success.high)}${Math.abs(gain) >= 0.005 ? ` · ${gain > 0 ? "+" : "−"}${Math.abs(100 * gain).toFixed(0)} points` : ""}</p></div>
    <div class="fact"><h3>Nodes lost</h3><p class="value">${few(now.nodes_lost.mean)}</p><p class="muted">on average</p></div>
    <div class="fact"><h3>Takes</h3><p class="value">${rough(now.seconds.p50)}</p><p class="muted">${rough(now.seconds.p10)} to ${rough(now.seconds.p90)}</p></div>
    <div class="fact"><h3>Relax first</h3>${relax ? html`<p class="value small">${relax.group}</p>
      <p class="muted">${plain(relax.criterion)} ${relax.from} → ${relax.to}: ${percent(relax.probability_after)}</p>
      ${groups.some((one) => one.name === relax.group) && html`<button onClick=${() => onRelax(relax)}>Try it</button>`}` : html`<p class="muted">Nothing would help much.</p>`}</div>
  </div>`;
}

// What each criterion counts, and how far it can be moved.
const CRITERIA = {
  percent_successful_nodes: { name: "percent of its nodes", say: (value) => `at least ${value} %`, most: () => 100 },
  minimum_successful_nodes: { name: "least number of nodes", say: (value) => `at least ${count(value, "node")}`, most: (total) => total },
  maximum_failed_nodes: { name: "most failed nodes", say: (value) => `at most ${count(value, "node")} failed`, most: (total) => total },
};

/** A group with a slider for each criterion that it has. */
function Criteria({ group, moved, chance, onMove }) {
  const written = start(group);
  const now = { ...written, ...moved };
  const total = group.nodes.length;
  return html`<tr><td>${group.name} ${group.critical && html`<span class="badge">critical</span>`}</td>
    <td>${Object.keys(CRITERIA).filter((name) => name in now).map((name) => html`<${Slider} key=${name} group=${group.name}
        criterion=${CRITERIA[name]} total=${Math.max(total, written[name] || 0)} value=${now[name]} onMove=${(value) => onMove({ ...now, [name]: value })} />`)}
      ${Object.keys(now).length === 0 && html`<span class="muted">none: it always succeeds</span>`}
      ${moved && html`<button class="quiet" onClick=${() => onMove(null)} aria-label=${`Reset ${group.name}`}>reset</button>`}</td>
    <td class="number">${total.toLocaleString("en")}</td>
    <td class="number">${chance ? percent(chance.probability) : "…"}</td></tr>`;
}

function Slider({ group, criterion, total, value, onMove }) {
  const { name, say, most } = criterion;
  return html`<span class="row slide"><input type="range" min="0" max=${most(total)} value=${value} aria-label=${`${group}: ${name}`} aria-valuetext=${say(value)}
      onInput=${(event) => onMove(Number(event.target.value))} />
    <output class="number">${say(value)}</output></span>`;
}
