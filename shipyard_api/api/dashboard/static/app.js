// The page: who is signed in, which action is shown, and its parts.
import { html, render, useEffect, useErrorBoundary, useState } from "./preact.js";
import { address, follow, go, link } from "./address.js";
import { BASE } from "./base.js";
import { ActionList } from "./action_list.js";
import { ActionPage } from "./action_page.js";
import { Roles, mayReadLabels } from "./labels.js";
import { Machines } from "./machines.js";
import { NodeDrawer } from "./node_drawer.js";
import { SignIn } from "./sign_in.js";
import { StartDialog } from "./start_dialog.js";
import { Help, useKeys } from "./keys.js";
import { live, start } from "./live.js";
import { may, readProvider, session, signOut } from "./session.js";
import { useStore } from "./store.js";
import { StoredPlans } from "./stored_plans.js";

const THEMES = { "": "light", light: "dark", dark: "" };
const THEME_WORDS = { "": "as the system", light: "light", dark: "dark" };

function ThemeButton() {
  const [theme, set] = useState(document.documentElement.dataset.theme || "");
  const next = () => {
    const chosen = THEMES[theme];
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    localStorage.setItem("shipyard.theme", chosen);
    set(chosen);
    window.dispatchEvent(new Event("themechange"));
  };
  return html`<button class="quiet" id="theme" onClick=${next} title="Theme (t)">Theme: ${THEME_WORDS[theme]}</button>`;
}

const CONNECTION = {
  connecting: ["idle", "Connecting"],
  live: ["good", "Live"],
  reconnecting: ["bad", "Reconnecting"],
  forbidden: ["bad", "Not allowed"],
};

function Header({ caller, connection, view, onHelp }) {
  const [tone, word] = CONNECTION[connection];
  return html`<header class="top">
    <a class="brand" href=${`${BASE}/`} onClick=${(event) => (event.preventDefault(), go({ action: "", node: "", group: "", view: "", plan: "" }))}>
      <img src="/dashboard/icon.svg" alt="" width="22" height="22" />Shipyard</a>
    <span class="site">${BASE.split("/").at(-1) || location.host}</span>
    ${BASE && html`<a class="quiet" href="/">All sites</a>`}
    <span class="connection tone-${tone}" role="status"><i aria-hidden="true"></i>${word}</span>
    <span class="space"></span>
    <${ThemeButton} />
    <a class="quiet" href=${link({ view: "machines" })} onClick=${follow({ view: "machines" })} aria-current=${view === "machines" ? "page" : undefined}>Machines</a>
    ${mayReadLabels() && html`<a class="quiet" href=${link({ view: "roles" })} onClick=${follow({ view: "roles" })} aria-current=${view === "roles" ? "page" : undefined}>Roles</a>`}
    ${may("get_plan") && html`<a class="quiet" href=${link({ view: "plans", plan: "" })} onClick=${follow({ view: "plans", plan: "" })}
      aria-current=${view === "plans" ? "page" : undefined}>Plans</a>`}
    <button class="quiet" onClick=${onHelp} title="Keyboard (?)">Keys</button>
    ${caller && html`<span class="who" title=${`Roles: ${caller.roles.join(", ")}`}>${caller.user}</span>`}
    <button class="quiet" onClick=${() => signOut()}>Sign out</button>
  </header>`;
}

function Broken({ error }) {
  return html`<main class="center"><section class="panel">
    <h1>The page failed</h1><p>${String(error.message || error)}</p>
    <button onClick=${() => location.reload()}>Load it again</button>
  </section></main>`;
}

function Main({ now, place, onStart }) {
  if (place.view === "machines") return html`<${Machines} />`;
  if (place.view === "roles") return html`<${Roles} />`;
  if (place.view === "plans") return html`<${StoredPlans} plan=${place.plan} />`;
  return html`<${ActionPage} now=${now} place=${place} onStart=${onStart} />`;
}

function App() {
  const who = useStore(session);
  const place = useStore(address);
  const now = useStore(live);
  const [help, showHelp] = useState(false);
  const [starting, showStart] = useState(false);
  const [error] = useErrorBoundary((found) => console.error(found));
  useKeys({ help: () => showHelp(true), start: () => may("create_action") && showStart(true) });
  useEffect(() => {
    const action = now.overview?.action;
    document.title = action ? `${action.name} ${action.dag_status} – Shipyard` : "Shipyard";
  }, [now.overview]);
  if (error) return html`<${Broken} error=${error} />`;
  if (!who.token) return html`<${SignIn} refused=${who.refused} provider=${who.provider} />`;
  const mayStart = who.caller && may("create_action");
  return html`<a class="skip" href="#content">Skip to the action</a>
    <${Header} caller=${who.caller} connection=${now.connection} view=${place.view} onHelp=${() => showHelp(true)} />
    ${now.connection === "reconnecting" && html`<p class="banner" role="alert">
      Shipyard does not answer. The page shows what it last knew and tries again by itself.</p>`}
    ${now.connection === "forbidden" && html`<p class="banner" role="alert">
      Your roles do not let you see actions. Sign in with another token.</p>`}
    <div class="frame">
      <${ActionList} actions=${now.actions} onStart=${mayStart && (() => showStart(true))} />
      <main id="content" tabindex="-1"><${Main} now=${now} place=${place} onStart=${mayStart && (() => showStart(true))} /></main>
      ${place.node && html`<${NodeDrawer} key=${place.node} name=${place.node} overview=${now.overview} places=${now.places} />`}
    </div>
    ${help && html`<${Help} onClose=${() => showHelp(false)} />`}
    ${starting && html`<${StartDialog} onClose=${() => showStart(false)} />`}`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
start();
readProvider();
