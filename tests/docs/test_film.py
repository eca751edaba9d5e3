"""The film of the documentation site: what it plays is what the tools wrote, and it loads nothing else."""

import json
import re

import pytest

import check_history
from docs.site import film
from tests.conftest import ROOT
from tests.model.mutations import MUTATIONS

FILES = sorted(film.HISTORIES.glob("*.jsonl"))


@pytest.mark.parametrize("run", film.RUNS, ids=lambda run: run.file)
def test_a_recorded_run_keeps_every_rule(run: film.Run) -> None:
    history = check_history.read(film.HISTORIES / run.file)
    assert [(rule.__name__, breach) for rule in check_history.RULES for breach in rule(history)] == []
    assert len(history.effects) >= 4
    assert "all 11 rules hold" in film.checked(film.HISTORIES / run.file)


def test_every_recorded_run_is_played() -> None:
    assert [file.name for file in FILES] == sorted(run.file for run in film.RUNS)


def test_each_story_is_of_a_mutation_that_the_model_has() -> None:
    known = {mutation.name: mutation for mutation in MUTATIONS}
    stories = json.loads(film.STORIES.read_text("utf-8"))
    assert len(stories) >= 10
    for story in stories:
        assert story["broken"] == known[story["name"]].broken, "run ./dev film stories"
        assert story["what"]
        assert story["steps"]


def test_the_page_loads_only_what_is_written_beside_it(tmp_path) -> None:
    film.write(tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert sorted(loaded) == ["data.js", "film.css", "film.js", "fold.js"]
    assert {path.name for path in tmp_path.iterdir()} == {*loaded, "index.html"}
    for name in film.PAGE:
        own = (film.FILM / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.|fetch\(|XMLHttpRequest|innerHTML|eval\(", own), name
    assert (ROOT / "docs" / "explanation" / "the-film.md").is_file()
