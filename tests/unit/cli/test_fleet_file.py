"""The file of a fleet: which sites it names, and everything that is wrong with it at once."""

from pathlib import Path

import click
import pytest

from shipyard_api.cli.fleet_file import FleetSite, read_fleet
from tests.unit.tables import table

GOOD = """\
sites:
- {name: berlin, url: "https://berlin.example.org", token_env: BERLIN_TOKEN}
- {name: oslo, url: "https://oslo.example.org", token_file: oslo.token}
- {name: lab, url: "http://127.0.0.1:8080"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "oslo.token").write_text("secret-of-oslo\n")
    return tmp_path / "fleet.yaml"


def test_sites_have_the_order_of_the_file_and_tokens_from_outside_it(file: Path) -> None:
    file.write_text(GOOD)
    sites = read_fleet(file, {"BERLIN_TOKEN": "secret-of-berlin"})
    assert sites == [
        FleetSite("berlin", "https://berlin.example.org", "secret-of-berlin"),
        FleetSite("oslo", "https://oslo.example.org", "secret-of-oslo"),
        FleetSite("lab", "http://127.0.0.1:8080"),
    ]
    assert "secret" not in repr(sites)


FAULTS = {
    "no YAML": ("a: [", "is not YAML: line 1, column 5: "),
    "nothing": ("", "names no sites"),
    "too large": ("#" * 1024 * 1025, "is larger than 1048576 bytes"),
    "no mapping": ("sites: [x]", r"sites\[1\] is no mapping"),
    "no name and no url": ("sites: [{}]", r"sites\[1\] has no name; sites\[1\] has no url"),
    "a token in the file": ("sites: [{name: a, url: 'http://u', token: s3cret}]", r"sites\[1\] holds a token"),
    "an unknown key": ("sites: [{name: a, url: 'http://u', tokn_env: x}]", "unknown keys: tokn_env"),
    "two tokens": (
        "sites: [{name: a, url: 'http://u', token_env: SET, token_file: oslo.token}]",
        "both token_env and",
    ),
    "a variable that is not set": ("sites: [{name: a, url: 'http://u', token_env: UNSET}]", "UNSET is not set"),
    "no such file": (
        "sites: [{name: a, url: 'http://u', token_file: none}]",
        "token_file none cannot be read: No such file",
    ),
    "no address": ("sites: [{name: a, url: berlin}]", r"sites\[1\]: the url berlin does not begin with http://"),
    "one name twice": ("sites: [{name: a, url: 'http://u'}, {name: a, url: 'http://v'}]", "the name a occurs twice"),
}


@table(("content", "fault"), FAULTS)
def test_what_is_wrong_is_said_before_anything_is_sent(file: Path, content: str, fault: str) -> None:
    file.write_text(content)
    with pytest.raises(click.UsageError, match=fault) as refused:
        read_fleet(file, {"SET": "x"})
    assert "s3cret" not in str(refused.value)


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="cannot be read"):
        read_fleet(tmp_path / "none.yaml", {})
