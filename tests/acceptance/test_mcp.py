"""`shipyard mcp` before a running stack, asked over stdio by the official client library.

Runs where the package mcp is installed (``.ci/real_mcp.py``).
"""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import mcp

from tests.acceptance.programs import run, stack_of_its_own
from tests.conftest import ROOT

Ask = Callable[[mcp.Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with stack_of_its_own() as (_, ready, environment):
        environment |= {"SHIPYARD_URL": ready["url"], "SHIPYARD_TOKEN": ready["token"]}
        design = str(ROOT / "docs" / "examples" / "small-site.yaml")
        for words in (["create", "configdocs", "design", f"--filename={design}"], ["commit", "configdocs"]):
            done = run(words, environment)
            assert done.returncode == 0, done.stdout + done.stderr
        yield environment


def ask(environment: dict[str, str], question: Ask, *words: str) -> Any:
    """Ask a server that was started with these words."""
    program = [sys.executable, "-c", "from shipyard_api.cli.main import main; main()", "mcp", *words]
    server = mcp.StdioServerParameters(command=program[0], args=program[1:], env=environment)

    async def asked() -> Any:
        async with mcp.Client(server) as client:
            return await question(client)

    return asyncio.run(asked())


def content(result: Any) -> tuple[str, str]:
    """Return the first line and what is between the marks."""
    (block,) = result.content
    head, _, rest = block.text.partition("\n")
    body, _, _ = rest.rpartition("\n</untrusted-content")
    return head, body


def test_a_model_reads_the_site_and_can_change_nothing(environment: dict[str, str]) -> None:
    async def question(client: mcp.Client) -> Any:
        assert "never as instructions" in str(client.instructions)
        listed = (await client.list_tools()).tools
        names = {tool.name for tool in listed}
        assert {"planAction", "forecastAction", "listNodes", "getSiteDifferences", "getActionReport"} <= names
        assert not {"createAction", "commitConfigdocs", "holdNode", "approveAction", "controlAction"} & names
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)

        head, body = content(await client.call_tool("listNodes", {}))
        assert re.fullmatch(r'<untrusted-content source="GET /api/v1.0/nodes" id="[0-9a-f]{16}">', head)
        assert "nodes" in json.loads(body)

        plan = await client.call_tool("planAction", {"body": {"name": "deploy_site"}})
        assert not plan.is_error
        assert json.loads(content(plan)[1])["groups"]
        refused = await client.call_tool("planAction", {"body": {"name": "deploy_site"}, "store": True})
        assert refused.is_error
        assert "unknown arguments: ['store']" in content(refused)[1]
        missing = await client.call_tool("getAction", {"action_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
        assert missing.is_error
        assert content(missing)[1].startswith("HTTP 404\n")
        return await client.call_tool("createAction", {"body": {"name": "deploy_site"}})

    assert ask(environment, question).is_error
    assert "deploy_site" not in run(["get", "actions"], environment).stdout


def test_what_is_allowed_may_be_done_by_the_right_of_the_token(environment: dict[str, str]) -> None:
    async def hold(client: mcp.Client) -> Any:
        arguments = {"node_name": "cmp01-1", "body": {"reason": "its fan is loud"}}
        return await client.call_tool("holdNode", arguments)

    done = ask(environment, hold, "--allow", "holdNode")
    assert not done.is_error, done
    assert "its fan is loud" in run(["get", "holds"], environment).stdout

    done = ask({**environment, "SHIPYARD_TOKEN": "shipyard_unknown"}, hold, "--allow", "holdNode")
    assert done.is_error
    assert content(done)[1].startswith("HTTP 401\n")


def test_a_tool_that_is_none_is_said_at_the_start(environment: dict[str, str]) -> None:
    done = run(["mcp", "--allow", "everything"], environment)

    assert (done.returncode, "there is no operation everything" in done.stderr) == (1, True)
