// Why it failed: each group that failed by itself, its nodes with the provisioner's words, its dependents folded below.
import { html, useState } from "./preact.js";
import { get, post, segment, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { Fault } from "./dialog.js";
import { refresh } from "./live.js";
import { useRead } from "./loading.js";
import { Log } from "./steps_view.js";
import { may } from "./session.js";
import { REASONS, count, localTime, plain } from "./words.js";

const SHOWN = 8;

/** The groups that failed by themselves, each with those that failed because of it, direct and indirect. */
export function roots(groups) {
  const failed = groups.filter((group) => group.status === "failed");
  const own = failed.filter((group) => group.reason !== "dependency");
  return own.map((root) => {
    const below = new Set([root.name]);
    for (let grown = true; grown;) {
      grown = false;
      for (const group of failed) {
        if (!below.has(group.name) && group.reason === "dependency" && group.depends_on.some((name) => below.has(name))) {
          below.add(group.name);
          grown = true;
        }
      }
    }
    below.delete(root.name);
    return { root, dependents: groups.filter((group) => below.has(group.name)) };
  });
}

export function Failures({ overview, failures }) {
  const found = roots(overview.groups);
  const shown = new Set();
  const elsewhere = failures.filter((node) => !found.some(({ root }) => root.name === node.group));
  if (!found.length && !failures.length && !overview.way_back?.length) return null;
  const failed = found.length > 0 || failures.length > 0 || overview.action.verdict === "failed";
  found.sort((one, other) => other.root.critical - one.root.critical);
  return html`<section class="failures" aria-labelledby="failures-title">
    <h2 id="failures-title">${failed ? "What failed" : "What is left"}</h2>
    ${found.map(({ root, dependents }) => html`<${Root} key=${root.name} group=${root} dependents=${dependents}
      nodes=${failures.filter((node) => node.group === root.name)} seen=${shown} />`)}
    ${elsewhere.length > 0 && html`<div class="failure tolerated">
      <h3>${count(elsewhere.length, "failed node")} that the criteria tolerate</h3>
      <${NodeList} nodes=${elsewhere} withGroup /></div>`}
    <${WayBack} ways=${overview.way_back} />
    ${failed && html`<${Ended} overview=${overview} />`}
  </section>`;
}

/** What an action that has ended says of its failures: the acknowledgement, and the logs of the failed steps. */
function Ended({ overview }) {
  const { id, verdict } = overview.action;
  const found = useRead(() => (verdict ? get(`${V1}/actions/${segment(id)}`) : null), [overview]);
  if (!verdict || found.value?.id !== id) return null;
  return html`<${Acknowledgement} key=${id} action=${found.value} /><${StepLogs} action=${found.value} />`;
}

/** Who acknowledged the failures, when and why, or a button that does. */
function Acknowledgement({ action }) {
  const [reason, write] = useState("");
  const [error, fail] = useState(null);
  const note = action.notes.find((one) => one.sub_type === "Acknowledged");
  if (note) return html`<p class="failure">✓ Acknowledged ${localTime(note.note_timestamp, true)}: ${note.note_val}</p>`;
  if (!may("invoke_action_control")) return null;
  const query = reason ? `?reason=${encodeURIComponent(reason)}` : "";
  const acknowledge = () =>
    post(`${V1}/actions/${segment(action.id)}/control/acknowledge${query}`).then(refresh, fail);
  return html`<div class="row failure"><input aria-label="Why the failure is accepted" placeholder="Why (optional)"
      maxlength="1000" value=${reason} onInput=${(event) => write(event.target.value)} />
    <button onClick=${acknowledge}>Acknowledge</button></div><${Fault} error=${error} />`;
}

/** The next commands for what failed. */
function WayBack({ ways }) {
  if (!ways?.length) return null;
  return html`<div class="failure"><h3>What to do next</h3>
    <ul class="nodes">${ways.map((one) => html`<li key=${one.command}><code>${one.command}</code> <span class="muted">${one.when}</span></li>`)}</ul></div>`;
}

/** The logs of the failed steps, without those that contain another one of them. */
function StepLogs({ action: { id, steps } }) {
  const failed = steps.filter((one) => one.state === "failed");
  const own = failed.filter((one) => !failed.some((other) => other.id.startsWith(`${one.id}.`)));
  return html`<div class="failure-logs">${own.map((one) => html`<${Log} key=${one.id} action=${id} step=${one.id} name=${`Log of ${one.id}`} />`)}</div>`;
}

function Root({ group, dependents, nodes }) {
  return html`<div class=${`failure ${group.critical ? "critical" : ""}`}>
    <h3><span class="glyph tone-bad" aria-hidden="true">✕</span>
      <a href=${link({ group: group.name })} onClick=${follow({ group: group.name })}>${group.name}</a>
      ${group.critical && html`<span class="badge bad">critical</span>`}
      <span class="muted">${REASONS[group.reason] || plain(group.reason)}</span></h3>
    ${group.detail && html`<p>${group.detail}</p>`}
    <${NodeList} nodes=${nodes} />
    ${dependents.length > 0 && html`<details>
      <summary>${count(dependents.length, "group")} failed because of it</summary>
      <ul class="chips">${dependents.map((one) => html`<li key=${one.name}>
        <a class="chip" href=${link({ group: one.name })} onClick=${follow({ group: one.name })}>${one.name}
        ${one.critical ? " · critical" : ""} · ${count(one.nodes.total, "node")}</a></li>`)}</ul>
    </details>`}
  </div>`;
}

function NodeList({ nodes, withGroup }) {
  if (!nodes.length) return null;
  const line = (node) => html`<li key=${node.name}>
    <a href=${link({ node: node.name })} onClick=${follow({ node: node.name })}><b>${node.name}</b></a>
    ${withGroup && node.group ? html` <span class="muted">${node.group}</span>` : ""}
    <span> ${plain(node.reason || "")}${node.detail ? `: ${node.detail}` : ""}</span></li>`;
  return html`<ul class="nodes">${nodes.slice(0, SHOWN).map(line)}</ul>
    ${nodes.length > SHOWN && html`<details><summary>${nodes.length - SHOWN} more</summary>
      <ul class="nodes">${nodes.slice(SHOWN).map(line)}</ul></details>`}`;
}
