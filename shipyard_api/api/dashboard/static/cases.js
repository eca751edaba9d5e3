// What failed nodes have in common: a sentence for each cause, above all lists. Its cells are framed; a click selects them.
import { html } from "./preact.js";
import { go } from "./address.js";
import { count } from "./words.js";

export const causeOf = (found) => `${found.kind} ${found.feature} ${found.value}`;

export function Cases({ overview, selected }) {
  const { cases = [], cases_unknown: unknown } = overview;
  if (!cases.length && !unknown) return null;
  return html`<section class="causes" aria-labelledby="causes-title">
    <h2 id="causes-title">${cases.length > 1 ? "What failures have in common" : "The one cause"}</h2>
    ${cases.map((found) => html`<${Cause} key=${causeOf(found)} found=${found} isSelected=${causeOf(found) === selected} />`)}
    ${unknown && html`<p>Not known now: ${unknown}</p>`}
  </section>`;
}

function Cause({ found, isSelected }) {
  const cut = found.sentence.indexOf(". ") + 1 || found.sentence.length;
  return html`<div class="cause">
    <p class="said"><b>${found.sentence.slice(0, cut)}</b>${found.sentence.slice(cut)}</p>
    <p class="row"><button aria-pressed=${isSelected} onClick=${() => go({ cause: isSelected ? "" : causeOf(found) })}>
      ${isSelected ? "Show all nodes" : `Select ${found.nodes.length === 1 ? "its node" : `its ${count(found.nodes.length, "node")}`}`}</button>
      ${found.command && html`<span class="muted">Next:</span> <code>${found.command}</code>`}</p>
  </div>`;
}
