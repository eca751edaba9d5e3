// What the table of all sites shows of each: read through the site's own API, with the token that this tab has for it.
import { tokenKey } from "./base.js";

const AT_ONCE = 6;
const PATIENCE = 10_000;
const MOVING = ["queued", "running", "paused"];
const DEPLOYING = ["deploy_site", "update_site"];
// Runs beside other actions.
const BESIDE = "test_site";

class Refused extends Error {}

async function ask(base, path, token) {
  const headers = token ? { "X-Auth-Token": token } : {};
  const answer = await fetch(`${base}${path}`, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status === 401 || answer.status === 403) throw new Refused();
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).message || `HTTP ${answer.status}`);
  return answer.json();
}

/** The tokens in the fragment, `#berlin=…&oslo=…`, are each for one site; the address forgets them at once. */
export function takeTokens() {
  for (const [name, token] of new URLSearchParams(location.hash.slice(1))) {
    if (/^[a-z0-9-]+$/.test(name)) sessionStorage.setItem(tokenKey(`/sites/${name}`), token);
  }
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}

export const listSites = async () => (await ask("", "/sites", "")).sites;

/** A row as `shipyard fleet` has it: the action that runs or ran last, its verdict, its nodes, what it waits for. */
async function row(site) {
  const base = `/sites/${site.name}`;
  const token = sessionStorage.getItem(tokenKey(base)) || "";
  try {
    const v1 = `${base}/api/v1.0`;
    const moving = await ask(v1, `/actions?${MOVING.map((one) => `state=${one}`).join("&")}&order=desc&limit=10`, token);
    const newest = moving.length ? moving : await ask(v1, "/actions?order=desc&limit=1", token);
    const action = newest.find((one) => one.name !== BESIDE) || newest[0];
    if (!action) return { state: "idle" };
    const report = await ask(v1, `/actions/${action.id}/report`, token);
    let nodes = report.totals?.nodes || {};
    if (!nodes.total) {
      const query = DEPLOYING.map((name) => `name=${name}`).join("&");
      const [earlier] = await ask(v1, `/actions?${query}&order=desc&limit=1`, token);
      if (earlier) nodes = (await ask(v1, `/actions/${earlier.id}/report`, token)).totals?.nodes || {};
    }
    return { state: "known", action: { ...action, ...report.action }, verdict: report.verdict, nodes };
  } catch (error) {
    if (error instanceof Refused) return { state: token ? "refused" : "signed-out" };
    return { state: "failed", why: error.name === "TimeoutError" ? "no answer" : String(error.message || error) };
  }
}

/** Read all sites, a few at a time, and hand over each row as it comes. */
export async function readSites(sites, onRow) {
  const left = [...sites];
  const reader = async () => {
    for (let site = left.shift(); site; site = left.shift()) onRow(site.name, await row(site));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
}
