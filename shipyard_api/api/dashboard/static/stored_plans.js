// Stored plans: what waits for a second person, and one plan with its forecast and its differences from the last one.
import { html, useState } from "./preact.js";
import { get, post, segment, V1 } from "./api.js";
import { follow, go, link } from "./address.js";
import { Fault } from "./dialog.js";
import { refresh } from "./live.js";
import { Loaded, useRead } from "./loading.js";
import { PlanSummary } from "./plan_summary.js";
import { may, session } from "./session.js";
import { localTime } from "./words.js";

/** Where a plan is stored instead of only shown. */
export const STORE = `${V1}/plans?store=true`;

export const showStored = (made) => go({ view: "plans", plan: made.id, node: "", group: "" });

export const StoredPlans = ({ plan }) => (plan ? html`<${OnePlan} key=${plan} id=${plan} />` : html`<${AllPlans} />`);

function state({ action, signatures }) {
  if (action) return ["started", "idle"];
  return signatures.length ? ["approved", "good"] : ["not approved", "queued"];
}

function AllPlans() {
  const found = useRead(() => get(`${V1}/plans`), []);
  return html`<section class="panel" aria-labelledby="plans-title">
    <div class="row"><h1 id="plans-title">Stored plans</h1><span class="muted">the newest first</span></div>
    <${Loaded} found=${found}>${({ plans }) => (plans.length === 0
    ? html`<p class="muted">None yet. Plan a new action, and store the plan to have it approved.</p>`
    : html`<div class="scroll"><table><thead><tr><th>Plan</th><th>State</th><th>Stored</th><th>Approved by</th></tr></thead>
      <tbody>${plans.map((one) => html`<tr key=${one.id}>
        <td><a href=${link({ view: "plans", plan: one.id })} onClick=${follow({ view: "plans", plan: one.id })}>${one.name}</a></td>
        <td class=${`tone-${state(one)[1]}`}>${state(one)[0]}</td>
        <td>${one.stored_by}, ${localTime(one.stored_at, true)}</td>
        <td>${one.signatures.map((signature) => signature.by).join(", ") || "–"}</td></tr>`)}</tbody></table></div>`)}<//>
  </section>`;
}

function OnePlan({ id }) {
  const [again, read] = useState(0);
  const found = useRead(() => get(`${V1}/plans/${segment(id)}`), [again]);
  return html`<section class="panel stored" aria-labelledby="plan-title">
    <a href=${link({ view: "plans", plan: "" })} onClick=${follow({ view: "plans", plan: "" })}>All stored plans</a>
    <${Loaded} found=${found}>${(one) => html`<${Signed} plan=${one} />
      <${Decide} plan=${one} onChange=${() => read(again + 1)} />
      <${Differences} last=${one.last} />
      <h2>What it does</h2><${PlanSummary} plan=${one.plan} body=${one.request} />`}<//>
  </section>`;
}

function Signed({ plan }) {
  const [word, tone] = state(plan);
  return html`<div class="row"><h1 id="plan-title">Plan of ${plan.name}</h1><span class=${`badge ${tone}`}>${word}</span></div>
    <dl class="facts-list">
      <dt>Stored</dt><dd>by <b>${plan.stored_by}</b>, ${localTime(plan.stored_at, true)}</dd>
      <dt>Approved</dt><dd>${plan.signatures.length === 0 ? "not yet" : plan.signatures.map((one) => html`<div key=${one.by}>
        by <b>${one.by}</b>, ${localTime(one.at, true)}${one.reason ? `: ${one.reason}` : ""}</div>`)}</dd>
      ${plan.action && html`<dt>Started</dt><dd><a href=${link({ action: plan.action, view: "", plan: "" })}
        onClick=${follow({ action: plan.action, view: "", plan: "" })}>the action from it</a></dd>`}
      <dt>Hash</dt><dd><code title=${plan.hash}>${plan.hash.slice(0, 16)}…</code></dd>
    </dl>`;
}

/** Approve the plan of another person, or start the action from it. */
function Decide({ plan, onChange }) {
  const [now, set] = useState({ busy: false, error: null, reason: "" });
  if (plan.action) return null;
  const { user } = session.get().caller || {};
  const canSign = may("approve_plan") && user !== plan.stored_by && !plan.signatures.some((one) => one.by === user);
  const isApproved = may("action_without_approval") || plan.signatures.some((one) => one.by !== user);
  const canStart = may("create_action") && may(`action_${plan.name}`) && isApproved;
  const run = async (call, then) => {
    set({ ...now, busy: true, error: null });
    try {
      then(await call());
      set({ busy: false, error: null, reason: "" });
    } catch (error) {
      set({ ...now, busy: false, error });
    }
  };
  const sign = () => run(() => post(`${V1}/plans/${segment(plan.id)}/approvals`, { hash: plan.hash, reason: now.reason }), onChange);
  const { name, parameters, retry } = plan.request;
  const from = `plan=${segment(plan.id)}`;
  const start = () => run(
    () => (retry ? post(`${V1}/actions/${segment(retry)}/control/retry?${from}`) : post(`${V1}/actions?${from}`, { name, parameters })),
    (made) => (refresh(), go({ action: made.id, view: "", plan: "" })),
  );
  return html`<${Fault} error=${now.error} />
    <div class="row buttons">
      ${canSign && html`<input aria-label="Reason" placeholder="Reason (optional)" maxlength="1000" value=${now.reason}
          onInput=${(event) => set({ ...now, reason: event.target.value })} />
        <button class="primary" disabled=${now.busy} onClick=${sign}>Approve</button>`}
      ${canStart && html`<button class=${canSign ? "" : "primary"} disabled=${now.busy} onClick=${start}>Start ${plan.name}</button>`}
      ${may("create_action") && !canSign && !canStart && html`<p class="muted">Another person must approve it before you can start it.</p>`}
    </div>`;
}

function Differences({ last }) {
  if (!last) return html`<p class="muted">There is no earlier plan of this action to compare with.</p>`;
  const to = { view: "plans", plan: last.id };
  return html`<h2>Changes since the <a href=${link(to)} onClick=${follow(to)}>last plan</a> of this action</h2>
    ${last.differences.length === 0 ? html`<p>None: it would do the same.</p>`
    : html`<ul class="differences">${last.differences.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}`;
}
