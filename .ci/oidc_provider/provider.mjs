// A real OpenID provider for tests: oidc-provider with its own pages for sign-in and consent, any name and password.
// Usage: node provider.mjs PORT REDIRECT_URI; it prints its issuer when it serves. Its keys are new at each start.
// A person's groups are what follows the name: "ann+site-admins" is ann, of the group site-admins.
import { generateKeyPair, exportJWK } from "jose";
import { Provider } from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const person = (sub) => ({ sub, preferred_username: sub.split("+")[0], groups: sub.split("+").slice(1) });
const page = {
  client_id: "page", client_secret: "page-secret", redirect_uris: [redirect], grant_types: ["authorization_code"],
  post_logout_redirect_uris: [redirect.replace("oidc/callback", "")],
};
const cli = {
  client_id: "cli", token_endpoint_auth_method: "none", redirect_uris: [], response_types: [],
  grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
};
const provider = new Provider(issuer, {
  clients: [page, cli],
  jwks: { keys: [{ ...await exportJWK(privateKey), use: "sig", alg: "RS256", kid: `k${Date.now()}` }] },
  cookies: { keys: ["of tests only"] },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  ttl: { AccessToken: Number(process.env.TOKEN_SECONDS || 300), IdToken: 300, DeviceCode: 300, Session: 300, Grant: 300, Interaction: 300, RefreshToken: 300 },
  issueRefreshToken: async (_ctx, client) => client.clientId === "cli",
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => person(id) }),
  extraTokenClaims: (_ctx, token) => (token.accountId ? person(token.accountId) : undefined),
  features: {
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:shipyard",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "", audience: "shipyard", accessTokenFormat: "jwt" }),
    },
  },
});
provider.listen(Number(port), "127.0.0.1", () => console.log(issuer));
