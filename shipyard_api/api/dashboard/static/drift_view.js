// What has changed on the site behind Shipyard's back, since the last successful site action.
import { html } from "./preact.js";
import { get, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { Loaded, useRead } from "./loading.js";
import { count } from "./words.js";

export function DriftView({ overview }) {
  const found = useRead(async () => {
    try {
      return await get(`${V1}/site/differences`);
    } catch (error) {
      if (error.status === 404 || error.status === 409) return { none: error.message };
      throw error;
    }
  }, [overview.action.id]);
  return html`<section class="panel" aria-labelledby="drift-title"><h2 id="drift-title">Drift of the site since the last success</h2>
    <${Loaded} found=${found}>${(drift) => (drift.none
    ? html`<p class="muted">Nothing to compare: ${drift.none}</p>`
    : html`<p class="muted">${count(drift.compared, "node")} compared with what ${drift.action.name} left; asked now.</p>
      ${drift.unanswered.map((one) => html`<p key=${one.system} class="tone-bad">${one.system} could not be asked: ${one.why}</p>`)}
      ${drift.cases.map((found) => html`<p key=${found.sentence}><b>${found.sentence}</b> <code>${found.command}</code></p>`)}
      ${drift.differences.length === 0 ? html`<p>No difference.</p>` : html`<div class="scroll"><table>
        <thead><tr><th>Node</th><th>Difference</th><th>Expected</th><th>Seen</th><th>System</th></tr></thead>
        <tbody>${drift.differences.map((one) => html`<tr key=${one.node + one.kind}>
          <td><a href=${link({ node: one.node })} onClick=${follow({ node: one.node })}>${one.node}</a></td>
          <td class="tone-bad">${one.kind}</td><td>${one.expected}</td><td>${one.seen}</td><td>${one.system}</td></tr>`)}</tbody></table></div>`}`)}<//>
  </section>`;
}
