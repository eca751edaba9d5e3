"""The commands about the tasks of releases and clusters."""

import json

import pytest
import yaml

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

TASKS = [{"id": "b", "type": "stage", "odd": [1, None]}, {"id": "a", "type": "stage"}]


def kept(request):
    return Reply(200, json.loads(request.body))


@pytest.mark.parametrize("owner", ["release", "cluster"])
def test_tasks_are_downloaded_and_uploaded_again(api, run, tmp_path, owner):
    api.replies |= {
        f"GET /api/v1/{owner}s/2/deployment_tasks": Reply(200, TASKS),
        f"PUT /api/v1/{owner}s/2/deployment_tasks": kept,
    }
    file = tmp_path / f"{owner}_2" / "deployment_tasks.yaml"
    words = [f"--{owner}", "2", "--dir", str(tmp_path)]

    down = run(owner, "tasks", "download", *words)
    up = run(owner, "tasks", "upload", *words)

    assert (down.stdout, up.stdout) == (
        f"2 tasks of {owner} 2: {file}\n",
        f"Stored for {owner} 2: 2 tasks\n",
    )
    assert yaml.safe_load(file.read_text()) == json.loads(api.requests[1].body) == TASKS


def test_warnings_about_uploaded_tasks_are_shown_beside_the_answer(api, run, tmp_path):
    warnings = {"X-Shipyard-Warnings": json.dumps(["a: \x1b[0m", "b"])}
    api.replies["PUT /api/v1/releases/1/deployment_tasks"] = Reply(200, TASKS, headers=warnings)
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump(TASKS))

    result = run("release", "tasks", "sync", "--dir", str(tmp_path))

    assert result.stdout == "Stored for release 1 from 1 file: 2 tasks\n"
    assert result.stderr == "Warning: a: \ufffd[0m\nWarning: b\n"
    api.replies["POST /api/v1/clusters/1/assignment"] = Reply(200, {}, headers=warnings)
    assert run("role", "assign", "n1", "compute").stderr == result.stderr


def test_a_tree_of_task_files_is_joined(api, run, tmp_path):
    api.replies["PUT /api/v1/releases/1/deployment_tasks"] = kept
    for path, tasks in (("b/tasks.yaml", TASKS[1:]), ("a/my_tasks.yaml", TASKS[:1]), ("a/tasks.yaml", None)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(yaml.safe_dump(tasks) if tasks else "")
    (tmp_path / "other.yaml").write_text("- x")

    result = run("release", "tasks", "sync", "--dir", str(tmp_path))

    assert result.stdout == "Stored for release 1 from 3 files: 2 tasks\n"
    assert json.loads(api.requests[0].body) == TASKS


@table(
    ("content", "says"),
    {
        "no file": (None, "cannot be read"),
        "no list": ("a: b", "is not a list of tasks"),
        "no YAML": ("- [", "is not YAML"),
        "a date": ("- {id: a, at: 2026-01-01}", "is not YAML that can be sent"),
    },
)
def test_a_file_that_cannot_be_sent_is_refused_here(api, run, tmp_path, content, says):
    file = tmp_path / "cluster_1" / "deployment_tasks.yaml"
    if content is not None:
        file.parent.mkdir()
        file.write_text(content)

    result = run("cluster", "tasks", "upload", "--dir", str(tmp_path))

    assert (result.exit_code, says in " ".join(result.output.split())) == (2, True)
    assert api.requests == []
