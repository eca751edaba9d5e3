// Every machine of any action with its newest status: searched, filtered and sorted here.
import { html, useMemo, useState } from "./preact.js";
import { get, V1 } from "./api.js";
import { follow, link } from "./address.js";
import { Loaded, useRead } from "./loading.js";
import { STATUS, at, count, localTime, plain, statusOf } from "./words.js";

const PAGE = 1000;
const SHOWN = 200;

async function readAll() {
  const found = [];
  for (let marker = ""; marker !== null;) {
    const page = await get(`${V1}/nodes?limit=${PAGE}${marker ? `&marker=${encodeURIComponent(marker)}` : ""}`);
    found.push(...page.nodes);
    marker = page.next;
  }
  return found;
}

// By column: what it is sorted by.
const KEYS = {
  name: (node) => node.name,
  status: (node) => statusOf(node).word,
  group: (node) => node.group || node.groups.join(),
  updated: (node) => -at(node.updated_at),
  why: (node) => `${node.reason || "~"} ${node.detail}`,
};
const HEADS = { name: "Machine", status: "Status", group: "Group", updated: "Updated", why: "Why" };

export function Machines() {
  const [again, read] = useState(0);
  const found = useRead(readAll, [again]);
  return html`<section class="panel" aria-labelledby="machines-title">
    <div class="row"><h1 id="machines-title">Machines</h1><span class="muted">of all actions, with their newest status</span><span class="space"></span>
      <button onClick=${() => read(again + 1)}>Read again</button></div>
    <${Loaded} found=${found}>${(nodes) => html`<${List} nodes=${nodes} />`}<//>
  </section>`;
}

function List({ nodes }) {
  const [text, search] = useState("");
  const [status, filter] = useState("");
  const [order, sort] = useState("name");
  const [most, showMore] = useState(SHOWN);
  const statuses = useMemo(() => [...new Set(nodes.map((node) => node.status))], [nodes]);
  const chosen = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/);
    const has = (node) => `${node.name} ${node.groups.join(" ")} ${node.reason || ""} ${node.detail}`.toLowerCase();
    const key = KEYS[order];
    const compare = (one, other) => (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0);
    return nodes.filter((node) => {
      const isOne = !status || (status === "held" ? node.holds.length > 0 : status === "cordoned" ? node.cordon : status === "late" ? node.late : node.status === status);
      return isOne && words.every((word) => has(node).includes(word));
    }).sort(compare);
  }, [nodes, text, status, order]);
  if (!nodes.length) return html`<p class="muted">No action has had a machine yet.</p>`;
  return html`<div class="row machines-filter">
      <input type="search" aria-label="Search machines" placeholder="Name, group or reason" value=${text} onInput=${(event) => search(event.target.value)} />
      <select aria-label="Status" value=${status} onChange=${(event) => filter(event.target.value)}>
        <option value="">every status</option>
        ${statuses.map((one) => html`<option key=${one} value=${one}>${STATUS[one]?.word ?? plain(one)}</option>`)}
        <option value="held">held</option><option value="cordoned">cordoned</option><option value="late">late</option></select>
      <span class="muted" role="status">${chosen.length === nodes.length ? count(nodes.length, "machine") : `${chosen.length.toLocaleString("en")} of ${count(nodes.length, "machine")}`}</span></div>
    <div class="scroll"><table class="machines"><thead><tr>${Object.entries(HEADS).map(([name, word]) => html`
      <th key=${name} aria-sort=${order === name ? "ascending" : undefined}><button class="quiet" onClick=${() => sort(name)}>${word}${order === name ? " ↓" : ""}</button></th>`)}</tr></thead>
      <tbody>${chosen.slice(0, most).map((node) => html`<${Row} key=${node.name} node=${node} />`)}</tbody></table></div>
    ${chosen.length > most && html`<button onClick=${() => showMore(most + SHOWN)}>Show ${Math.min(SHOWN, chosen.length - most)} more</button>`}`;
}

function Row({ node }) {
  const { word, tone } = statusOf(node);
  const to = { node: node.name };
  return html`<tr><td><a href=${link(to)} onClick=${follow(to)}>${node.name}</a></td>
    <td><span class="tone-${tone}">${word}</span>${node.holds.length > 0 && html` <span class="badge queued">held</span>`}${node.late && html` <span class="badge queued" title=${`since ${localTime(node.late.since, true)}`}>late</span>`}${node.cordon && html` <span class="badge queued" title=${node.cordon.commands.join(" or ")}>cordoned</span>`}${node.in_design === false && html` <span class="badge">not in the design</span>`}</td>
    <td>${node.group || node.groups.join(", ")}</td>
    <td><a href=${link({ view: "", action: node.action_id })} onClick=${follow({ view: "", action: node.action_id })} title=${node.action_id}>
      <time>${localTime(node.updated_at, true)}</time></a></td>
    <td>${[plain(node.reason || ""), node.detail].filter(Boolean).join(": ")}</td></tr>`;
}
