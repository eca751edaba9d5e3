// Commands to an action: each says what it will touch before it is sent.
import { html, useState } from "./preact.js";
import { post, segment, V1 } from "./api.js";
import { go } from "./address.js";
import { Dialog, Fault } from "./dialog.js";
import { ended, refresh } from "./live.js";
import { Loaded, useRead } from "./loading.js";
import { PlanSummary } from "./plan_summary.js";
import { may } from "./session.js";
import { STORE, showStored } from "./stored_plans.js";
import { count } from "./words.js";

const VERBS = {
  pause: { word: "Pause", title: "Pause this action?" },
  unpause: { word: "Go on", title: "Let this action go on?" },
  stop: { word: "Stop", title: "Stop this action?" },
  retry: { word: "Retry", title: "Retry this action?" },
};

function possible({ action, way_back: ways }) {
  if (action.dag_status === "success") return ways?.some((way) => way.command.startsWith("shipyard retry ")) ? ["retry"] : [];
  if (action.dag_status === "failed") return ["retry"];
  return action.dag_status === "paused" ? ["unpause", "stop"] : ["pause", "stop"];
}

export function Controls({ overview }) {
  const [verb, choose] = useState(null);
  const { action } = overview;
  const verbs = possible(overview);
  if (!verbs.length) return null;
  if (!may("invoke_action_control")) return html`<p class="muted">Your roles may only look.</p>`;
  return html`<div class="controls">
    ${verbs.map((one) => html`<button key=${one} class=${one === "stop" ? "danger" : ""} onClick=${() => choose(one)}>${VERBS[one].word} …</button>`)}
    ${verb && html`<${Confirm} verb=${verb} overview=${overview} onClose=${() => choose(null)} />`}
  </div>`;
}

function Confirm({ verb, overview, onClose }) {
  const [state, set] = useState({ busy: false, error: null, force: false });
  const { id } = overview.action;
  const plan = useRead(() => (verb === "retry" ? post(`${V1}/plans${state.force ? "?force=true" : ""}`, { retry: id }) : {}), [verb, id, state.force]);
  const refused = verb === "retry" && plan.value?.refused;
  const needsPlan = verb === "retry" && !may("action_without_approval");
  const send = async () => {
    set({ ...state, busy: true, error: null });
    try {
      if (needsPlan) {
        const stored = await post(STORE, { retry: id });
        onClose();
        showStored(stored);
        return;
      }
      const made = await post(`${V1}/actions/${segment(id)}/control/${verb}${state.force ? "?force=true" : ""}`);
      refresh();
      onClose();
      if (made?.id) go({ action: made.id, node: "", group: "" });
    } catch (error) {
      set({ ...state, busy: false, error });
    }
  };
  return html`<${Dialog} title=${VERBS[verb].title} onClose=${onClose}>
    ${verb === "retry"
    ? html`<${Loaded} found=${plan}>${(found) => html`<${PlanSummary} plan=${found} body=${{ retry: id }} />`}<//>`
    : html`<${Touches} verb=${verb} overview=${overview} />`}
    <${Fault} error=${state.error} />
    <div class="row buttons"><span class="space"></span>
      ${refused && !needsPlan && html`<label class="check"><input type="checkbox" checked=${state.force}
        onChange=${(event) => set({ ...state, force: event.target.checked })} /> force</label>`}
      <button onClick=${onClose}>Cancel</button>
      <button class=${verb === "stop" ? "danger" : "primary"} disabled=${state.busy || (verb === "retry" && (!plan.value || refused))}
        onClick=${send}>${needsPlan ? "Store for approval" : VERBS[verb].word}</button></div>
  <//>`;
}

function Touches({ verb, overview }) {
  const { groups, action } = overview;
  const busy = groups.filter((group) => group.status === "preparing" || group.status === "deploying");
  const waiting = groups.filter((group) => group.status === "not_started");
  const nodes = (some) => some.reduce((sum, group) => sum + group.nodes.total, 0);
  const sent = busy.map((group) => {
    const open = group.phases.filter((phase) => !phase.ended_at);
    return `${group.name}: ${open.map((phase) => `${phase.phase} of ${count(phase.nodes_sent, "node")}`).join(", ") || "between two phases"}`;
  });
  const fate = {
    pause: "Phases that run now go on to their end; no new phase starts.",
    unpause: "The next phase starts.",
    stop: "Phases that run now are aborted where the provisioner can, or else watched to their end. Nothing new starts, and the action fails.",
  }[verb];
  return html`<p>${fate}</p>
    <dl class="facts-list">
      <dt>Runs now</dt><dd>${sent.length ? sent.map((one) => html`<div key=${one}>${one}</div>`) : action.waiting_for?.what || "nothing"}</dd>
      <dt>${verb === "unpause" ? "Will start" : "Will not start"}</dt>
      <dd>${waiting.length ? `${count(waiting.length, "group")} with ${count(nodes(waiting), "node")}: ${waiting.slice(0, 6).map((one) => one.name).join(", ")}${waiting.length > 6 ? " …" : ""}` : "no group is left to start"}</dd>
    </dl>`;
}
