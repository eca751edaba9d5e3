import { html } from "./preact.js";
import { get, segment, V1 } from "./api.js";
import { Loaded, useRead } from "./loading.js";
import { STEP, localTime, noteText, plain } from "./words.js";

export function StepsView({ overview }) {
  const { id } = overview.action;
  const found = useRead(() => get(`${V1}/actions/${segment(id)}?verbosity=3`), [id, overview]);
  return html`<section class="panel" aria-labelledby="steps-title"><h2 id="steps-title">Steps</h2>
    <${Loaded} found=${found}>${(action) => html`
      <ol class="steps">${action.steps.map((step) => html`<${Step} key=${step.id} step=${step} action=${id} />`)}</ol>
      ${notes(action).length > 0 && html`<h3>Notes</h3><ul class="plain">${notes(action).map((one) => html`<li key=${one.note_id}>
        <time class="muted">${localTime(one.note_timestamp, true)}</time> ${one.sub_type}: ${noteText(one.note_val)}</li>`)}</ul>`}
      ${action.validations.length > 0 && html`<h3>Findings</h3><ul class="findings">${action.validations.map((one) => html`<li key=${one.id}>
        ${one.validation_name}: ${one.details}</li>`)}</ul>`}
      <h3>Commands</h3><ul class="plain">${action.command_audit.map((one) => html`<li key=${one.id}>
        <time class="muted">${localTime(one.datetime, true)}</time> ${one.command} by ${one.user}</li>`)}</ul>`}<//>
  </section>`;
}

/** The action's own notes, but for that of its creation, which the summary shows. */
function notes(action) {
  return action.notes.filter((one) => one.sub_type !== "action metadata");
}

function Step({ step, action }) {
  const state = STEP[step.state] || { glyph: "○", tone: "idle" };
  return html`<li class=${step.id.includes(".") ? "inner" : ""}>
    <span class=${`glyph tone-${state.tone}`} aria-hidden="true">${state.glyph}</span>
    <span><b>${step.id}</b> <span class="muted">${plain(step.state) || "not started"}</span>
      ${step.notes.map((note) => html`<p class="muted" key=${note.note_id}>${noteText(note.note_val)}</p>`)}
      ${step.state && html`<${Log} action=${action} step=${step.id} />`}</span></li>`;
}

/** The log of a step, read when it is opened. */
export function Log({ action, step, name = "Log" }) {
  const read = async (event) => {
    const box = event.target;
    if (!box.open || box.dataset.read) return;
    box.dataset.read = "yes";
    const text = box.querySelector("pre");
    try {
      const found = await get(`${V1}/actions/${segment(action)}/steps/${segment(step)}/logs`);
      text.textContent = typeof found === "string" ? found || "Nothing was logged." : JSON.stringify(found, null, 2);
    } catch (error) {
      text.textContent = error.message;
    }
  };
  return html`<details class="log" onToggle=${read}><summary>${name}</summary><pre tabindex="0">Loading …</pre></details>`;
}
