import { html, useEffect, useState } from "./preact.js";
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

export function Loaded({ found, children }) {
  if (found.value !== null) return children(found.value);
  if (found.error) return html`<${Fault} error=${found.error} />`;
  return html`<p class="muted" aria-busy="true">Loading …</p>`;
}
