// The public REST API, with conditional requests: what has not changed comes back as the same object.
import { BASE } from "./base.js";
import { COOKIE, session, signOut } from "./session.js";
import { noteServerTime } from "./store.js";

export const V1 = `${BASE}/api/v1.0`;

export class ApiError extends Error {
  constructor(status, message, details = []) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

const KEPT = 200;
const SILENCE = 60_000;
const held = new Map();

async function ask(method, path, { body, headers, signal } = {}) {
  const { token } = session.get();
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      headers: {
        ...(token === COOKIE ? {} : { "X-Auth-Token": token }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "Shipyard does not answer.");
  }
  noteServerTime(answer.headers.get("Date"));
  if (answer.status === 401) {
    signOut(token === COOKIE ? "Your session has ended." : "The token is not valid, or no longer.");
    throw new ApiError(401, "Not signed in.");
  }
  return answer;
}

/** GET; the same object as last time if the server says so. */
export async function get(path, options = {}) {
  const known = held.get(path);
  const headers = known ? { "If-None-Match": known.tag } : {};
  const answer = await ask("GET", path, { ...options, headers });
  if (answer.status === 304 && known) return known.value;
  const value = await content(answer);
  const tag = answer.headers.get("ETag");
  if (tag) {
    held.delete(path);
    held.set(path, { tag, value });
    if (held.size > KEPT) held.delete(held.keys().next().value);
  }
  return value;
}

export const post = async (path, body) => content(await ask("POST", path, { body }));
export const remove = async (path) => content(await ask("DELETE", path));

async function content(answer) {
  const text = await answer.text();
  const isJson = (answer.headers.get("Content-Type") || "").includes("json");
  let value = text;
  if (isJson && text) {
    try {
      value = JSON.parse(text);
    } catch {
      value = text;
    }
  }
  if (answer.ok) return value;
  const list = value?.details?.messageList || [];
  const details = list.map((one) => one.message).filter(Boolean);
  throw new ApiError(answer.status, value?.message || value?.title || details[0] || `HTTP ${answer.status}`, details);
}

export const segment = encodeURIComponent;

/** All pages of a list of ours, up to `most` entries. */
export async function pages(path, key, most = 5000) {
  const found = [];
  let marker = "";
  do {
    const join = path.includes("?") ? "&" : "?";
    const page = await get(`${path}${join}limit=1000${marker ? `&marker=${segment(marker)}` : ""}`);
    found.push(...page[key]);
    marker = page.next;
  } while (marker !== null && marker !== undefined && found.length < most);
  return found;
}

/** Call `onEvent` with the data of each server-sent event until the stream ends or nothing comes for a minute. */
export async function events(onEvent, signal) {
  const answer = await ask("GET", `${BASE}/events`, { signal, headers: { Accept: "text/event-stream" } });
  if (!answer.ok) throw new ApiError(answer.status, "No events.");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let timer;
    const silence = new Promise((resolve) => { timer = setTimeout(resolve, SILENCE, { done: true }); });
    const { done, value } = await Promise.race([reader.read(), silence]);
    clearTimeout(timer);
    if (done) {
      reader.cancel().catch(() => {});
      return;
    }
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data:")) onEvent(JSON.parse(line.slice(5)));
  }
}
