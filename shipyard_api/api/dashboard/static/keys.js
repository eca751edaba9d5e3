import { html, useEffect } from "./preact.js";
import { address, go } from "./address.js";
import { Dialog } from "./dialog.js";
import { live, shownId } from "./live.js";

const VIEWS = ["now", "timeline", "plan", "forecast", "software", "design", "drift", "steps"];

const KEYS = [
  ["j, k", "next, previous action"], ["1 … 8", "views of the action"], ["r", "arrange nodes by group or rack"],
  ["arrows, Enter", "move among nodes, open one (after Tab to the nodes)"], ["n", "new action"], ["t", "theme"],
  ["Esc", "close the node, or clear the group"], ["?", "these keys"],
];

// Whoever speaks to the computer types characters by accident (WCAG 2.1.4).
const SETTING = "shipyard.keys";
const areOff = () => localStorage.getItem(SETTING) === "off";

export function useKeys({ help, start }) {
  useEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key.length === 1 && areOff()) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      const place = address.get();
      const move = (step) => {
        const actions = live.get().actions || [];
        const to = actions[actions.findIndex((one) => one.id === shownId()) + step];
        if (to) go({ action: to.id, node: "", group: "" });
      };
      switch (event.key) {
        case "j": move(1); break;
        case "k": move(-1); break;
        case "r": go({ by: place.by === "group" ? "rack" : "group" }, { replace: true }); break;
        case "n": start(); break;
        case "t": document.getElementById("theme")?.click(); break;
        case "?": help(); break;
        case "Escape": go(place.node ? { node: "" } : { group: "" }); break;
        default: if (VIEWS[event.key - 1]) go({ view: VIEWS[event.key - 1] }); else return;
      }
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
}

export function Help({ onClose }) {
  return html`<${Dialog} title="Keyboard" onClose=${onClose}>
    <dl class="facts-list">${KEYS.map(([key, text]) => html`<dt key=${key}><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
    <label class="check"><input type="checkbox" checked=${!areOff()}
      onChange=${(event) => localStorage.setItem(SETTING, event.target.checked ? "on" : "off")} /> Keys of one character</label><//>`;
}
