// Who is signed in. A token lives in this tab only: a fragment that brings it is erased at once. A person of an identity
// provider has a session in a cookie, which scripts cannot read.
import { BASE, tokenKey } from "./base.js";
import { store } from "./store.js";

const KEY = tokenKey(BASE);
/** In place of a token: the cookie. */
export const COOKIE = "\0cookie";

const fragment = () => new URLSearchParams(location.hash.slice(1));
const refused = fragment().get("refused") || "";

function brought() {
  const found = fragment().get("token");
  if (found || fragment().has("refused")) history.replaceState(null, "", location.pathname + location.search);
  if (found) sessionStorage.setItem(KEY, found);
  return found || sessionStorage.getItem(KEY) || "";
}

export const session = store({ token: brought(), caller: null, refused, provider: null });

export function signIn(token) {
  sessionStorage.setItem(KEY, token);
  session.update({ token, caller: null, refused: "" });
}

/** Ask whether there is an identity provider, and whether this browser is signed in with it. */
export async function readProvider() {
  const answer = await fetch(`${BASE}/oidc`, { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const provider = await answer.json();
  session.update({ provider });
  if (provider.signed_in && !session.get().token) session.update({ token: COOKIE, caller: null, refused: "" });
}

async function endSession() {
  const answer = await fetch(`${BASE}/oidc/sign-out`, { method: "POST", cache: "no-store" }).catch(() => null);
  const { end_session: next } = answer?.ok ? await answer.json() : {};
  if (next) location.assign(next);
}

export function signOut(refused = "") {
  sessionStorage.removeItem(KEY);
  if (session.get().token === COOKIE && !refused) endSession();
  session.update({ token: "", caller: null, refused });
}

window.addEventListener("hashchange", () => {
  const token = brought();
  if (token !== session.get().token) signIn(token);
});

/** Whether the caller satisfies a rule of the policy, of Airship's unless it has a prefix; the server decides again. */
export const may = (rule) => Boolean(session.get().caller?.rules.includes(rule.includes(":") ? rule : `workflow_orchestrator:${rule}`));
