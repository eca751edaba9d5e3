// Shared values that components subscribe to: the session, the address, the live action.
import { useEffect, useState } from "./preact.js";

export function store(initial) {
  let value = initial;
  const listeners = new Set();
  const own = {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    update: (patch) => own.set({ ...value, ...patch }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return own;
}

export function useStore(from) {
  const [, again] = useState(0);
  useEffect(() => from.subscribe(() => again((count) => count + 1)), [from]);
  return from.get();
}

const phone = matchMedia("(max-width: 720px)");
/** Whether the page has one column: what is wrong comes first there. */
export const narrow = store(phone.matches);
phone.addEventListener("change", () => narrow.set(phone.matches));

/** The time of the server in milliseconds, renewed every second while `active`. */
export function useNow(active) {
  const [now, set] = useState(serverNow());
  useEffect(() => {
    if (!active) return undefined;
    set(serverNow());
    const timer = setInterval(() => document.hidden || set(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}

let ahead = 0;
/** Remember how far the server's clock is ahead of ours, from the Date of an answer; it has whole seconds. */
export function noteServerTime(date) {
  const at = Date.parse(date || "");
  if (!Number.isNaN(at)) {
    const found = at - Date.now();
    if (Math.abs(found - ahead) > 1500) ahead = Math.abs(found) < 1500 ? 0 : found;
  }
}
export const serverNow = () => Date.now() + ahead;
