"""The headers of what is deprecated, and the page that says what is."""

import asyncio
from datetime import date

import falcon.asgi
from falcon.testing import create_asgi_req

from shipyard_api.api.http.deprecation import DEPRECATED, Deprecated, Deprecation
from tests.conftest import ROOT
from tests.unit.tables import every_row

OLD = {("GET", "/old/{name}"): Deprecated(date(2026, 12, 1), date(2027, 7, 1))}


@every_row(
    [
        ("GET", "/old/{name}", ("@1796083200", "Thu, 01 Jul 2027 00:00:00 GMT")),
        ("POST", "/old/{name}", (None, None)),
        ("GET", "/new", (None, None)),
        ("GET", None, (None, None)),
    ],
)
def test_an_answer_says_since_when_and_until_when(
    method: str, route: str | None, headers: tuple[str | None, str | None]
) -> None:
    request, response = create_asgi_req(method=method), falcon.asgi.Response()
    request.uri_template = route
    asyncio.run(Deprecation(OLD).process_resource(request, response, None, {}))

    assert (response.get_header("Deprecation"), response.get_header("Sunset")) == headers


def test_the_page_on_stability_names_what_is_deprecated() -> None:
    page = (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")

    assert all(f"`{method} {route}`" in page for method, route in DEPRECATED)
    assert ("Nothing is deprecated today" in page) == (not DEPRECATED)
