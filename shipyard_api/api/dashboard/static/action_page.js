// One action: verdict, what it waits for, failures (on a narrow screen, before the facts), groups and nodes; further views below tabs.
import { html } from "./preact.js";
import { follow, link } from "./address.js";
import { Cases } from "./cases.js";
import { Cells } from "./cells.js";
import { Controls } from "./controls.js";
import { DesignView } from "./design_view.js";
import { DriftView } from "./drift_view.js";
import { Failures } from "./failures.js";
import { ForecastView } from "./forecast_view.js";
import { GroupGraph } from "./group_graph.js";
import { PlanView } from "./plan_view.js";
import { Approve, PolicyView } from "./policy_view.js";
import { SoftwareView } from "./software_view.js";
import { StepsView } from "./steps_view.js";
import { narrow, useStore } from "./store.js";
import { Facts, Headline } from "./summary.js";
import { Timeline } from "./timeline.js";

export const VIEWS = {
  now: "Now", timeline: "Timeline", plan: "Plan and reality", forecast: "What if", software: "Software",
  design: "Design changes", drift: "Drift", steps: "Steps",
};

export function ActionPage({ now, place, onStart }) {
  const { overview } = now;
  const isNarrow = useStore(narrow);
  if (now.missing) return html`<${Empty} title="There is no such action" text=${`Nothing is known of ${now.missing}.`}>
      <a href=${link({ action: "" })} onClick=${follow({ action: "" })}>Show the newest action</a><//>`;
  if (now.actions?.length === 0) {
    return html`<${Empty} title="No action yet"
      text="Load a design, commit it, and start deploy_site. A plan shows first what it would do.">
      ${onStart && html`<button class="primary" onClick=${onStart}>Plan an action …</button>`}<//>`;
  }
  if (!overview) return html`<div class="loading" aria-busy="true"><p class="muted">Loading the action …</p></div>`;
  const view = VIEWS[place.view] ? place.view : "now";
  const failures = view === "now" && html`<${Failures} overview=${overview} failures=${now.failures} />`;
  return html`
    <${Headline} overview=${overview}><${Approve} key=${overview.action.id} overview=${overview} /><${Controls} overview=${overview} /><//>
    <${Cases} overview=${overview} selected=${place.cause} />
    ${isNarrow && failures}
    <${Facts} overview=${overview} forecast=${now.forecast} />
    <nav class="tabs" aria-label="Views">${Object.entries(VIEWS).map(([name, word]) => html`
      <a key=${name} href=${link({ view: name })} onClick=${follow({ view: name })}
        aria-current=${name === view ? "page" : undefined}>${word}</a>`)}</nav>
    ${!isNarrow && failures}
    <${View} view=${view} now=${now} place=${place} />`;
}

function View({ view, now, place }) {
  const { overview, places, forecast } = now;
  const key = overview.action.id;
  switch (view) {
    case "timeline": return html`<${Timeline} key=${key} overview=${overview} />`;
    case "plan": return html`<${PlanView} key=${key} overview=${overview} />`;
    case "forecast": return html`<${ForecastView} key=${key} overview=${overview} />`;
    case "software": return html`<${SoftwareView} key=${key} overview=${overview} place=${place} />`;
    case "design": return html`<${DesignView} key=${key} overview=${overview} />`;
    case "drift": return html`<${DriftView} key=${key} overview=${overview} />`;
    case "steps": return html`<${StepsView} key=${key} overview=${overview} />`;
    default: return html`
      ${overview.warnings?.length > 0 && html`<ul class="findings">${overview.warnings.map((text) => html`<li key=${text}><span class="badge queued">warning</span> ${text}</li>`)}</ul>`}
      <${PolicyView} key=${`policy ${key}`} overview=${overview} />
      <${GroupGraph} key=${`graph ${key}`} overview=${overview} selected=${place.group} forecast=${forecast} />
      <${Cells} key=${`cells ${key}`} overview=${overview} places=${places} by=${place.by} group=${place.group}
        selected=${place.node} cause=${place.cause} />`;
  }
}

export function Empty({ title, text, children }) {
  return html`<section class="empty"><h1>${title}</h1><p class="muted">${text}</p>${children}</section>`;
}
