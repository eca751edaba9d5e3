"""Which files a load takes, and the one stream that it makes of them: nothing may be left out without a word."""

import os
from pathlib import Path

import pytest
import yaml

from shipyard_api.cli.document_files import join_files
from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

STATUS = {"kind": "Status", "status": "Success", "message": "Validations succeeded", "reason": "Validation"}


@pytest.fixture
def load(api, run, tmp_path, monkeypatch):
    """Write files, or links for texts that begin with ``->``, and load the directory ``d`` that they are in."""
    api.replies["POST /configdocs/c"] = Reply(201, STATUS)
    monkeypatch.chdir(tmp_path)

    def loaded(files, *options):
        for name, text in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("->"):
                path.symlink_to(text.removeprefix("->"))
            else:
                path.write_text(text)
        return run("create", "configdocs", "c", *(options or ("--directory=d", "--recurse")))

    return loaded


def documents(api):
    (request,) = api.requests
    return list(yaml.safe_load_all(request.body))


def test_linked_files_and_directories_are_loaded(api, load, tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "b.yaml").write_text("b: 1\n")
    assert load({"d/a.yaml": "a: 1\n", "d/linked": "->../else", "d/z.yaml": "->../else/b.yaml"}).exit_code == 0
    assert documents(api) == [{"a": 1}, {"b": 1}, {"b": 1}]


def test_directories_that_link_to_each_other_are_read_once(api, load):
    assert load({"d/a.yaml": "a: 1\n", "d/e/b.yaml": "b: 1\n", "d/e/up": "->..", "d/f": "->e"}).exit_code == 0
    assert documents(api) == [{"a": 1}, {"b": 1}]


def test_links_of_other_names_may_lead_nowhere(api, load):
    assert load({"d/a.yaml": "a: 1\n", "d/readme.md": "->gone"}).exit_code == 0
    assert documents(api) == [{"a": 1}]


UNREADABLE = {
    "a link that leads nowhere": ({"d/b.yaml": "->gone"}, "d/b.yaml: No such file or directory"),
    "without --recurse": ({"d/b.yaml": "->gone"}, "d/b.yaml: No such file or directory", "--directory=d"),
    "a link to itself": ({"d/b.yaml": "->b.yaml"}, "d/b.yaml: Too many levels of symbolic links"),
    "a directory that links to itself": ({"d/b": "->b"}, "d/b: Too many levels of symbolic links"),
}


@pytest.mark.parametrize(("files", "told", "options"), [(*one, ())[:3] for one in UNREADABLE.values()], ids=UNREADABLE)
def test_what_cannot_be_looked_at_stops_the_load(api, load, files, told, options):
    result = load({"d/a.yaml": "a: 1\n"} | files, *([options] if options else []))
    assert (result.exit_code, result.stdout, api.requests) == (2, "", [])
    assert f"Error: The directory d cannot be read as a whole: {told}. Nothing was sent" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
def test_a_directory_that_may_not_be_read_stops_the_load(api, load, tmp_path):
    (tmp_path / "d" / "closed").mkdir(parents=True, mode=0)
    result = load({"d/a.yaml": "a: 1\n"})
    assert (result.exit_code, api.requests) == (2, [])
    assert "d/closed: Permission denied" in result.stderr


def test_a_file_is_no_directory(api, load):
    result = load({"d/a.yaml": "a: 1\n"}, "--directory=d/a.yaml")
    assert (result.exit_code, api.requests) == (2, [])
    assert "Error: d/a.yaml is a file, not a directory: use --filename=d/a.yaml.\n" in result.stderr


REMARK = "# only a comment\n"
WITHOUT_DOCUMENTS = {
    "a comment first": {"d/1.yaml": REMARK, "d/2.yaml": "b: 1\n", "d/3.yaml": "---\nc: 1\n"},
    "a comment at the end": {
        "d/2.yaml": "# why\nb: 1\n...\n",
        "d/3.yaml": "%YAML 1.1\n---\nc: 1\n",
        "d/9.yaml": REMARK,
    },
    "a comment that looks like a start": {"d/2.yaml": "b: 1\n", "d/3.yaml": "\ufeff# ---\n\nc: 1\n"},
}


@table("files", WITHOUT_DOCUMENTS)
def test_files_without_a_document_change_nothing(api, load, files):
    assert load(files).exit_code == 0
    assert documents(api) == [{"b": 1}, {"c": 1}]


def test_files_without_any_document_at_all_are_no_load(api, load):
    result = load({"d/1.yaml": REMARK, "d/2.yaml": ""})
    assert (result.exit_code, api.requests) == (2, [])
    assert "Error: There is no document in these files. To load none, use --empty-collection.\n" in result.stderr


@pytest.mark.parametrize("sign", ["[", "? "], ids=["brackets", "keys"])
def test_a_file_nested_without_end_is_refused_and_kills_nobody(api, load, sign):
    result = load({"d/deep.yaml": sign * 200_000})
    assert (result.exit_code, api.requests) == (2, [])
    assert "Error: YAML file d/deep.yaml is invalid because it is nested deeper than 1,000 levels, at line 1\n" in (
        result.stderr
    )


def test_each_file_knows_its_lines_and_documents_in_the_stream(tmp_path):
    texts = {"a": "# why\na: 1\n---\nb: 1\n", "b": REMARK, "c": "c: 1", "d": "---\nd: 1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    body, parts = join_files(tmp_path / name for name in texts)
    lines = body.decode().splitlines(keepends=True)
    assert [(part.path.name, list(part.documents)) for part in parts] == [("a", [1, 2]), ("c", [3]), ("d", [4])]
    for part in parts:
        assert "".join(lines[number - 1] for number in part.lines).rstrip() == texts[part.path.name].rstrip()


def refused(*faults):
    return Reply(400, {"message": "Unable to load", "reason": "r", "details": {"messageList": [
        {"message": fault, "error": True} for fault in faults
    ]}})  # fmt: skip


FILES = {"d/a.yaml": "# why\na: 1\n---\nb: 1\n", "d/b.yaml": REMARK, "d/c.yaml": "c:\n  d: 1\n"}
# The stream: a.yaml is lines 1 to 4, "..." and "---" follow, c.yaml is lines 7 and 8.
POINTERS = {
    "a document": (["line 8, column 3 (document 3): x"], ["line 8 (document 3) is line 2 of d/c.yaml"]),
    "several": (
        ["line 8, column 3 (document 3): x", "line 4, column 1 (document 2): y, first given at line 3"],
        ["line 8 (document 3) is line 2 of d/c.yaml", "line 4 (document 2) is line 4 of d/a.yaml"],
    ),
    "in one text": (
        ["line 4, column 3 (document 2): x\nline 7, column 1 (document 3): y"],
        ["line 4 (document 2) is line 4 of d/a.yaml", "line 7 (document 3) is line 1 of d/c.yaml"],
    ),
    "no document": (["line 7, column 1: x"], ["line 7 is line 1 of d/c.yaml"]),
    "outside": (["line 99, column 1 (document 3): x", "line 6, column 1 (document 3): y"], []),
    "no place": (["the schema a/A/v1 is unknown"], []),
}  # fmt: skip


@table(("faults", "lines"), POINTERS)
def test_what_is_refused_is_told_by_file_and_line(api, load, run, faults, lines):
    load(FILES)
    api.replies["POST /configdocs/c"] = refused(*faults)
    result = run("create", "configdocs", "c", "--directory=d")
    assert (result.exit_code, result.stderr.splitlines()) == (1, lines)
    assert "column" in result.stdout or "schema" in result.stdout


def test_only_a_few_places_are_told(api, load):
    api.replies["POST /configdocs/c"] = refused(*(f"line {2 * n - 1}, column 1 (document {n}): x" for n in range(1, 8)))
    load({"d/a.yaml": "---\n".join(["a: 1\n"] * 7)})
    result = load({}, "--directory=d")
    told = result.stderr.splitlines()
    assert (told[4], told[5:]) == ("line 9 (document 5) is line 9 of d/a.yaml", ["and 2 more"])
