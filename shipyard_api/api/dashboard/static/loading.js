import { html, useEffect, useRef, useState } from "./preact.js";
import { Fault } from "./dialog.js";

/** What a read returned: `{ value, error }`, read again when `again` changes; the last value stays until then. */
export function useRead(read, again) {
  const [found, set] = useState({ value: null, error: null });
  useEffect(() => {
    let isCurrent = true;
    Promise.resolve().then(read).then(
      (value) => isCurrent && set({ value, error: null }),
      (error) => isCurrent && set((before) => ({ value: before.value, error })),
    );
    return () => { isCurrent = false; };
  }, again);
  return found;
}

/** The newest value, but changed at most once in `pause` milliseconds. */
export function useCalm(value, pause) {
  const [calm, set] = useState(value);
  const since = useRef(0);
  useEffect(() => {
    const timer = setTimeout(() => {
      since.current = performance.now();
      set(value);
    }, Math.max(0, since.current + pause - performance.now()));
    return () => clearTimeout(timer);
  }, [value]);
  return calm;
}

export function Loaded({ found, children }) {
  if (found.value !== null) return children(found.value);
  if (found.error) return html`<${Fault} error=${found.error} />`;
  return html`<p class="muted" aria-busy="true">Loading …</p>`;
}
