"""The contract of the REST API, case by case: request, code, headers, body. The cases are the modules beside this one.

Each answer is held to the contract as a whole: what it must have, and the headers that it must not have. A request that
is refused leaves nothing behind. The contract is shipyard-rest, chapters 1 to 11; a case names its section.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from falcon.testing import Result

from shipyard_api.yaml_stream import read_documents
from tests.integration.api.contract import (
    actions_create,
    actions_list_and_get,
    addresses_and_headers,
    commit,
    configdocs_compare,
    configdocs_load,
    configdocs_read,
    control,
    errors_everywhere,
    notes,
    options_and_methods,
    policy,
    rendered,
    site_statuses,
    steps_and_logs,
    validations,
    verbosity_and_booleans,
    versions_health,
    workflows,
)
from tests.integration.api.contract.case import V1, Case, Exchange, Nothing, Raw, Who, Yaml
from tests.integration.api.contract.conftest import Given
from tests.integration.api.contract.matching import UUID, Entity, faults, filled
from tests.integration.api.contract.states import STATES
from tests.integration.api.wire import Caller
from tests.unit.tables import every_row

MODULES = (
    *(addresses_and_headers, verbosity_and_booleans, errors_everywhere, options_and_methods, policy),
    *(configdocs_compare, configdocs_load, configdocs_read, rendered, commit),
    *(actions_list_and_get, actions_create, control, steps_and_logs, validations),
    *(notes, workflows, site_statuses, versions_health),
)
CASES: list[Case] = [case for module in MODULES for case in module.CASES]
# In each state, those that change nothing come first, and share it.
BY_STATE: dict[str, dict[str, Case]] = {}
for one in sorted(CASES, key=lambda case: (case.given, "POST" in case.ask and case.code < 400, case.id)):
    BY_STATE.setdefault(one.given, {})[one.id] = one
JSON_TYPE, YAML_TYPE = "application/json", "application/x-yaml"
# Headers that an answer has only where the contract says so.
ON_OCCASION = ("Allow", "Location", "WWW-Authenticate")


@pytest.mark.parametrize("state", BY_STATE)
def test_wire(given: Given, state: str) -> None:
    try:
        every_row(BY_STATE[state])(partial(_answered, given))()
    finally:
        given.leave()  # other tests run in this process: a broken state breaks them


def _answered(given: Given, case: Case) -> None:
    callers, names = given.state(case.given)
    if case.code >= 400:
        given.know_rows()
    try:
        answer = exchanged(callers, case, names)
        first = {**names, "request": answer.headers.get("X-Shipyard-Req")}
        if isinstance(case.answer, Entity) and answer.status_code == 201:
            first["id"] = answer.json["id"]
        wrong = held(case, answer, first, given.seen)
        if case.code >= 400 and not given.has_stored_nothing():
            wrong.append("it was refused, and yet something was stored")
        for further in case.then:
            wrong += [f"then {further.ask}: {one}" for one in held_then(callers, further, first, given.seen)]
        if wrong:
            pytest.fail("\n".join([*wrong, f"{answer.status} {answer.text[:3000]}"]), pytrace=False)
    except BaseException:
        given.leave()
        raise
    if any(one.ask.startswith("POST") and one.code < 400 for one in (case, *case.then)):
        given.leave()


def held_then(callers: Mapping[Who, Caller], exchange: Exchange, names: Mapping[str, Any], seen: set[str]) -> list[str]:
    """What is wrong with a later answer; ``$request`` and ``$id`` are still those of the first."""
    return held(exchange, exchanged(callers, exchange, names), names, seen)


def exchanged(callers: Mapping[Who, Caller], exchange: Exchange, names: Mapping[str, Any]) -> Result:
    """Send the request."""
    method, _, address = filled(exchange.ask, names).partition(" ")
    path, _, query = address.partition("?")
    return callers[exchange.who].ask(
        method,
        path if path.startswith("/") else f"{V1}/{path}",
        query=query or None,
        body=exchange.body,
        headers=exchange.sends,
    )


def held(exchange: Exchange, answer: Result, names: Mapping[str, Any], seen: set[str]) -> list[str]:
    """Everything in which an answer differs from what the case says."""
    wrong = [] if answer.status_code == exchange.code else [f"{answer.status} instead of {exchange.code}"]
    request = answer.headers.get("X-Shipyard-Req")
    wrong += faults(UUID, request, "X-Shipyard-Req", names)
    if request in seen:
        wrong.append(f"X-Shipyard-Req {request} was given before")
    seen.add(str(request))
    for header in ON_OCCASION:
        if header in exchange.headers:
            wrong += faults(exchange.headers[header], answer.headers.get(header), header, names)
        elif header in answer.headers:
            wrong.append(f"{header}: {answer.headers[header]} should not be there")
    return wrong + list(_body(exchange.answer, answer, names))


def _body(expected: Any, answer: Result, names: Mapping[str, Any]) -> list[str]:
    kind = answer.headers.get("Content-Type")
    if isinstance(expected, Nothing):
        # 1: a type even then, but for 204; the client's output form `format` needs one.
        right = kind is None if answer.status_code == 204 else kind == JSON_TYPE
        return [*([] if right else [f"Content-Type {kind}"]), *([f"a body: {answer.text}"] if answer.content else [])]
    wanted = YAML_TYPE if isinstance(expected, Yaml) else JSON_TYPE
    wrong = [] if kind == wanted else [f"Content-Type {kind} instead of {wanted}"]
    if isinstance(expected, Yaml):
        documents = read_documents(answer.content) if kind == YAML_TYPE and answer.content else []
        return [*wrong, *faults(expected.documents, documents, "documents", names)]
    if isinstance(expected, Raw):
        return [*wrong, *faults(expected.text, answer.text, "text", names)]
    if not answer.content or kind != JSON_TYPE:
        return [*wrong, "no JSON"]
    return [*wrong, *faults(expected, answer.json, "body", names)]


# --- the suite itself -----------------------------------------------------------------------------------------------


def test_there_are_at_least_250_cases_and_no_two_are_one() -> None:
    doubled = [name for name, number in Counter(case.id for case in CASES).items() if number > 1]
    requests = Counter((case.given, case.who, case.ask, repr(case.sends), repr(case.body)) for case in CASES)

    assert doubled == []
    assert len(requests) >= 250, len(requests)


def test_every_section_of_chapters_1_to_11_has_cases() -> None:
    sections = {case.section for case in CASES}

    assert {case.chapter for case in CASES} == set(range(1, 12))
    assert {f"5.{number}" for number in range(1, 6)} <= sections
    assert {f"6.{number}" for number in range(2, 8)} <= sections
    assert {"7.1", "7.2", "7.4", "9.1", "9.2"} <= sections


def test_every_case_is_in_a_state_that_there_is_and_none_is_for_nothing() -> None:
    used = {case.given for case in CASES}

    assert used <= set(STATES)
    assert set(STATES) - used == set()


def test_every_resource_of_the_contract_is_asked_with_each_of_its_methods() -> None:
    asked = {re.sub(r"\?.*", "", case.ask) for case in CASES if case.code < 400}

    assert {ask.split("/")[0] for ask in asked} >= {
        *("GET configdocs", "POST configdocs", "GET renderedconfigdocs", "POST commitconfigdocs"),
        *("GET actions", "POST actions", "GET notedetails", "GET workflows", "GET site_statuses", "GET health"),
    }
