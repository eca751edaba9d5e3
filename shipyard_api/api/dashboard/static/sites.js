// The page of all sites: a line for each, those first that need a look.
import { html, render, useEffect, useState } from "./preact.js";
import { listSites, readSites, takeTokens } from "./sites_data.js";
import { ACTION, count } from "./words.js";

const PAUSE = 10_000;
const PARTS = [["success", "fill-s", "deployed"], ["prepared", "fill-p", "prepared"], ["failure", "fill-f", "failed"], ["not_started", "fill-n", "not started"]];

/** In which order sites are shown: what failed, what runs, the others; a site without a token last. */
function rank(site, row) {
  if (site.status !== "ok" || row?.state === "failed") return 0;
  if (row?.verdict === "failed") return 1;
  if (row?.action && !row.verdict) return 2;
  return row?.state === "signed-out" || row?.state === "refused" ? 4 : 3;
}

function health(site, row) {
  if (site.status !== "ok") return ["bad", "✕", site.detail];
  if (!row) return ["idle", "○", "not asked yet"];
  if (row.state === "failed") return ["bad", "✕", row.why];
  if (row.state === "signed-out") return ["idle", "○", "sign in to see it"];
  if (row.state === "refused") return ["queued", "!", "its token is not valid, or no longer"];
  return ["good", "✓", "answers"];
}

function Nodes({ nodes }) {
  if (!nodes?.total) return html`<span class="muted">–</span>`;
  const parts = PARTS.map(([key, fill, word]) => ({ fill, word, number: nodes[key] || 0 })).filter((one) => one.number);
  return html`<span>${parts.map((one) => `${one.number.toLocaleString("en")} ${one.word}`).join(", ")}</span>
    <span class="bar" aria-hidden="true">${parts.map((one) => html`<i key=${one.word} class=${one.fill}
      style=${{ width: `${(100 * one.number) / nodes.total}%` }} />`)}</span>`;
}

function Action({ row }) {
  if (row?.state === "idle") return html`<span class="muted">none yet</span>`;
  if (!row?.action) return html`<span class="muted">–</span>`;
  const state = ACTION[row.action.dag_status] || ACTION.queued;
  return html`<span class="glyph tone-${state.tone}" aria-hidden="true">${state.glyph}</span>${row.action.name}
    ${" "}<small class="tone-${state.tone}">${state.word}</small>`;
}

function Line({ site, row }) {
  const [tone, glyph, word] = health(site, row);
  return html`<tr>
    <td class="site-name"><a href=${site.url}>${site.name}</a></td>
    <td><span class="glyph tone-${tone}" aria-hidden="true">${glyph}</span>${word}</td>
    <td><${Action} row=${row} /></td>
    <td><${Nodes} nodes=${row?.nodes} /></td>
    <td>${row?.action?.waiting_for?.what || ""}</td>
  </tr>`;
}

function App() {
  const [sites, setSites] = useState(null);
  const [rows, setRows] = useState({});
  const [lost, setLost] = useState(false);
  const [wanted, want] = useState("");
  useEffect(() => {
    let timer = 0;
    const turn = async () => {
      if (!document.hidden) {
        try {
          const found = await listSites();
          setSites(found);
          setLost(false);
          await readSites(found.filter((one) => one.status === "ok"), (name, row) => setRows((before) => ({ ...before, [name]: row })));
        } catch {
          setLost(true);
        }
      }
      timer = setTimeout(turn, PAUSE);
    };
    turn();
    return () => clearTimeout(timer);
  }, []);
  const shown = (sites || []).filter((one) => one.name.includes(wanted.trim().toLowerCase()));
  shown.sort((one, other) => rank(one, rows[one.name]) - rank(other, rows[other.name]) || one.name.localeCompare(other.name));
  return html`<header class="top">
      <span class="brand"><img src="/dashboard/icon.svg" alt="" width="22" height="22" />Shipyard</span>
      <span class="site">${location.host}</span>
    </header>
    ${lost && html`<p class="banner" role="alert">Shipyard does not answer. The page shows what it last knew and tries again by itself.</p>`}
    <main class="sites" id="content">
      <div class="row"><h1>${sites ? count(sites.length, "site") : "Sites"}</h1><span class="space"></span>
        ${sites?.length > 1 && html`<input type="search" class="filter" aria-label="Filter sites" placeholder="Filter by name"
          value=${wanted} onInput=${(event) => want(event.target.value)} />`}</div>
      ${sites?.length === 0 && html`<p class="muted">None yet. Add a file to the directory of <code>--sites</code>, and send SIGHUP.</p>`}
      ${sites?.length > 0 && html`<section class="panel"><table>
        <thead><tr>${["Site", "Health", "Action", "Nodes", "Waits for"].map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
        <tbody>${shown.map((one) => html`<${Line} key=${one.name} site=${one} row=${rows[one.name]} />`)}</tbody>
      </table></section>`}
    </main>`;
}

takeTokens();
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
