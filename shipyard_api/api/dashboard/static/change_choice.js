// What an update of the site does to deployed servers: each choice with how many servers it concerns now.
import { html } from "./preact.js";
import { post, V1 } from "./api.js";
import { useRead } from "./loading.js";
import { may } from "./session.js";
import { count } from "./words.js";

export const AS_THEY_ARE = { change: "leave", most: "", removed: false };

const CHOICES = {
  leave: { text: "Drain and erase nothing.", needs: [] },
  least: { text: "Drain servers whose deploy steps changed, run the steps, and uncordon them.", needs: ["action_service_server"] },
  reinstall: {
    text: "Also take changed servers down and deploy them again, group by group.",
    needs: ["action_service_server", "action_redeploy_server"],
  },
};
const ERASED = ["reinstall", "replace"];

/** The parameters of a choice. */
export function parametersOf({ change, most, removed }) {
  return {
    ...(change === "leave" ? {} : { "on-change": change }),
    ...(change === "reinstall" && most !== "" ? { "max-reinstalls": Number(most) } : {}),
    ...(removed ? { "on-removed": "remove" } : {}),
  };
}

export function ChangeChoice({ chosen, onChoose }) {
  const { value: plan } = useRead(() => post(`${V1}/plans`, { name: "update_site", parameters: {} }).catch(() => null), []);
  const counts = plan?.changes?.counts;
  const of = (classes) => classes.reduce((sum, name) => sum + (counts?.[name] || 0), 0);
  const interrupted = plan?.changes?.interrupts; // by choice, the classes of servers
  const left = (name) => of(interrupted.reinstall.filter((one) => !interrupted[name].includes(one)));
  const pick = (name) => onChoose({ ...chosen, change: name, most: name === "reinstall" && counts ? String(of(ERASED)) : "" });
  return html`<fieldset class="choices"><legend>Deployed servers that differ from the design</legend>
    ${Object.entries(CHOICES).map(([name, one]) => html`<label key=${name} class="choice">
      <input type="radio" name="on-change" value=${name} checked=${chosen.change === name} disabled=${!one.needs.every(may)}
        onChange=${() => pick(name)} />
      <span><b>${name}</b> ${one.text}
        ${counts && html`<small class="muted">${effect(interrupted[name], of, left(name))}</small>`}</span></label>`)}
    ${chosen.change === "reinstall" && html`<label class="choice" for="max-reinstalls"><span>Refuse if more are reinstalled than</span>
      <input id="max-reinstalls" type="number" min="0" value=${chosen.most}
        onInput=${(event) => onChoose({ ...chosen, most: event.target.value })} /></label>`}
    <label class="choice"><input type="checkbox" checked=${chosen.removed} disabled=${!may("action_remove_server")}
      onChange=${(event) => onChoose({ ...chosen, removed: event.target.checked })} />
      <span>Take down servers that have left the design, for good${counts && html` <small class="muted">${count(of(["leaves"]), "server")} now</small>`}</span></label>
  </fieldset>`;
}

/** What a choice does now, in words. */
function effect(interrupted, of, left) {
  const erased = of(interrupted.filter((name) => ERASED.includes(name)));
  const serviced = of(interrupted.filter((name) => !ERASED.includes(name)));
  const parts = [
    erased && `reinstalls ${count(erased, "server")}`,
    serviced && `services ${count(serviced, "server")}`,
    left && `leaves ${count(left, "server")} with an older specification`,
  ].filter(Boolean);
  return `Now: ${parts.join(", ") || "no server differs so"}.`;
}
