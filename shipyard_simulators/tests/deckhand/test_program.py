"""The Deckhand simulator as a program."""

import json
from pathlib import Path

import requests

from shipyard_simulators.tests.programs import refusal, started
from shipyard_simulators.tests.waiting import PATIENCE


def test_the_program_announces_itself_serves_and_ends_at_once(tmp_path: Path):
    log_file = tmp_path / "log.jsonl"
    options = ["--with-defects", "--well-behaved", "--log-file", str(log_file)]
    with started("deckhand", tmp_path, *options, SIMULATOR_TOKEN="right") as (process, url):
        statuses = [
            requests.get(f"{url}/api/v1.0/revisions", headers={"X-Auth-Token": token}, timeout=PATIENCE).status_code
            for token in ("right", "wrong")
        ]
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err, statuses) == (0, b"", [200, 401])
    assert url in out.decode()
    assert [json.loads(line)["status"] for line in log_file.read_text().splitlines()] == statuses


def test_every_bad_argument_is_named(tmp_path: Path):
    words = ["--port", "70000", "--time-scale", "0", "--deny", "everything", "--scenario", "nowhere"]
    code, answered = refusal("deckhand", *words, "--log-file", str(tmp_path / "nowhere" / "log"))
    assert (code, len(answered)) == (2, 5)
    for fault in ("--port: 70000", "--time-scale: 0.0", "--deny: everything", "--scenario nowhere", "--log-file:"):
        assert any(fault in line for line in answered)


def test_one_cannot_ask_for_both_renderings():
    assert refusal("deckhand", "--correct-rendering", "--with-defects")[0] == 2
