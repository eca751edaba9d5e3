"""Headers of every answer: browsers must trust its content type, run nothing of it, and show it to no other site.

There is no CORS here: without ``Access-Control-Allow-Origin`` no page of another origin can read an answer, and what a
page of another origin sends carries no token, since tokens are no cookies.
"""

import falcon

_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
# An answer of the API is data, whatever a browser makes of it.
_POLICY = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
# Everything below these addresses shows a site, and some of it its passwords.
_PRIVATE = ("/api/", "/v1/")


class SecurityHeaders:
    """Middleware. A resource that serves a page sets a content security policy and a cache control of its own."""

    async def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Add the headers, to errors too."""
        for name, value in _ALWAYS:
            resp.set_header(name, value)
        if resp.get_header(_POLICY[0]) is None:
            resp.set_header(*_POLICY)
        if req.path.startswith(_PRIVATE):
            resp.set_header("Cache-Control", "no-store")
