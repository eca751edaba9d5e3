"""Comparisons of two versions of the documents (contract: shipyard-cli, 5.4)."""

from shipyard_api.cli.output import configdocs_tables


def test_a_diff_stands_apart_from_the_table_and_no_difference_is_said():
    assert str(configdocs_tables.difference("--- a\n+++ b\n")) == "\n--- a\n+++ b"
    assert str(configdocs_tables.difference("")) == "\nNo document differs."
