"""What the documentation shows can be used as it stands: YAML meets its schema, shell parses, links lead somewhere."""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain import deployment_configuration
from shipyard_api.domain.deploy_steps import traits as node_traits
from shipyard_api.domain.documents import Collection, Revision, StoredDocument, parse_documents, render
from shipyard_api.domain.drift import firmware
from shipyard_api.domain.findings import errors
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import Inventory
from shipyard_api.domain.rollout.policy.reading import PolicyInputs, check_dates
from shipyard_api.domain.strategy import strategy
from shipyard_api.yaml_stream import read_documents
from shipyard_simulators.drydock.design import read_design
from shipyard_simulators.scenario import parse_scenario

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "small-site.yaml"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SCHEMAS = {
    deployment_configuration.SCHEMA: "deployment_configuration_v1",
    strategy.SCHEMA: "deployment_strategy_v1",
}


class Block(NamedTuple):
    """A fenced block of a page; ``words`` is what stands after the fence, ``line`` where."""

    page: Path
    line: int
    words: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield Block(page, text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2])


def named(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


BLOCKS = list(blocks())
DESIGNS = [block for block in BLOCKS if block.words == "yaml"]
SCENARIOS = [block for block in BLOCKS if block.words == "yaml scenario"]
SHELL = [block for block in BLOCKS if block.words == "sh"]


@pytest.fixture(scope="module")
def schemas() -> SchemaFiles:
    return SchemaFiles(ROOT / "schemas")


OTHERS = {node_traits.SCHEMA: node_traits.SHIPPED, firmware.SCHEMA: firmware.SHIPPED}


def test_blocks_say_what_they_are() -> None:
    known = {"yaml", "yaml scenario", "sh", "console", "json", "ini", "toml", "python", "text", "mermaid", "Dockerfile"}
    assert [f"{named(block)}: {block.words!r}" for block in BLOCKS if block.words not in known] == []


@pytest.mark.parametrize("block", DESIGNS, ids=named)
def test_documents_shown_would_be_accepted(block: Block, schemas: SchemaFiles) -> None:
    entries = read_documents(block.text.encode())
    if not all(isinstance(entry, dict) and "schema" in entry for entry in entries):
        return  # a part of a document, which is only parsed
    documents, findings = parse_documents(entries)
    assert findings == ()
    for document in documents:
        data: Any = document.data
        if schema := (SCHEMAS | OTHERS).get(document.schema):
            assert schemas.check(schema, data) == ()
        if document.schema == strategy.SCHEMA:
            assert strategy.check_groups(data) == ()


@pytest.mark.parametrize("block", [block for block in DESIGNS if "policy:" in block.text], ids=named)
def test_no_passing_of_time_makes_an_example_unsound(block: Block, schemas: SchemaFiles) -> None:
    (entry,) = read_documents(block.text.encode())
    policy = entry["policy"] if "policy" in entry else entry["data"]["physical_provisioner"]["policy"]
    sample = {"armada": {"manifest": "full-site"}, "physical_provisioner": {"policy": policy}}
    assert schemas.check("deployment_configuration_v1", sample) == ()
    inputs = PolicyInputs.of(policy, Inventory.of([]), dict.fromkeys(Phase, 1800.0))

    moments = [datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=days) for days in (0, 1, 31, 366)]
    assert [errors(list(check_dates(inputs, moment))) for moment in moments] == [()] * len(moments)


@pytest.mark.parametrize("block", SCENARIOS, ids=named)
def test_scenarios_shown_can_be_played(block: Block) -> None:
    parse_scenario(block.text)


@pytest.mark.parametrize("block", SHELL, ids=named)
def test_shell_shown_is_shell(block: Block) -> None:
    done = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    assert {str(page.relative_to(ROOT)): dead for page in PAGES if (dead := dead_links(page))} == {}


def dead_links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            dead.append(target)
    return dead


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as renderers of Markdown make them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_found() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")]
    fragments = "changes/"
    missing = [page for page in pages if page != "README.md" and not page.startswith(fragments)]
    assert [page for page in missing if f"]({page})" not in index] == []


def test_scenarios_that_ship_are_told_of() -> None:
    page = (ROOT / "docs" / "reference" / "simulators.md").read_text(encoding="utf-8")
    shipped = [path.stem for path in (ROOT / "shipyard_simulators" / "scenarios").glob("*.yaml")]
    assert [name for name in sorted(shipped) if f"`{name}`" not in page] == []


def test_yaml_of_the_repository_parses(tracked: list[Path]) -> None:
    """Except the templates of the chart, which are rendered by tests/packaging/test_chart.py."""
    for path in tracked:
        if path.suffix in (".yaml", ".yml") and path.parent.name != "templates":
            list(yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def stored(text: str) -> list[StoredDocument]:
    documents, findings = parse_documents(read_documents(text.encode()))
    assert findings == ()
    return [StoredDocument(document, Collection("design"), Revision(1)) for document in documents]


def test_the_example_is_a_complete_design(schemas: SchemaFiles) -> None:
    rendering, findings = render(stored(EXAMPLE.read_text(encoding="utf-8")), DataSchemas())

    assert rendering is not None
    assert findings == ()
    data = {one.document.schema: one.document.data for one in rendering.documents}
    for schema, name in SCHEMAS.items():
        assert schemas.check(name, data[schema]) == ()
    assert strategy.check_groups(data[strategy.SCHEMA]) == ()
    shape = [
        {"schema": one.schema, "metadata": {"name": one.name}, "data": one.data}
        for one in (made.document for made in rendering.documents)
    ]
    design = read_design(shape)
    assert (len(design.nodes), design.malformed, design.problems) == (9, (), ())


@pytest.mark.parametrize(("page", "shown"), [("write-documents.md", 1), ("write-a-strategy.md", 2)])
def test_pages_show_documents_of_the_example(page: str, shown: int) -> None:
    example = [yaml.dump(one) for one in read_documents(EXAMPLE.read_bytes())]
    for block in [block for block in DESIGNS if block.page.name == page][:shown]:
        assert [
            one["metadata"]["name"] for one in read_documents(block.text.encode()) if yaml.dump(one) not in example
        ] == []


def test_the_scenario_that_is_shown_ships_beside_the_example() -> None:
    (block,) = (block for block in SCENARIOS if block.page.name == "write-a-strategy.md")
    assert block.text == (EXAMPLE.parent / "one-rack-fails.yaml").read_text(encoding="utf-8")


def test_the_design_that_is_shown_renders_as_it_is_shown() -> None:
    design, result = (block for block in DESIGNS if block.page.name == "write-documents.md")

    rendering, findings = render(stored(design.text), DataSchemas())

    assert rendering is not None, findings
    made = {one.document.name: one for one in rendering.documents}
    assert (made["control"].document.data, made["control"].secret) == (yaml.safe_load(result.text), True)


def test_files_that_commands_read_are_there() -> None:
    """On pages written by hand; the reference of the command line shows how options are written."""
    files = [
        (block, found)
        for block in SHELL
        if block.page.name != "cli.md"
        for found in re.findall(r"(?:--site|--filename|--scenario|--data-binary)[ =]@?(\S+\.yaml)", block.text)
    ]
    there = [(ROOT / name).is_file() or f">{name}" in block.text for block, name in files]
    assert [f"{named(block)}: {name}" for (block, name), found in zip(files, there, strict=True) if not found] == []


def test_packages_are_installed_by_hash_or_from_our_wheels_by_the_pip_of_the_installation() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES if page.parent.name == "howto"]
    lines = [line.strip() for text in pages for line in text.splitlines() if "pip install" in line]
    begins = (
        "/opt/shipyard/bin/pip install --require-hashes -r requirements.lock",
        "/opt/shipyard/bin/pip install --no-deps wheels/shipyard",
    )
    assert len(lines) == 8
    assert [line for line in lines if not line.startswith(begins)] == []


def test_the_readme_shows_the_smallest_site_as_ci_deploys_it() -> None:
    (shown,) = re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )

    assert shown == (ROOT / "docs" / "examples" / "smallest-site.yaml").read_text(encoding="utf-8")
    assert len(shown.splitlines()) <= 15
