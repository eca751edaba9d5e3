"""Comparisons of two versions of the documents (contract: shipyard-cli, 5.4)."""

from shipyard_api.cli.output import configdocs_tables


def lines(page: object) -> list[str]:
    """The text without the blanks that pad a table's last column."""
    return [line.rstrip() for line in str(page).split("\n")]


def test_get_configdocs_of_nothing_has_no_title():
    assert [line.split() for line in lines(configdocs_tables.collections("[]"))] == [
        ["Collection", "Base", "New"],
        ["None"],
    ]


def test_a_diff_stands_apart_from_the_table_and_no_difference_is_said():
    assert str(configdocs_tables.difference("--- a\n+++ b\n")) == "\n--- a\n+++ b"
    assert str(configdocs_tables.difference("")) == "\nNo document differs."
