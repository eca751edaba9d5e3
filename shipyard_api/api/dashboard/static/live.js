// Keeps the list of actions and the shown action up to date: at most one read a second, and only what changed.
import { ApiError, events, get, segment, V1 } from "./api.js";
import { address } from "./address.js";
import { session } from "./session.js";
import { store } from "./store.js";

const MOST_ACTIONS = 50;
const LISTED_FAILURES = 100;
const WITHOUT_STREAM = { action: 1000, list: 3000, ended: 10_000 };
const WITH_STREAM = { action: 15_000, list: 30_000, ended: 60_000 };

const NOTHING = {
  actions: null, overview: null, places: null, failures: [], forecast: null, missing: "", connection: "connecting",
};
export const live = store(NOTHING);

let due = { action: 0, list: 0 };
let timer = 0;
let waits = 1000;
let running = false;
let again = false;
let stream = null;
let streamAfter = 0;

/** Whether an action is one command on nodes (`shipyard node run`), which says nothing of the site. */
export const isCommand = ({ parameters }) => Boolean(parameters?.command);

/** The id of the action on the page: the one in the address, else the one that runs, else the newest; commands last. */
export function shownId() {
  const named = address.get().action;
  if (named) return named;
  const all = live.get().actions || [];
  const actions = [...all.filter((one) => !isCommand(one)), ...all.filter(isCommand)];
  return (actions.find((one) => !ended(one)) || actions[0])?.id || "";
}

export const ended = (action) => ["success", "failed"].includes(action.dag_status);

/** Read everything again soon: after a command, or because an event says that something changed. */
export function refresh() {
  due = { action: 0, list: 0 };
  schedule(0);
}

function schedule(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(turn, milliseconds);
}

async function turn() {
  if (running) {
    again = true;
    return;
  }
  if (!session.get().token) return;
  running = true;
  try {
    await read();
    waits = 1000;
    if (live.get().connection !== "live") live.update({ connection: "live" });
    listen();
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    if (error.status === 404) live.update({ missing: shownId(), overview: null, connection: "live" });
    else if (error.status !== 401) {
      due = { action: 0, list: 0 };
      waits = Math.min(10_000, waits * 2);
      live.update({ connection: error.status === 403 ? "forbidden" : "reconnecting" });
    }
  }
  running = false;
  if (session.get().token) schedule(again ? Math.max(waits, 200) : document.hidden ? 5000 : waits);
  again = false;
}

async function read() {
  const now = Date.now();
  const pace = stream ? WITH_STREAM : WITHOUT_STREAM;
  const who = session.get().caller ? null : get(`${V1}/caller`);
  const lists = now >= due.list;
  // Before the request: an event that comes while it is on its way makes the next one due.
  if (lists) due.list = now + pace.list;
  const list = lists ? get(`${V1}/actions?order=desc&limit=${MOST_ACTIONS}`) : null;
  const [caller, actions] = await Promise.all([who, list]);
  if (caller) session.update({ caller });
  if (actions && actions !== live.get().actions) live.update({ actions });
  const id = shownId();
  if (!id) {
    if (live.get().overview) live.update({ overview: null, places: null, failures: [], forecast: null });
    return;
  }
  if (now >= due.action || live.get().overview?.action.id !== id) {
    const next = now + pace.action;
    due.action = next;
    await readAction(id);
    const shown = live.get().overview;
    if (due.action === next && shown && ended(shown.action)) due.action = now + pace.ended;
  }
}

async function readAction(id) {
  const before = live.get();
  const base = `${V1}/actions/${segment(id)}`;
  const isOther = before.overview?.action.id !== id;
  const [overview, early] = await Promise.all([get(`${base}/overview`), isOther ? get(`${base}/node-places`) : before.places]);
  if (overview === before.overview) return;
  const places = early?.names.length === overview.nodes.total ? early : await get(`${base}/node-places`);
  const failed = (one) => one.nodes.letters.split("f").length - 1;
  let failures = isOther ? [] : before.failures;
  if (failed(overview) === 0) failures = [];
  else if (isOther || failed(overview) !== failed(before.overview)) {
    failures = (await get(`${base}/nodes?status=failure&limit=${LISTED_FAILURES}`)).nodes;
  }
  if (shownId() !== id) return;
  live.update({ overview, places, failures, missing: "", forecast: isOther ? null : before.forecast });
  readForecast(base, id, overview);
}

let forecastAfter = 0;
let forecasting = false;
/** A forecast of a large site takes the server seconds: the next one waits twenty times as long as the last took. */
async function readForecast(base, id, overview) {
  if (ended(overview.action) || !overview.groups.length || forecasting || Date.now() < forecastAfter) return;
  forecasting = true;
  const began = Date.now();
  try {
    const forecast = await get(`${base}/forecast`);
    if (shownId() === id) live.update({ forecast });
    forecastAfter = Date.now() + Math.max(5000, 20 * (Date.now() - began));
  } catch {
    forecastAfter = Date.now() + 60_000;
  }
  forecasting = false;
}

/** Events are hints: each says that an action changed, and the next turn reads it. Without them the page polls. */
async function listen() {
  if (stream || Date.now() < streamAfter) return;
  streamAfter = Date.now() + 5000;
  const own = new AbortController();
  stream = own;
  try {
    await events(hint, own.signal);
  } catch (error) {
    // A server that has no events is not asked for them again.
    if (error.status === 404) streamAfter = Infinity;
    else if (error.status === 403) streamAfter = Date.now() + 600_000;
  }
  if (stream === own) {
    stream = null;
    if (!own.signal.aborted) refresh();
  }
}

function hint({ action_id: about }) {
  const now = Date.now();
  due.list = Math.min(due.list, now + 1000);
  if (about === shownId()) due.action = Math.min(due.action, now);
}

session.subscribe((now) => {
  if (!now.token) {
    clearTimeout(timer);
    stream?.abort();
    stream = null;
    live.set(NOTHING);
  } else if (!now.caller) refresh();
});
address.subscribe(() => {
  if (live.get().overview?.action.id !== shownId()) {
    live.update({ overview: null, places: null, failures: [], forecast: null, missing: "" });
    forecastAfter = 0;
    refresh();
  }
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
window.addEventListener("online", refresh);

export const start = () => schedule(0);
