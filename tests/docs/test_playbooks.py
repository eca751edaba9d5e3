"""Whatever a running action can wait for has a playbook, and the index of symptoms leads to it."""

import re

from shipyard_api.domain.waiting import ITEMS
from tests.conftest import ROOT

INDEX = (ROOT / "docs" / "symptoms.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "shipyard_api").rglob("*.py")]
# Who is waited for: the first argument of a wait, what a check asks, and the name of a peer that raised an error.
WRITTEN = (
    r'\b(?:Awaited|WaitingFor)\(\s*"([A-Za-z ]+)"',
    r'asks=lambda: "([^"]+)"',
    r'^POLICY = "([a-z ]+)"',
    r'^_?SYSTEM(?:: \w+)? = "([A-Z][A-Za-z]+|etcd)"',
    r'^def _ourselves\(\) -> str:\n    return "([A-Za-z]+)"',
    r'\bsystem="([A-Z][A-Za-z]+)"\)',
    r'^    who = provisioner if at_peer else "(Kubernetes)" if draining or joining else "the nodes"',
    r'^    who = .* else "(the nodes)"$',
)


def test_every_wait_has_a_playbook() -> None:
    waits = {ITEMS} | {
        who for text in SOURCES for pattern in WRITTEN for who in re.findall(pattern, text, re.MULTILINE)
    }
    rows = re.findall(r"^\| (`.*`) \| \[[^]]+\]\((playbooks/[a-z-]+\.md)\) \|$", INDEX, re.MULTILINE)
    listed = {who for names, _ in rows for who in re.findall("`([^`]+)`", names)}

    # So many that a change of how they are written is noticed.
    assert len(waits) >= 14
    assert sorted(waits - listed) == []
    assert sorted(listed - waits) == []


def test_every_playbook_is_in_the_index_and_says_what_to_do() -> None:
    pages = sorted((ROOT / "docs" / "playbooks").glob("*.md"))

    assert [page.name for page in pages if f"](playbooks/{page.name})" not in INDEX] == []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith("# The action waits for ")
        assert "| cause | how to tell | what to do |" in text
        assert "## How it ends" in text
