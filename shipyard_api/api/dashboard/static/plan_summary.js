// What an action would touch: totals, why it would be refused, findings, and its groups in order.
import { html } from "./preact.js";
import { post, V1 } from "./api.js";
import { useRead } from "./loading.js";
import { count, few, percent, plain, rough } from "./words.js";

/** A plan, with the forecast of the same request where there is one: of actions that deploy nodes. */
export function PlanSummary({ plan, body }) {
  const { totals, refused } = plan;
  const { value: forecast } = useRead(() => post(`${V1}/forecasts`, body).catch(() => null), [JSON.stringify(body)]);
  const reasons = new Set((refused?.messages || []).map((one) => one.message));
  const findings = plan.findings.filter((one) => (one.error || one.level === "Warning") && !reasons.has(one.message));
  return html`<div class="plan">
    ${refused && html`<div class="fault" role="alert"><p><b>It would be refused:</b> ${refused.title}. ${refused.reason}</p>
      ${refused.messages?.length > 0 && html`<ul>${refused.messages.slice(0, 8).map((one) => html`<li key=${one.message}>${one.message}</li>`)}</ul>`}</div>`}
    <dl class="facts-list">
      <dt>Design</dt><dd>${plan.revision ? `revision ${plan.revision}` : "none"}</dd>
      <dt>Touches</dt><dd><b>${count(totals.sent, "node")}</b> of ${totals.nodes.toLocaleString("en")}${totals.kept ? `; keeps ${totals.kept.toLocaleString("en")} that are deployed` : ""}${plan.left_alone?.length ? `; ${plan.left_alone.length.toLocaleString("en")} already deployed` : ""}</dd>
      <dt>Groups</dt><dd>${totals.groups}${totals.critical_groups ? `, ${totals.critical_groups} of them critical` : ""}</dd>
      ${plan.clean_steps?.map((one) => html`<dt key=${one.nodes[0]}>Cleans first</dt><dd>${one.nodes.slice(0, 20).join(", ")}: ${one.steps.map((step) => `${step.interface}.${step.step}`).join(", ")}</dd>`)}
      ${forecast && html`<dt>Forecast</dt><dd>succeeds with <b>${percent(forecast.success.probability)}</b>; loses ${few(forecast.nodes_lost.mean)} nodes
        on average; takes about ${rough(forecast.seconds.p50)}</dd>`}
      ${plan.changes?.removed.length > 0 && html`<dt>Not in the design</dt><dd>${plan.changes.removed.slice(0, 20).join(", ")}: ${body?.parameters?.["on-removed"] === "remove" ? "taken down for good" : "still deployed; remove_server takes them down"}</dd>`}
      ${plan.changes && html`<dt>Classes</dt><dd>${Object.entries(plan.changes.counts).map(([name, number]) => `${number.toLocaleString("en")} ${name}`).join(", ") || "no nodes"}</dd>`}
      ${plan.changes?.values.slice(0, 20).map((one) => html`<dt key=${one.aspect + one.path + one.new}>${one.aspect}</dt><dd><code>${one.path}</code> <del>${one.old}</del> <ins>${one.new}</ins>
        on ${count(one.nodes.length, "node")}; from ${(one.written.length ? one.written.map((each) => `${each.name}, line ${each.line}`) : one.documents.map((each) => each.name)).join(", ")}</dd>`)}
      ${plan.held?.length > 0 && html`<dt>Held</dt><dd>${plan.held.slice(0, 5).map((one) => `${one.node} (${one.reason})`).join(", ")}</dd>`}
    </dl>
    ${findings.length > 0 && html`<ul class="findings">${findings.slice(0, 10).map((one) => html`<li key=${one.message}>
      <span class=${`badge ${one.error ? "bad" : "queued"}`}>${one.error ? "error" : "warning"}</span> ${one.message}</li>`)}</ul>`}
    ${plan.groups.length > 0 && html`<${PlannedGroups} groups=${plan.groups} forecast=${forecast} />`}
    ${plan.tasks?.length > 0 && html`<details><summary>${count(plan.tasks.length, "task")} on the nodes</summary>
      ${plan.tasks.map((task) => html`<div key=${task.id}><b>${task.id}</b> <small class="muted">${task.type}</small>
        <pre>${task.parameters.cmd || JSON.stringify(task.parameters, null, 1)}</pre></div>`)}</details>`}
    ${plan.drains?.map((one) => html`<${Drain} key=${one.node} drain=${one} />`)}
  </div>`;
}

export function criteria(written) {
  const words = {
    percent_successful_nodes: (number) => `at least ${number} %`,
    minimum_successful_nodes: (number) => `at least ${count(number, "node")}`,
    maximum_failed_nodes: (number) => `at most ${number} failed`,
  };
  const found = Object.entries(words).filter(([name]) => written[name] !== null && written[name] !== undefined);
  return found.map(([name, say]) => say(written[name])).join(", ") || "none";
}

function PlannedGroups({ groups, forecast }) {
  const most = 14;
  const chances = new Map((forecast?.groups || []).map((one) => [one.name, one.success.probability]));
  return html`<div class="scroll"><table><thead><tr><th>#</th><th>Group</th><th class="number">Touches</th><th>Success criteria</th>${forecast && html`<th class="number">Meets them</th>`}</tr></thead>
    <tbody>${groups.slice(0, most).map((group) => html`<tr key=${group.name}>
      <td class="number">${group.order}</td>
      <td>${group.name} ${group.critical && html`<span class="badge">critical</span>`} ${!group.can_succeed && html`<span class="badge bad">cannot succeed</span>`}</td>
      <td class="number">${group.sends.length} of ${group.nodes.length}</td><td>${criteria(group.success_criteria)}
        ${group.accept.length > 0 && html`<small class="muted accept">accept: ${group.accept.join(", ")}</small>`}</td>
      ${forecast && html`<td class="number">${chances.has(group.name) ? percent(chances.get(group.name)) : "–"}</td>`}</tr>`)}</tbody></table>
    ${groups.length > most && html`<p class="muted">${groups.length - most} more groups</p>`}</div>`;
}

const CLASSES = {
  evictable: "leave", daemon: "daemons, stay", mirror: "mirror pods, stay",
};

export function Drain({ drain }) {
  if (!drain.plan) return html`<p class="muted">No drain plan for ${drain.node}: ${drain.why_none}</p>`;
  const { plan } = drain;
  const pods = plan.pods.filter((pod) => !["evictable", "daemon", "mirror"].includes(pod.class ?? pod.pod_class));
  return html`<div class="drain"><h3>Drain of ${drain.node}</h3>
    <p>${Object.entries(plan.totals).filter(([, number]) => number).map(([name, number]) => `${number} ${CLASSES[name] || plain(name)}`).join(" · ") || "no pods"}</p>
    ${pods.length > 0 && html`<ul>${pods.slice(0, 10).map((pod) => html`<li key=${`${pod.namespace}/${pod.name}`}>
      <code>${pod.namespace}/${pod.name}</code> ${plain(pod.class ?? pod.pod_class)}${pod.budget ? ` by ${pod.budget}` : ""}</li>`)}</ul>`}
    ${plan.etcd.map((one) => html`<p key=${one.cluster}>etcd <b>${one.cluster}</b>: survives ${one.survivable_failures ?? "?"} failures now, ${one.survivable_failures_after ?? "?"} afterwards</p>`)}
  </div>`;
}
