// The address holds the state of the page, so that a link shows the same and the back button goes back.
import { BASE } from "./base.js";
import { store } from "./store.js";

const DEFAULTS = { action: "", view: "now", by: "group", node: "", group: "", task: "", plan: "", cause: "" };

function read() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, query.get(name) || value]));
}

export const address = store(read());

export function link(patch) {
  const wanted = { ...address.get(), ...patch };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wanted)) if (value && value !== DEFAULTS[name]) query.set(name, value);
  const text = query.toString();
  return text ? `${BASE}/?${text}` : `${BASE}/`;
}

/** The views of the whole site, which show no action. */
export const OF_SITE = ["machines", "plans", "roles"];

export function go(patch, { replace = false } = {}) {
  const to = link(patch);
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  address.set(read());
}

window.addEventListener("popstate", () => address.set(read()));

/** For onClick of an ordinary link: other buttons and modifiers keep their meaning. */
export const follow = (patch) => (event) => {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(patch);
};
