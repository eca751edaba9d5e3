// The verdict so far, the current waits, the time left, and the number of nodes in each status.
import { html } from "./preact.js";
import { useNow } from "./store.js";
import { ended } from "./live.js";
import { ACTION, NODE, at, clock, count, few, localTime, percent, rough } from "./words.js";

/** The action and its state, what it waits for, and the commands to it. */
export function Headline({ overview, children }) {
  const { action } = overview;
  const state = ACTION[action.dag_status] || ACTION.queued;
  const waiting = action.waiting_for;
  return html`<section class="headline">
    <div class="mark tone-${state.tone}" aria-hidden="true">${state.glyph}</div>
    <div class="title">
      <h1>${action.name} <span class="tone-${state.tone}">${state.word.toLowerCase()}</span></h1>
      <p class="muted"><code title="Id of the action">${action.id}</code>
        ${` · ${action.committed_rev_id ? `revision ${action.committed_rev_id} · ` : ""}by ${action.user} · ${localTime(action.created_at, true)}`}</p>
      ${waiting && html`<p class="waits">Waiting for <b>${waiting.who}</b>${waiting.what ? `: ${waiting.what}` : ""}</p>`}
    </div>
    <span class="space"></span>
    ${children}
  </section>`;
}

export function Facts({ overview, forecast }) {
  const { action } = overview;
  const now = useNow(!ended(action));
  return html`<section class="facts" aria-label="Summary">
    <${Verdict} overview=${overview} />
    <${Waiting} action=${action} now=${now} />
    <${Time} overview=${overview} forecast=${forecast} now=${now} />
    <${Nodes} nodes=${overview.nodes} isOver=${ended(action)} lost=${ended(action) ? null : forecast?.nodes_lost?.mean ?? null} />
  </section>`;
}

function Fact({ name, value, tone, children }) {
  return html`<div class="fact"><h2>${name}</h2><p class=${`value ${tone ? `tone-${tone}` : ""}`}>${value}</p>${children}</div>`;
}

/** What the groups say of the end: a failed critical group fails the action, whatever the others do. */
export function verdictSoFar({ action, groups }) {
  const failed = groups.filter((group) => group.status === "failed");
  const critical = failed.filter((group) => group.critical);
  const done = groups.filter((group) => group.status === "success").length;
  const progress = groups.length ? `${done} of ${count(groups.length, "group")} succeeded` : "";
  const names = critical.slice(0, 3).map((group) => group.name).join(", ");
  const lost = failed.length ? `${count(failed.length, "group")} failed` : progress;
  if (action.verdict === "success") {
    return failed.length
      ? { value: "Succeeded with losses", tone: "good", text: `${lost}; none of them is critical` }
      : { value: "Succeeded", tone: "good", text: progress };
  }
  if (critical.length) {
    return { value: action.verdict ? "Failed" : "Will fail", tone: "bad", text: `critical: ${names}${critical.length > 3 ? " …" : ""}` };
  }
  if (action.verdict === "failed") return { value: "Failed", tone: "bad", text: lost || "before any group began" };
  if (failed.length) return { value: "On course, with losses", tone: "queued", text: `${lost}; none of them is critical` };
  return { value: "On course", tone: "working", text: progress || "groups are not known yet" };
}

function Verdict({ overview }) {
  const { value, tone, text } = verdictSoFar(overview);
  return html`<${Fact} name=${overview.action.verdict ? "Verdict" : "Verdict so far"} value=${value} tone=${tone}>
    <p class="muted">${text}</p><//>`;
}

function Waiting({ action, now }) {
  const waiting = action.waiting_for;
  if (!waiting) {
    return html`<${Fact} name="Waiting for" value="Nothing"><p class="muted">
      ${action.ended_at ? `ended ${localTime(action.ended_at, true)}` : ""}</p><//>`;
  }
  const parts = [`for ${clock((now - at(waiting.since)) / 1000)}`];
  if (waiting.deadline) parts.push(`gives up in ${rough(Math.max(0, at(waiting.deadline) - now) / 1000)}`);
  return html`<${Fact} name="Waiting for" value=${waiting.who}>
    <p class="clamp" title=${waiting.what}>${waiting.what}</p>
    <p class="muted" title=${`Last answer: ${waiting.last_answer || "none"}`}>${parts.join(" · ")}</p><//>`;
}

function Time({ overview, forecast, now }) {
  const { action } = overview;
  const began = at(action.started_at || action.created_at);
  const spent = ((action.ended_at ? at(action.ended_at) : now) - began) / 1000;
  if (action.ended_at) return html`<${Fact} name="Took" value=${clock(spent)}><p class="muted">${overview.groups.length ? `${count(overview.groups.length, "group")}` : ""}</p><//>`;
  const runs = `running for ${clock(spent)}`;
  if (!forecast) return html`<${Fact} name="Running for" value=${clock(spent)}><p class="muted">no forecast yet</p><//>`;
  const { seconds_left: left, success: chance } = forecast;
  if (!left) {
    return html`<${Fact} name="Time left, by forecast" value="not known">
      <p class="muted clamp" title=${forecast.not_known}>${forecast.not_known} · ${runs}</p><//>`;
  }
  return html`<${Fact} name="Time left, by forecast" value=${`about ${rough(left.p50)}`}>
    <p class="muted">${rough(left.p10)} to ${rough(left.p90)} for the rest of its groups · ${runs}</p>
    <p class="muted" title="From where it is now: the chance that every critical group meets its criteria">this action succeeds with ${percent(chance.probability)}</p><//>`;
}

const BAR = ["s", "d", "p", "i", "q", "f", "n"];

export function tally(letters) {
  const counts = {};
  for (const letter of letters) counts[letter] = (counts[letter] || 0) + 1;
  return counts;
}

function Nodes({ nodes, isOver, lost }) {
  const counts = tally(nodes.letters);
  const done = counts.s || 0;
  const failed = counts.f || 0;
  return html`<${Fact} name="Nodes deployed" value=${`${done.toLocaleString("en")} of ${nodes.total.toLocaleString("en")}`}>
    <div class="bar" role="img" aria-label=${BAR.filter((one) => counts[one]).map((one) => `${counts[one]} ${NODE[one].word}`).join(", ")}>
      ${BAR.filter((one) => counts[one]).map((one) => html`<i key=${one} class=${`fill-${one}`} style=${{ flexGrow: counts[one] }}></i>`)}</div>
    <p class=${failed ? "tone-bad" : "muted"}>${failed ? `${failed.toLocaleString("en")} failed` : nodes.total ? "none failed" : isOver ? "the action deployed none" : "not selected yet"}${lost === null || lost < failed ? "" : html`<span class="muted"> · ${few(lost)} lost by forecast</span>`}</p><//>`;
}
