"""The dashboard's files: to whom the root is the page, and what browsers are told about them."""

import gzip
import re
from hashlib import sha256
from importlib import resources

import falcon.asgi
import pytest

from shipyard_api.api.dashboard.app import Dashboard
from tests.integration.api.in_process import Client
from tests.unit.tables import table

STATIC = resources.files("shipyard_api.api.dashboard").joinpath("static")
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
# What npm delivers, unchanged: htm 3.1.1 (preact/standalone.module.js), @dagrejs/dagre 3.1.3 (dist/dagre.esm.js).
VENDORED = {
    "htm-preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "dagre.js": "b0ddaf4af1417bec9bd89373a3a3987f081727d6cc6d95fc40dbf85a19bdf3b0",
}


@pytest.fixture
def client() -> Client:
    return Client(Dashboard(otherwise=falcon.asgi.App()))


@table(
    ("method", "accept", "is_page"),
    {
        "a browser": ("GET", BROWSER["Accept"], True),
        "only its headers": ("HEAD", "text/html", True),
        "a client of the API": ("GET", "application/json", False),
        "curl": ("GET", "*/*", False),
        "no preference": ("GET", None, False),
        "no reader": ("POST", "text/html", False),
    },
)
def test_the_root_is_the_page_for_browsers_alone(
    client: Client, method: str, accept: str | None, is_page: bool
) -> None:
    answer = client.simulate_request(method, "/", headers={"Accept": accept} if accept else {})

    assert (answer.status_code == 200) is is_page
    if is_page:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert bool(answer.text) is (method == "GET")


def test_a_file_may_run_nothing_that_is_not_ours_and_is_asked_for_once(client: Client) -> None:
    first = client.simulate_get("/dashboard/app.js")
    again = client.simulate_get("/dashboard/app.js", headers={"If-None-Match": first.headers["ETag"]})
    packed = client.simulate_get("/dashboard/app.js", headers={"Accept-Encoding": "gzip"})

    assert (first.status_code, again.status_code) == (200, 304)
    assert first.headers["Content-Type"] == "text/javascript; charset=utf-8"
    policy = first.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert first.headers["Cache-Control"] == "no-cache"
    assert gzip.decompress(packed.content) == first.content


@pytest.mark.parametrize("path", ["/dashboard", "/dashboard/none.js", "/dashboard/../app.py", "/dashboard/vendor"])
def test_nothing_else_is_served(client: Client, path: str) -> None:
    assert client.simulate_get(path).status_code == 404
    posted = client.simulate_post(path)
    assert (posted.status_code, posted.headers["Allow"]) == (405, "GET, HEAD")


def test_libraries_are_as_their_authors_published_them() -> None:
    vendor = STATIC.joinpath("vendor")
    assert {name: sha256(vendor.joinpath(name).read_bytes()).hexdigest() for name in VENDORED} == VENDORED
    licences = {entry.name for entry in vendor.iterdir() if entry.name.endswith(".LICENSE")}
    assert licences == {"htm-preact.LICENSE", "preact.LICENSE", "dagre.LICENSE"}


def test_every_module_that_a_module_imports_is_there_and_none_comes_from_elsewhere() -> None:
    own = {entry.name: entry.read_text() for entry in STATIC.iterdir() if entry.is_file()}
    for name, text in own.items():
        for target in re.findall(r'from "([^"]+)"', text):
            assert target.startswith("./"), name
            assert STATIC.joinpath(target.removeprefix("./")).is_file(), f"{name}: {target}"
        outside = set(re.findall(r"https?://[^\s\"'`<>]+", text)) - {"http://www.w3.org/2000/svg"}
        assert outside == set(), name
    page = own["index.html"]
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert "style=" not in page
