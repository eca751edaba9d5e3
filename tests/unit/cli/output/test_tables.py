"""Pages on a terminal: they fit its width, no name is cut, and nothing is there that the words do not say."""

import json
import re
import subprocess
import sys

import pytest

from shipyard_api.cli.output import action_tables, node_tables, status_text, tables
from shipyard_api.cli.output.printout import Printout, TextTable, sections, table
from tests.unit.cli import samples
from tests.unit.cli.samples import ID

COLOURS = re.compile(r"\x1b\[[\d;]*m")
NOTED = samples.action(
    "Failed",
    steps=samples.steps("success", "failed", "running"),
    notes=[samples.NOTE, samples.LINKED_NOTE],
    command_audit=[{"command": "invoke", "user": "admin", "datetime": samples.BEGAN}],
)
NODES = {
    "nodes": [
        samples.node(
            f"n{number}", "failure", reason="prepare", detail="IPMI did not answer", action_id=ID,
            updated_at="2026-11-21T01:24:40Z",
        )
        for number in range(3)
    ]
}  # fmt: skip
PAGES = {
    "actions": action_tables.actions(json.dumps([NOTED])),
    "action": action_tables.action(json.dumps(NOTED)),
    "nodes": node_tables.nodes(json.dumps(NODES)),
    "status": status_text.done("Done.", json.dumps(samples.REFUSED)),
}


@pytest.fixture
def shown(monkeypatch, capsys):
    """Show a page on a terminal of some width; return the text without, or with, its colours."""

    def show(page, width=80, *, colours=False):
        for name, value in (("COLUMNS", str(width)), ("TERM", "xterm-256color"), ("FORCE_COLOR", "1")):
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("NO_COLOR", raising=False)
        tables.print_to_terminal(page)
        text = capsys.readouterr().out
        return text if colours else COLOURS.sub("", text)

    return show


def words(text):
    return set(text.split())


@pytest.mark.parametrize("width", [30, 80, 160])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
def test_no_word_is_cut_or_lost_however_narrow_the_terminal_is(shown, page, width):
    told = words(shown(page, width))
    titles = words(" ".join(title for part in page.parts if isinstance(part, TextTable) for title in part.headers))
    # What all names of a column begin with may stand above the table; titles of what is empty may be left out.
    lost = {word for word in words(str(page)) - told - titles if word.rpartition("/")[2] not in told}
    # Times may lose what is below a second.
    assert {word for word in lost if word.partition(".")[0].partition("T")[2] not in told or "T" not in word} == set()


@pytest.mark.parametrize("width", [30, 80])
def test_lines_are_broken_between_words_where_that_makes_a_table_fit(shown, width):
    rows = [("node/n1", "the first of all words " * 12, "short"), ("node/n22", "x", "y")]
    lines = shown(Printout([table(rows, ("Node", "Why", "More"))]), width).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) > 3
    assert lines[1].split()[0] in ("node/n1", "n1"), "the title Node may stand for node/"


def test_a_narrow_one_shows_each_row_as_lines_of_its_own(shown):
    lines = shown(PAGES["actions"], 60).splitlines()
    assert lines[:6] == [
        "Name                 deploy_site",
        f"Action               action/{ID}",
        "Lifecycle            Failed",
        "Execution Time       2026-11-21T01:23:55.745506Z",
        "Step Succ/Fail/Oth   1/1/9",
        "Footnotes            (1)",
    ]


@pytest.mark.parametrize(("width", "noted"), [(80, True), (117, False)])
def test_many_actions_are_one_table_on_common_terminals(shown, width, noted):
    names = ("deploy_site", "update_site", "update_software", "redeploy_server")
    ids = [f"{ID[:-1]}{number}" for number in range(4)]
    states = samples.steps("success", *["failed"] * 4)
    found = [
        samples.action("Processing", id=one, name=name, steps=states) for one, name in zip(ids, names, strict=True)
    ]
    found[1]["notes"] = [samples.NOTE] if noted else []
    lines = shown(action_tables.actions(json.dumps(found)), width).splitlines()
    assert max(map(len, lines)) <= width
    for one, name in zip(ids, names, strict=True):
        (row,) = [line for line in lines if one in line]
        assert row.startswith(name)
        assert "Processing" in row
        assert "01:23:55" in row
        assert "1/4/6" in row


@pytest.mark.parametrize(("width", "actions"), [(80, 3), (120, 1)])
def test_nodes_are_one_table_and_why_they_failed_is_read_in_two_lines(shown, width, actions):
    why = "IPMI did not answer after 3 attempts"
    ids = [f"{ID[:-1]}{number % actions}" for number in range(4)]
    nodes = [
        samples.node(
            f"compute{number}", "failure", "monitoring-nodes", reason="prepare", detail=why, action_id=one,
            updated_at=f"2026-11-21T01:2{number}:40Z",
        )
        for number, one in enumerate(ids)
    ]  # fmt: skip
    text = shown(node_tables.nodes(json.dumps({"nodes": nodes})), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 3 + 2 * 4
    for number, one in enumerate(ids):
        assert [":40" in line for line in lines if f"compute{number}" in line] == [True]
        assert one in text
    assert " ".join(text.split()).count("prepare: IPMI") == 4


@pytest.mark.parametrize(("name", "value"), [("COLUMNS", "0"), ("LINES", "0")])
def test_a_size_of_0_is_none(monkeypatch, capsys, name, value):
    for variable, size in (("COLUMNS", "80"), ("LINES", "24"), (name, value)):
        monkeypatch.setenv(variable, size)
    tables.print_to_terminal(PAGES["nodes"])
    assert "IPMI did not answer" in " ".join(capsys.readouterr().out.split())
    assert tables.terminal(sys.stdout).size == (80, 24)


def test_what_all_steps_begin_with_is_said_once_where_there_is_no_room(shown):
    lines = shown(PAGES["action"], 80).splitlines()
    start = lines.index(f"step/{ID}/…")
    assert lines[start + 1].split() == ["Steps", "Index", "State"], "no step has a footnote"
    assert lines[start + 2].split() == ["action_xcom", "1", "success"]


def test_parts_are_apart_by_one_empty_line_and_no_more(shown):
    page = sections(
        "one", "", "", table([], ("A", "B")), Printout(["title:\n", table([("x", "y")], ("C", "D"))]), end="\n"
    )
    assert [line.rstrip() for line in shown(page).splitlines()] == [
        "one", "", "A      B", "None", "", "title:", "C   D", "x   y",
    ]  # fmt: skip


WORDS = {"success": "32", "Failed": "31", "Processing": "36", "Paused": "33", "None": "2"}


@pytest.mark.parametrize(("word", "colour"), WORDS.items())
def test_states_are_coloured_as_they_are_good_bad_or_on_the_way(shown, word, colour):
    assert f"\x1b[{colour}m{word}" in shown(Printout([table([("x", word)], ("Name", "State"))]), colours=True)


LINES = {
    "finding": ("- Error: DD1", "\x1b[31m- Error\x1b[0m: DD1\n"),
    "warning": ("- Warning: DD1", "\x1b[33m- Warning\x1b[0m: DD1\n"),
    "nothing special": ("Error is a word", "Error is a word\n"),
}


@pytest.mark.parametrize(("line", "text"), LINES.values(), ids=LINES.keys())
def test_lines_are_coloured_by_how_they_begin(shown, line, text):
    assert shown(Printout([line]), colours=True) == text


@pytest.mark.parametrize(
    "page",
    [
        Printout(["a\x1b[2J"]),
        Printout([table([("\x1b]0;x\x07", "b")], ("A", "B"))]),
        Printout([TextTable([("A:", "\x9b1m")])]),
    ],
    ids=["text", "table", "fields"],
)
def test_nothing_of_the_server_commands_the_terminal(shown, page):
    text = shown(page)
    assert "\ufffd" in text
    assert not set(text) & set("\x1b\x07\x9b")


def test_what_asks_no_server_loads_nothing_that_is_slow():
    code = (
        "import sys; from shipyard_api.cli.main import main\n"
        "for line in ('--help', 'help actions', 'completion bash'):\n"
        "    sys.argv[1:] = line.split()\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "slow = {'requests', 'msgspec', 'rich', 'yaml', 'keystoneauth1', 'sqlalchemy', 'falcon'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
