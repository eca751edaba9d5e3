"""docs/howto/come-from-airship.md: the settings that it names exist."""

import re
from dataclasses import fields, is_dataclass

from shipyard_api.wiring.settings import section_types
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "howto" / "come-from-airship.md"


def test_each_setting_of_airship_leads_to_one_that_exists() -> None:
    section = PAGE.read_text("utf-8").split("## Translate the settings")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| `[")]
    sections = section_types()
    named = {
        (found[1], name)
        for row in rows
        for found in re.finditer(r"`\[(\w+)\] (\w+)[^`]*`((?:, `\w+`)*)", row)
        for name in (found[2], *re.findall(r"`(\w+)`", found[3]))
    }

    assert len(rows) > 15
    assert len(named) > 15
    for group, name in sorted(named):
        options = sections[group]
        assert is_dataclass(options)
        assert name in {one.name for one in fields(options)}, f"[{group}] {name}"
