// The rollout policy: its waves with the gates between them, its budgets, and its windows; first what it holds up now.
import { html, useState } from "./preact.js";
import { post, segment, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { Dialog, Fault } from "./dialog.js";
import { ended, refresh } from "./live.js";
import { may } from "./session.js";
import { useNow } from "./store.js";
import { at, count, localTime, rough } from "./words.js";

const WAVE = {
  later: { word: "to come", glyph: "○", tone: "idle" },
  running: { word: "running", glyph: "◕", tone: "working" },
  good: { word: "good", glyph: "✓", tone: "good" },
  bad: { word: "bad", glyph: "✕", tone: "bad" },
  stopped: { word: "stopped", glyph: "✕", tone: "bad" },
};
const GATE = {
  later: { word: "to come", glyph: "○", tone: "idle" },
  open: { word: "waits", glyph: "‖", tone: "queued" },
  paused: { word: "paused", glyph: "‖", tone: "queued" },
  passed: { word: "passed", glyph: "✓", tone: "good" },
  refused: { word: "refused", glyph: "✕", tone: "bad" },
};
const LANES = 12;
const BUDGETS = 12;
const BOXES = 10;
const DAY = 86_400_000;

export function PolicyView({ overview }) {
  const { action, policy } = overview;
  const now = useNow(!ended(action));
  if (!policy) return null;
  const held = heldUp(overview, now);
  return html`<section class="panel policy" aria-labelledby="policy-title">
    <div class="row"><h2 id="policy-title">Rollout policy</h2>
      <p class=${`policy-now tone-${held.tone}`}><span class="glyph" aria-hidden="true">${held.glyph}</span>${held.text}</p></div>
    <div class="policy-parts">
      ${policy.waves.length > 0 && html`<${Waves} waves=${policy.waves} now=${now} />`}
      ${policy.budgets.length > 0 && html`<${Budgets} budgets=${policy.budgets} />`}
      ${policy.windows.length > 0 && html`<${Windows} windows=${policy.windows} now=${now} />`}
    </div>
  </section>`;
}

/** The button that answers the gate at which the action waits for a person; nothing without one. */
export function Approve({ overview: { action, policy } }) {
  const [asked] = policy?.waits_for || [];
  return asked ? html`<${Approval} action=${action} gate=${asked} waves=${policy.waves} />` : null;
}

const place = ({ name, group }) => (group ? `${name} of ${group}` : name);
/** The wave of a gate, as far as the answer has it: waves beyond the first 500 are left out. */
const waveOf = (gate, waves) => waves.find((wave) => wave.group === gate.group && wave.name === gate.wave);

/** What the policy holds up now, or what it has stopped, in one sentence. */
export function heldUp({ action, policy }, now) {
  const waiting = action.waiting_for;
  if (!ended(action)) {
    const [asked] = policy.waits_for;
    if (asked) {
      const until = waveOf(asked, policy.waves)?.gates[asked.index]?.until;
      const after = place({ name: asked.wave, group: asked.group });
      return { tone: "queued", glyph: "‖", text: `Waits after ${after}: a person must approve what follows${until ? `, until ${localTime(until)}` : ""}` };
    }
    if (waiting?.who === "the rollout policy") {
      const next = policy.windows.find((window) => at(window.ends) > now);
      const isClosed = waiting.what.startsWith("windows") && next;
      const begins = isClosed && at(waiting.next_attempt || next.begins) > now ? waiting.next_attempt || next.begins : "";
      return {
        tone: "queued", glyph: "‖",
        text: begins ? `Waits for a window: goes on at ${localTime(begins)}, in ${rough((at(begins) - now) / 1000)}` : `Waits: ${waiting.what}`,
      };
    }
  }
  const stops = (wave) => policy.waves.some((other) => other.group === wave.group && other.nodes.stopped);
  const bad = policy.waves.find((wave) => stops(wave) && (wave.state === "bad" || wave.gates.some((gate) => gate.state === "refused")));
  const stopped = policy.waves.reduce((sum, wave) => sum + wave.nodes.stopped, 0);
  const full = policy.budgets.find((budget) => budget.full && budget.lost > 0 && budget.max_away === null);
  if (stopped && bad) return { tone: "bad", glyph: "✕", text: `Stopped after ${place(bad)}: ${count(stopped, "node")} never begin${stopped === 1 ? "s" : ""}` };
  if (full) return { tone: "bad", glyph: "✕", text: `The budget ${title(full)} is used up by lost nodes` };
  if (ended(action)) return { tone: "good", glyph: "✓", text: "It stopped nothing" };
  return { tone: "working", glyph: "◕", text: "Nothing is held up" };
}

function Waves({ waves, now }) {
  const lanes = new Map();
  for (const wave of waves) lanes.set(wave.group, [...(lanes.get(wave.group) || []), wave]);
  const shown = [...lanes].filter(([, own]) => own.length > 1 || own[0].gates.length);
  return html`<div class="policy-part"><h3>Waves</h3>
    ${shown.slice(0, LANES).map(([group, own]) => html`<div class="lane" key=${group}>
      ${group ? html`<a class="lane-name" href=${link({ group })} onClick=${follow({ group })}>${group}</a>` : html`<span class="lane-name">all groups</span>`}
      <ol>${own.map((wave, number) => html`<${Wave} key=${wave.name} wave=${wave} now=${now} isLast=${number === own.length - 1} />`)}</ol>
    </div>`)}
    ${shown.length > LANES && html`<p class="muted">and ${count(shown.length - LANES, "more group")}</p>`}</div>`;
}

function Wave({ wave, now, isLast }) {
  const { word, glyph, tone } = WAVE[wave.state];
  const { total, success, lost, stopped } = wave.nodes;
  const losses = [lost && `${lost} lost`, stopped && `${stopped} never begin${stopped === 1 ? "s" : ""}`].filter(Boolean).join(", ");
  return html`<li class=${`wave tone-${tone}`} title=${wave.missed || undefined}>
      <span class="glyph" aria-hidden="true">${glyph}</span><b>${wave.name}</b><span class="unseen">${word}:</span>
      <span class="wave-count">${success} of ${total}</span>${losses && html`<small>${losses}</small>`}</li>
    ${!isLast && wave.gates.length === 0 && html`<li class="then" aria-hidden="true">→</li>`}
    ${wave.gates.map((gate, number) => html`<${Gate} key=${number} gate=${gate} now=${now} />`)}`;
}

function Gate({ gate, now }) {
  const { word, glyph, tone } = GATE[gate.state];
  const left = gate.state === "open" && gate.until ? `, ${rough(Math.max(0, at(gate.until) - now) / 1000)} left` : "";
  const who = gate.by ? ` by ${gate.by}${gate.detail ? `: ${gate.detail}` : ""}` : "";
  return html`<li class=${`gate tone-${tone}`} title=${`${gate.text}: ${word}${who}`}>
    <span class="glyph" aria-hidden="true">${glyph}</span>${gate.text}<span class="unseen"> ${word}</span>${left}</li>`;
}

const title = ({ name, value }) => (value ? `${name}, ${value}` : name);

function Budgets({ budgets }) {
  return html`<div class="policy-part"><h3>Budgets</h3><ul class="budgets">
    ${budgets.slice(0, BUDGETS).map((budget) => html`<li key=${title(budget)} class=${budget.full ? (budget.lost ? "tone-bad" : "tone-working") : ""}>
      <span class="lane-name" title=${budget.by ? `${budget.name}: of each ${budget.by}` : budget.name}>${budget.value || budget.name}</span>
      <${Boxes} budget=${budget} /><span>${words(budget)}</span></li>`)}</ul>
    ${budgets.length > BUDGETS && html`<p class="muted">and ${budgets.length - BUDGETS} more, of which less is used</p>`}</div>`;
}

function words({ unavailable, max_unavailable: most, max_away: mostAway, lost, max_lost: mostLost }) {
  const parts = [];
  if (mostAway !== null) parts.push(`${unavailable} of ${mostAway} away`);
  if (most !== null) parts.push(`${unavailable.toLocaleString("en")} of ${most.toLocaleString("en")} in flight or lost`);
  if (mostLost !== null) parts.push(`${lost} lost, at most ${mostLost}`);
  return parts.join("; ");
}

function Boxes({ budget }) {
  const most = budget.max_away ?? budget.max_unavailable ?? budget.max_lost + 1;
  const used = (budget.max_away ?? budget.max_unavailable) === null ? budget.lost : budget.unavailable;
  if (most > BOXES) {
    const share = (number) => ({ width: `${Math.min(100, (100 * number) / most)}%` });
    return html`<span class="boxes bar" aria-hidden="true"><i class="fill-f" style=${share(budget.lost)}></i><i class="fill-d" style=${share(used - budget.lost)}></i></span>`;
  }
  const fill = (number) => (number < budget.lost ? "fill-f" : number < used ? "fill-d" : undefined);
  return html`<span class="boxes" aria-hidden="true">${Array.from({ length: most }, (_, number) => html`<i key=${number} class=${fill(number)}></i>`)}</span>`;
}

function Windows({ windows, now }) {
  const coming = windows.filter((window) => at(window.ends) > now);
  if (!coming.length) return null;
  const [next] = coming;
  const isOpen = at(next.begins) <= now;
  const until = Math.max(now + DAY, at(next.ends));
  const share = (moment) => (100 * (Math.min(Math.max(at(moment), now), until) - now)) / (until - now);
  const moment = (text) => localTime(text, at(text) - now > DAY);
  const text = isOpen
    ? `open until ${moment(next.ends)}, ${rough((at(next.ends) - now) / 1000)} left`
    : `closed until ${moment(next.begins)}, in ${rough((at(next.begins) - now) / 1000)}`;
  return html`<div class="policy-part"><h3>Windows of the next ${rough((until - now) / 1000)}</h3><div class="lane">
    <span class=${`lane-name tone-${isOpen ? "good" : "queued"}`}>${isOpen ? "open" : "closed"}</span>
    <span class="window-track" role="img" aria-label=${`Maintenance windows: ${text}`}>
      ${coming.filter((one) => at(one.begins) < until).map((one) => html`<i key=${one.begins} style=${{ left: `${share(one.begins)}%`, width: `${Math.max(0.5, share(one.ends) - share(one.begins))}%` }}></i>`)}</span>
    <span>${text}</span></div></div>`;
}

function Approval({ action, gate, waves }) {
  const [state, set] = useState({ open: false, busy: false, error: null, reason: "" });
  if (!may("approve_action")) return null;
  const send = async (approve) => {
    set({ ...state, busy: true, error: null });
    try {
      const group = gate.group ? { group: gate.group } : {};
      await post(`${V1}/actions/${segment(action.id)}/approvals`, { approve, wave: gate.wave, ...group, ...(state.reason ? { reason: state.reason } : {}) });
      refresh();
      set({ open: false, busy: false, error: null, reason: "" });
    } catch (error) {
      set({ ...state, busy: false, error });
    }
  };
  const wave = place({ name: gate.wave, group: gate.group });
  const { total, success, lost } = waveOf(gate, waves)?.nodes || { total: gate.deployed, success: gate.deployed, lost: 0 };
  return html`<button class="primary" onClick=${() => set({ ...state, open: true })}>Approve or refuse …</button>
    ${state.open && html`<${Dialog} title=${`Let the wave after ${wave} begin?`} onClose=${() => set({ ...state, open: false })}>
      <p>${wave}: ${success} of ${count(total, "node")} deployed${lost ? `, ${lost} lost` : ""}. Refused, nothing that follows it begins.</p>
      <input aria-label="Reason" placeholder="Reason (optional)" value=${state.reason} onInput=${(event) => set({ ...state, reason: event.target.value })} />
      <${Fault} error=${state.error} />
      <div class="row buttons"><span class="space"></span>
        <button class="danger" disabled=${state.busy} onClick=${() => send(false)}>Refuse</button>
        <button class="primary" disabled=${state.busy} onClick=${() => send(true)}>Approve</button></div>
    <//>`}`;
}
