// A new action: first its plan, then the button that starts it.
import { html, useState } from "./preact.js";
import { post, V1 } from "./api.js";
import { go } from "./address.js";
import { AS_THEY_ARE, ChangeChoice, parametersOf } from "./change_choice.js";
import { Dialog, Fault } from "./dialog.js";
import { refresh } from "./live.js";
import { PlanSummary } from "./plan_summary.js";
import { may } from "./session.js";
import { STORE, showStored } from "./stored_plans.js";

const ACTIONS = {
  deploy_site: { text: "Prepare and deploy every group of the committed design." },
  update_site: { text: "Deploy what the committed design changes." },
  redeploy_server: { text: "Drain servers, remove them, and deploy them again.", nodes: true },
  remove_server: { text: "Drain servers, remove them from the cluster and destroy them, for good.", nodes: true },
  relabel_nodes: { text: "Apply the labels of the design to nodes that run.", nodes: true },
  power_cycle: { text: "Drain servers, switch them off and on, and let pods return.", nodes: true },
  update_software: { text: "Run the task graph on deployed nodes." },
  test_site: { text: "Run the site's tests." },
};

export function StartDialog({ onClose }) {
  const allowed = Object.keys(ACTIONS).filter((name) => may(`action_${name}`));
  const [name, setName] = useState(allowed[0]);
  const [nodes, setNodes] = useState("");
  const [keep, setKeep] = useState(false);
  const [changed, setChanged] = useState(AS_THEY_ARE);
  const [state, set] = useState({ plan: null, busy: false, error: null });
  const own = ACTIONS[name];
  const parameters = () => {
    if (name === "update_site") return parametersOf(changed);
    if (!own?.nodes) return {};
    return { target_nodes: nodes.trim(), ...(keep && name === "redeploy_server" ? { "preserve-local-storage": true } : {}) };
  };
  const body = { name, parameters: parameters() };
  const change = (setter) => (value) => {
    setter(value);
    set({ plan: null, busy: false, error: null });
  };
  const run = async (path, then) => {
    set({ ...state, busy: true, error: null });
    try {
      then(await post(path, body));
    } catch (error) {
      set({ plan: null, busy: false, error });
    }
  };
  const plan = (event) => {
    event.preventDefault();
    run(`${V1}/plans`, (found) => set({ plan: found, busy: false, error: null }));
  };
  const begin = () => run(`${V1}/actions`, (made) => {
    refresh();
    onClose();
    go({ action: made.id, node: "", group: "", view: "" });
  });
  const keepPlan = () => run(STORE, (made) => {
    onClose();
    showStored(made);
  });
  const blocked = state.busy || Boolean(state.plan?.refused);
  const alone = may("action_without_approval");
  if (!name) return html`<${Dialog} title="New action" onClose=${onClose}><p>Your roles may not start an action.</p><//>`;
  return html`<${Dialog} title="New action" onClose=${onClose}>
    <form onSubmit=${plan} class="form">
      <label for="action-name">Action</label>
      <select id="action-name" value=${name} onChange=${(event) => change(setName)(event.target.value)}>
        ${allowed.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select>
      <p class="muted">${own.text}</p>
      ${name === "update_site" && html`<${ChangeChoice} chosen=${changed} onChoose=${change(setChanged)} />`}
      ${own.nodes && html`<label for="action-nodes">Nodes</label>
        <input id="action-nodes" value=${nodes} required placeholder="node01, node02" onInput=${(event) => change(setNodes)(event.target.value)} />`}
      ${name === "redeploy_server" && html`<label class="check"><input type="checkbox" checked=${keep}
        onChange=${(event) => change(setKeep)(event.target.checked)} /> keep local storage</label>`}
      ${!state.plan && html`<div class="row buttons"><span class="space"></span>
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class="primary" type="submit" disabled=${state.busy}>Show what it will touch</button></div>`}
    </form>
    <${Fault} error=${state.error} />
    ${state.plan && html`<${PlanSummary} plan=${state.plan} body=${body} />
      <div class="row buttons"><span class="space"></span><button onClick=${onClose}>Cancel</button>
      ${may("store_plan") && html`<button class=${alone ? "" : "primary"} disabled=${blocked} onClick=${keepPlan}>Store for approval</button>`}
      ${alone && html`<button class="primary" disabled=${blocked} onClick=${begin}>Start ${name}</button>`}</div>`}
  <//>`;
}
