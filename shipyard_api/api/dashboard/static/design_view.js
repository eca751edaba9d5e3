// What the design changed since the last successful site action, document by document.
import { html, useState } from "./preact.js";
import { get, V1 } from "./api.js";
import { Loaded, useRead } from "./loading.js";
import { count } from "./words.js";

const VERSIONS = { committed: "committed", buffer: "in the buffer", last_site_action: "of the last site action" };

export function DesignView() {
  const [version, choose] = useState("committed");
  const found = useRead(async () => {
    try {
      return await get(`${V1}/configdocs?base-version=successful_site_action&diff-version=${version}`);
    } catch (error) {
      if (error.status === 404) return { none: error.message };
      throw error;
    }
  }, [version]);
  return html`<section class="panel" aria-labelledby="design-title">
    <div class="row"><h2 id="design-title">Design changes since the last success</h2><span class="space"></span>
      <label class="check">Compare with the design <select value=${version} onChange=${(event) => choose(event.target.value)}>
        ${Object.entries(VERSIONS).map(([name, word]) => html`<option key=${name} value=${name}>${word}</option>`)}</select></label></div>
    <${Loaded} found=${found}>${(entries) => {
    if (entries.none) return html`<p class="muted">Nothing to compare: ${entries.none}</p>`;
    const changed = entries.flatMap((entry) => entry.documents.map((one) => ({ ...one, collection: entry.collection_name })));
    return changed.length === 0 ? html`<p class="muted">No document differs.</p>`
      : html`<p class="muted">${count(changed.length, "document")}</p>${changed.map((one) => html`<${Document} key=${one.schema + one.name + one.layer} document=${one} />`)}`;
  }}<//>
  </section>`;
}

function Document({ document: one }) {
  return html`<details class="document" open=${one.changes.length < 8}>
    <summary><b>${one.name}</b> <span class="muted">${one.schema} · ${one.collection}</span> <span class="badge">${one.status}</span></summary>
    <dl class="changes">${one.changes.map((change) => html`<dt key=${change.path}><code>${change.path || "/"}</code></dt>
      <dd>${"old" in change ? html`<del>${show(change.old)}</del>` : ""} ${"new" in change ? html`<ins>${show(change.new)}</ins>` : ""}</dd>`)}</dl>
  </details>`;
}

function show(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)} …` : text;
}
