// Where the site of this page begins: at the root, or at /sites/NAME in an installation of many.
export const baseOf = (path) => path.match(/^\/sites\/[^/]+/)?.[0] || "";
export const BASE = baseOf(location.pathname);
/** The key of a site's token in this tab: pages of all sites share one store, and no site gets the token of another. */
export const tokenKey = (base) => `shipyard.token${base}`;
