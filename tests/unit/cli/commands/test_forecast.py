"""How an action is likely to go: what is asked, and what people read of the answer."""

import json

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import FORECAST, ID
from tests.unit.tables import table


def words_of(text):
    return [line.split() for line in text.split("\n")]


def test_of_a_running_action_the_time_left_is_shown(api, run):
    left = {name: value for name, value in FORECAST.items() if name != "seconds"}
    left |= {"seconds_left": FORECAST["seconds"], "source": "default", "relax": None}
    api.replies[f"GET /actions/{ID}/forecast"] = Reply(200, left)
    text = run("forecast", f"action/{ID}").stdout
    assert run("forecast", f"action/{ID}", "--from-start").stdout == text
    assert [request.query[:-1] for request in api.requests] == [[], [("from-start", "true")]]
    assert ["Time", "Left:", "40:15"] in [words[:3] for words in words_of(text)]
    assert ["Relax:", "no", "single", "criterion", "helps"] in words_of(text)


def test_what_cannot_be_foreseen_is_not_known(api, run):
    unknown = dict.fromkeys(("success", "nodes_lost", "seconds_left"))
    unknown |= {"not_known": "waits for Drydock: a queued job"}
    groups = [{**FORECAST["groups"][0], "success": None, "starts": None, "seconds": None, "phases": []}]
    answer = {name: value for name, value in FORECAST.items() if name != "seconds"} | unknown | {"groups": groups}
    api.replies[f"GET /actions/{ID}/forecast"] = Reply(200, answer)
    text = run("forecast", ID).stdout
    assert ["Success:", *["not", "known:", "waits", "for", "Drydock:", "a", "queued", "job"]] in words_of(text)
    assert ["Time", "Left:", "not", "known"] in words_of(text)
    assert ["compute", "yes", "60", "-", "not", "known", "-", "-", "-", "-"] in words_of(text)
    assert "Simulated:" not in text


USUAL = {"name": "deploy_site", "parameters": {}, "version": "committed"}
REQUESTS = {
    "nothing more": (["deploy_site"], USUAL),
    "everything": (
        ["deploy_site", "--version=buffer", "--param=a=b", "--failures=0.1", "--runs=100", "--seed=7"],
        {**USUAL, "version": "buffer", "parameters": {"a": "b"}, "failure_probability": 0.1, "runs": 100, "seed": 7},
    ),
    "by phase": (
        ["deploy_site", "--failures", "deploy=.2", "--failures", "prepare=0"],
        {**USUAL, "failure_probability": {"deploy": 0.2, "prepare": 0.0}},
    ),
    "other criteria": (
        [
            "deploy_site",
            *(f"--criterion=a:b:{one}" for one in ("maximum_failed_nodes=1", "minimum_successful_nodes=2")),
        ],
        {**USUAL, "criteria": {"a:b": {"maximum_failed_nodes": 1, "minimum_successful_nodes": 2}}},
    ),
    "retry": (["--retry", f"action/{ID}"], {"retry": ID}),
}


@table(("words", "body"), REQUESTS)
def test_what_is_asked(api, run, words, body):
    api.replies["POST /forecasts"] = Reply(200, FORECAST)
    assert run("forecast", *words).exit_code == 0
    (request,) = api.requests
    assert json.loads(request.body) == body
