"""What every answer tells browsers, and what none does."""

import falcon
import falcon.asgi

from shipyard_api.api.http.dialect import App
from shipyard_api.api.http.security import SecurityHeaders
from tests.integration.api import description
from tests.integration.api.in_process import Client
from tests.integration.api.wire import Site

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def test_every_answer_has_them_errors_too(site: Site) -> None:
    for method, path, query in (
        *(("GET", "/versions", ""), ("GET", "/health", ""), ("GET", "/nowhere", ""), ("GET", "/api/v1.0/actions", "")),
        *(("POST", "/api/v1.0/actions", ""), ("PUT", "/api/v1.0/actions", ""), ("OPTIONS", "/api/v1.0/actions", "")),
        *(("GET", "/api/v1.0/actions", "verbosity=9"), ("GET", "/api/v1.0/renderedconfigdocs", "")),
    ):
        for caller in (site.admin, site.nobody):
            answer = caller.client.simulate_request(method, path, query_string=query)

            assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
            assert answer.headers.get("Cache-Control") == ("no-store" if path.startswith("/api/") else None)


def test_no_page_of_another_origin_is_let_in(site: Site) -> None:
    """Neither before a request nor with its answer, and the answer does not depend on who asks."""
    origin = {"Origin": "https://elsewhere.example"}
    preflight = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-auth-token"}
    for path in {path for _, path, _ in description.airship_operations()}:
        for answer in (
            site.admin.client.simulate_options(path, headers=preflight),
            site.admin.client.simulate_get(path, headers=origin),
        ):
            assert [name for name in answer.headers if name.lower().startswith("access-control-")] == [], path
            assert "set-cookie" not in {name.lower() for name in answer.headers}, path


def test_a_page_may_have_a_policy_of_its_own() -> None:
    class Page:
        async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
            resp.set_header("Content-Security-Policy", "default-src 'self'")

    app: App = falcon.asgi.App(middleware=[SecurityHeaders()])
    app.add_route("/page", Page())

    answer = Client(app).simulate_get("/page")

    assert answer.headers["Content-Security-Policy"] == "default-src 'self'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
