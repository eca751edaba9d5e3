import { html, useEffect, useRef } from "./preact.js";

/** A modal dialog of the browser: it keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children }) {
  const own = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    own.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${own} aria-labelledby="dialog-title" onCancel=${(event) => (event.preventDefault(), onClose())}
    onClick=${(event) => event.target === own.current && onClose()}>
    <div class="dialog">
      <div class="row"><h2 id="dialog-title">${title}</h2><span class="space"></span>
        <button class="quiet" aria-label="Close" onClick=${onClose}>✕</button></div>
      ${children}
    </div>
  </dialog>`;
}

export function Fault({ error }) {
  if (!error) return null;
  const rest = (error.details || []).filter((one) => one !== error.message);
  return html`<div class="fault" role="alert"><p>${error.message}</p>
    ${rest.length > 0 && html`<ul>${rest.slice(0, 12).map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}</div>`;
}
