"""Comparisons of two versions of the documents (contract: shipyard-cli, 5.4)."""

from shipyard_api.cli.output import configdocs_tables
from tests.unit.cli.printed import lines


def test_get_configdocs_of_nothing_has_no_title():
    assert [line.split() for line in lines(configdocs_tables.collections("[]"))] == [
        ["Collection", "Base", "New"],
        ["None"],
    ]


def test_a_diff_stands_apart_from_the_table_and_no_difference_is_said():
    assert str(configdocs_tables.difference("--- a\n+++ b\n")) == "\n--- a\n+++ b"
    assert str(configdocs_tables.difference("")) == "\nNo document differs."
