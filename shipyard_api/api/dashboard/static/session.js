// Who is signed in. The token lives in this tab only: a fragment that brings it is erased at once.
import { BASE, tokenKey } from "./base.js";
import { store } from "./store.js";

const KEY = tokenKey(BASE);

function brought() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    history.replaceState(null, "", location.pathname + location.search);
    sessionStorage.setItem(KEY, found);
  }
  return found || sessionStorage.getItem(KEY) || "";
}

export const session = store({ token: brought(), caller: null, refused: "" });

export function signIn(token) {
  sessionStorage.setItem(KEY, token);
  session.set({ token, caller: null, refused: "" });
}

export function signOut(refused = "") {
  sessionStorage.removeItem(KEY);
  session.set({ token: "", caller: null, refused });
}

window.addEventListener("hashchange", () => {
  const token = brought();
  if (token !== session.get().token) signIn(token);
});

/** Whether the caller satisfies a rule of the policy, of Airship's unless it has a prefix; the server decides again. */
export const may = (rule) => Boolean(session.get().caller?.rules.includes(rule.includes(":") ? rule : `workflow_orchestrator:${rule}`));
