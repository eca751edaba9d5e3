// Roles and tags, by which tasks are placed on nodes: of one node, and of all nodes of the committed design.
import { html, useEffect, useMemo, useRef, useState } from "./preact.js";
import { get, post, remove, segment } from "./api.js";
import { follow, link } from "./address.js";
import { BASE } from "./base.js";
import { Fault } from "./dialog.js";
import { Loaded, useRead } from "./loading.js";
import { may } from "./session.js";
import { store, useStore } from "./store.js";
import { count } from "./words.js";

const SITE = `${BASE}/api/v1`;
const SHOWN = 100;
const RULES = { get: "software:get", assign: "software:assign" };

async function readNames() {
  const [roles, tags] = await Promise.all(["roles", "tags"].map((word) => get(`${SITE}/clusters/1/${word}`)));
  return { roles: roles.map((one) => one.name), tags: tags.map((one) => one.name) };
}

// How often this page has changed any: what is shown of them is read again.
const changes = store({ number: 0 });
const changed = () => changes.set({ number: changes.get().number + 1 });

export const mayReadLabels = () => may(RULES.get);

/** The roles and tags of a node with what changes them; `names`: those that there are, null while they are not known. */
function Labels({ node, names }) {
  const [state, set] = useState({ busy: false, error: null });
  const send = async (work) => {
    set({ busy: true, error: null });
    try {
      await work();
      set({ busy: false, error: null });
      changed();
    } catch (error) {
      set({ busy: false, error });
    }
  };
  const toRoles = (roles) => post(`${SITE}/clusters/1/assignment`, [{ id: node.name, roles }]);
  const tags = `${SITE}/nodes/${segment(node.name)}/tags`;
  const parts = [
    ["role", node.roles, names?.roles, (one) => toRoles([...node.roles, one]), (one) => toRoles(node.roles.filter((other) => other !== one))],
    ["tag", node.tags, names?.tags, (one) => post(tags, [one]), (one) => remove(`${tags}?tags=${segment(one)}`)],
  ];
  return html`<dl class="labels">${parts.map(([word, have, known, add, take]) => html`<dt key=${word}>${word === "role" ? "Roles" : "Tags"}</dt><dd key=${`${word}s`}>
      <${Chips} word=${word} have=${have} onTake=${known && ((one) => send(() => take(one)))} busy=${state.busy} />
      ${known && html`<${Add} word=${word} node=${node.name} known=${known.filter((one) => !have.includes(one))} busy=${state.busy} onAdd=${(one) => send(() => add(one))} />`}</dd>`)}</dl>
    <${Fault} error=${state.error} />`;
}

function Chips({ word, have, onTake, busy }) {
  if (!have.length) return html`<span class="muted">none</span>`;
  return html`<span class="chips">${have.map((one) => html`<span class="chip" key=${one}>${one}${onTake && html`
    <button class="quiet take" aria-label=${`Take the ${word} ${one}`} title=${`Take the ${word}`} disabled=${busy} onClick=${() => onTake(one)}>✕</button>`}</span>`)}</span>`;
}

function Add({ word, node, known, busy, onAdd }) {
  const [text, write] = useState("");
  const id = `${word}s-for-${node}`;
  const submit = (event) => {
    event.preventDefault();
    onAdd(text.trim());
    write("");
  };
  return html`<form class="row" onSubmit=${submit}>
    <input list=${id} aria-label=${`A ${word} for ${node}`} placeholder=${word === "tag" ? "Tag, such as mysql:2" : "Role"} value=${text} onInput=${(event) => write(event.target.value)} />
    <datalist id=${id}>${known.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
    <button type="submit" disabled=${busy || !text.trim()}>Assign</button></form>`;
}

/** Of one node; names to choose from are only read for callers who may assign them. */
export function NodeLabels({ node, onChange }) {
  const { number } = useStore(changes);
  const seen = useRef(number);
  useEffect(() => {
    if (number !== seen.current) onChange();
    seen.current = number;
  }, [number]);
  const mayAssign = may(RULES.assign) && may(RULES.get) && node.in_design !== false;
  const found = useRead(() => (mayAssign ? readNames() : null), [mayAssign]);
  return html`<h3>Roles and tags</h3><${Labels} node=${node} names=${found.value} /><${Fault} error=${found.error} />`;
}

/** All nodes of the committed design, also those that no action has had yet. */
export function Roles() {
  const [again, read] = useState(0);
  const found = useRead(async () => ({ nodes: await get(`${SITE}/nodes`), names: await readNames() }), [again, useStore(changes).number]);
  return html`<section class="panel" aria-labelledby="roles-title">
    <div class="row"><h1 id="roles-title">Roles and tags</h1><span class="muted">of the nodes of the committed design: they place the tasks</span><span class="space"></span>
      <button onClick=${() => read(again + 1)}>Read again</button></div>
    <${Loaded} found=${found}>${({ nodes, names }) => html`<${List} nodes=${nodes} names=${names} />`}<//>
  </section>`;
}

function List({ nodes, names }) {
  const [text, search] = useState("");
  const [open, change] = useState("");
  const [most, showMore] = useState(SHOWN);
  const chosen = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/);
    const has = (node) => [node.name, ...node.roles, ...node.tags].join(" ").toLowerCase();
    return nodes.filter((node) => words.every((word) => has(node).includes(word)));
  }, [nodes, text]);
  if (!nodes.length) return html`<p class="muted">No design with nodes is committed yet.</p>`;
  return html`<div class="row machines-filter">
      <input type="search" aria-label="Search nodes" placeholder="Name, role or tag" value=${text} onInput=${(event) => search(event.target.value)} />
      <span class="muted" role="status">${chosen.length === nodes.length ? count(nodes.length, "node") : `${chosen.length.toLocaleString("en")} of ${count(nodes.length, "node")}`}</span></div>
    <div class="scroll"><table class="machines"><thead><tr><th>Node</th><th>Roles</th><th>Tags</th>${may(RULES.assign) && html`<th>Change</th>`}</tr></thead>
      <tbody>${chosen.slice(0, most).map((node) => (node.name === open
    ? html`<tr key=${node.name}><td>${node.name}</td><td colspan="2"><${Labels} node=${node} names=${names} /></td>
          <td><button class="quiet" onClick=${() => change("")}>Done</button></td></tr>`
    : html`<tr key=${node.name}><td>${node.status === "discover" ? node.name : html`<a href=${link({ node: node.name })} onClick=${follow({ node: node.name })}>${node.name}</a>`}</td>
          <td><${Chips} have=${node.roles} /></td><td><${Chips} have=${node.tags} /></td>
          ${may(RULES.assign) && html`<td><button class="quiet" aria-label=${`Change ${node.name}`} onClick=${() => change(node.name)}>Change</button></td>`}</tr>`))}</tbody></table></div>
    ${chosen.length > most && html`<button onClick=${() => showMore(most + SHOWN)}>Show ${Math.min(SHOWN, chosen.length - most)} more</button>`}`;
}
