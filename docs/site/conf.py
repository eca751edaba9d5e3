"""The documentation as a site: Sphinx reads the same Markdown that people read in the repository.

The navigation is docs/README.md: each of its sections is a part, each of its links a page. Nothing is fetched when the
site is built or read, but for mermaid, which release/site.py puts below .build.
"""

import html
import os
import re
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import film  # noqa: E402  # beside this file

_SETUP = ConfigParser()
_SETUP.read(ROOT / "setup.cfg", encoding="utf-8")

project = "Shipyard"
version = release = _SETUP["metadata"]["version"]
html_title = f"Shipyard {version}"
root_doc = "docs/README"
extensions = ["myst_parser"]
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "ansible/README.md",
    "shipyard_client/README.md",
    "docs/**",
]
exclude_patterns = ["docs/changes/**", "docs/film/**"]
nitpicky = True

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"footer_icons": []}
# Diagrams are drawn by the reader's browser, with a copy of mermaid that is a part of the site.
_STATIC = Path(os.environ.get("SHIPYARD_CHECKOUT", ROOT)) / ".build" / "site-static"
html_static_path = [str(_STATIC), "static"]


class Mermaid(Directive):
    """A fence with the word mermaid: its text, which the script of the page turns into a diagram."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the text, so marked."""
        text = html.escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">{text}</pre>', format="html")]


def setup(app: Any) -> None:
    """Let the index have the navigation, and diagrams their script."""
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", _navigation)
    app.connect("html-page-context", _script)
    app.connect("build-finished", _film)


def _navigation(app: Any, document: str, source: list[str]) -> None:
    """Add a hidden table of contents for each section of the index."""
    if document != root_doc:
        return
    parts = re.split(r"^## (.*)$", source[0], flags=re.MULTILINE)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = [link for link in re.findall(r"\]\(([^)#:]+)\.md\)", text) if (ROOT / "docs" / f"{link}.md").is_file()]
        if pages:
            body = "\n".join(dict.fromkeys(pages))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{body}\n```\n"


def _script(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Load mermaid on pages with a diagram only; it is large."""
    if 'class="mermaid"' in context.get("body", "") and (_STATIC / "mermaid.min.js").is_file():
        app.add_js_file("mermaid.min.js")
        app.add_js_file("diagrams.js")


def _film(app: Any, failure: Exception | None) -> None:
    """Put the film beside the pages: it is no document, and has its own data."""
    if failure is None:
        film.write(Path(app.outdir) / "docs" / "film")
