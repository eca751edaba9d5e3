"""Build the documentation site with the programs of release/environment.py: ``./dev site [DIRECTORY]``.

Warnings are errors: a page that the index does not list, a link that leads nowhere, an unknown heading. The site has
its own search and loads nothing from elsewhere. ``.build/site`` is the default directory; it is replaced.
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = Path(os.environ.get("SHIPYARD_CHECKOUT", ROOT))  # a release builds the committed files of another place
SPHINX = CHECKOUT / ".build" / "packaging" / "bin" / "sphinx-build"
MERMAID = "mermaid@11.6.0"
MERMAID_SHA512 = (
    "3c4f21194cb52c39562075813f4e5215da941c699170270ae08ce938a3c4df97"
    "8ec3e1bdcd981c9cca72ba72555043a06fffca04e44f8f2b0a9ddc3c6c52ee46"
)


def main() -> int:
    """Build the site; return the exit code."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".build" / "site"
    shutil.rmtree(out, ignore_errors=True)
    _mermaid(CHECKOUT / ".build" / "site-static")
    with tempfile.TemporaryDirectory() as doctrees:
        words = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", "2", "-c", "docs/site", "-d", doctrees]
        code = subprocess.run([str(SPHINX), *words, ".", str(out)], cwd=ROOT, check=False).returncode
    if code == 0:
        (out / "index.html").write_text(
            '<!DOCTYPE html><title>Shipyard</title><meta http-equiv="refresh" content="0; url=docs/README.html">\n'
        )
        code = _loads_only_itself(out)
    return code


def _mermaid(static: Path) -> None:
    """Put mermaid there, once; without npm, diagrams are shown as their text."""
    static.mkdir(parents=True, exist_ok=True)
    wanted, npm = static / "mermaid.min.js", shutil.which("npm")
    if wanted.is_file():
        return
    if npm is None:
        sys.stderr.write("npm is missing: diagrams are shown as their text\n")
        return
    with tempfile.TemporaryDirectory() as place:
        packed = subprocess.run([npm, "pack", "--silent", MERMAID], cwd=place, check=False)
        archives = list(Path(place).glob("mermaid-*.tgz"))
        if packed.returncode or not archives:
            sys.stderr.write("mermaid could not be fetched: diagrams are shown as their text\n")
            return
        content = archives[0].read_bytes()
    if hashlib.sha512(content).hexdigest() != MERMAID_SHA512:
        raise SystemExit(f"{archives[0].name} is not the {MERMAID} that was reviewed")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        script = archive.extractfile("package/dist/mermaid.min.js")
        assert script is not None  # noqa: S101  # a file, not a folder
        wanted.write_bytes(script.read())


def _loads_only_itself(out: Path) -> int:
    """Return 1, and say where, if a page loads a file from elsewhere."""
    loads = re.compile(
        r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"'](?:https?:)?//[^\"']+|import .* from .https?:"
    )
    found = {}
    for page in out.rglob("*.html"):
        for match in loads.findall(page.read_text(encoding="utf-8")):
            found.setdefault(match, page.relative_to(out))
    for match, page in found.items():
        sys.stderr.write(f"{page}: loads from elsewhere: {match}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
