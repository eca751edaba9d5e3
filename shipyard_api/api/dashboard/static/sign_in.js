import { html, useState } from "./preact.js";
import { BASE } from "./base.js";
import { signIn } from "./session.js";

export function SignIn({ refused, provider }) {
  const [token, set] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (token.trim()) signIn(token.trim());
  };
  return html`<main class="center">
    <form class="panel sign-in" onSubmit=${submit}>
      <h1><img src="/dashboard/icon.svg" alt="" width="28" height="28" />Shipyard</h1>
      ${provider?.page && html`<button class="primary" type="button" id="provider"
        onClick=${() => location.assign(`${BASE}/oidc/sign-in`)}>Sign in with ${new URL(provider.issuer).host}</button>`}
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="current-password" value=${token} autofocus
        aria-invalid=${Boolean(refused)} aria-describedby="token-help" onInput=${(event) => set(event.target.value)} />
      ${refused && html`<p class="fault" role="alert">${refused}</p>`}
      <p class="muted" id="token-help"><code>shipyard up</code> prints one; an administrator makes more
        with${" "}<code>shipyard token create</code>. It stays in this tab and is forgotten when you close it.</p>
      <button class="primary" type="submit" disabled=${!token.trim()}>Sign in</button>
    </form>
  </main>`;
}
