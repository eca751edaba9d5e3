"""``shipyard mcp``: a server of the Model Context Protocol on stdin and stdout, a client of the REST API."""

import json
from typing import TYPE_CHECKING, Any

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shipyard_api.cli.mcp_tools import Tool


@click.command(
    short_help="Serve the API's reading operations as tools for a model (MCP).",
    epilog=examples("shipyard mcp", "shipyard mcp --allow holdNode --allow releaseHold"),
)
@click.option("--allow", "allowed", multiple=True, metavar="TOOL", help="Also offer this operation. (repeatable)")
@click.pass_obj
def mcp(options: GlobalOptions, /, allowed: tuple[str, ...]) -> None:
    """Serve tools by the Model Context Protocol on stdin and stdout, for a program that has a language model.

    The tools are the reading operations of the server, named as in its OpenAPI document. Nothing starts, approves or
    changes anything unless --allow names it; then the rights of your token decide.
    """
    from shipyard_api.cli.mcp_tools import UnknownTool, tools

    try:
        import anyio
        import mcp.server.stdio  # noqa: F401  # with it, the extra is whole
    except ImportError as error:
        raise click.ClickException("install mcp, which shipyard[mcp] brings") from error
    try:
        api = Api(options, base="")
        answer = api.get("openapi.json")
        offered = tools(json.loads(answer.text), allowed)
    except (ApiError, UnknownTool) as error:
        raise click.ClickException(str(error).removeprefix("Error: ")) from error
    except (ValueError, LookupError) as error:
        raise click.ClickException("the server has no OpenAPI document at /openapi.json") from error
    anyio.run(_serve, api, offered)


async def _serve(api: Api, offered: "Mapping[str, Tool]") -> None:
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from shipyard_api.cli.mcp_tools import INSTRUCTIONS

    async def listed(_context: Any, _parameters: Any) -> Any:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.schema),
                    annotations=types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=not tool.reads),
                )
                for tool in offered.values()
            ]
        )

    async def called(_context: Any, call: Any) -> Any:
        text, failed = await anyio.to_thread.run_sync(_called, api, offered.get(call.name), call.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    server: Any = Server("shipyard", instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def _called(api: Api, tool: "Tool | None", arguments: "Mapping[str, Any]") -> tuple[str, bool]:
    """Return the text of a tool's answer, and whether it is an error."""
    from shipyard_api.cli.mcp_tools import untrusted

    if tool is None:
        return "There is no such tool.", True
    try:
        request = tool.request(arguments)
        if isinstance(request.body, str):
            answer = api.post(request.path, request.query, yaml=request.body.encode())
        elif request.method == "POST" and not tool.reads:
            answer = api.post_once(request.path, request.query, json=request.body)
        else:
            answer = api.request(request.method, request.path, request.query, json=request.body)
    except (ValueError, ApiError) as error:
        return untrusted(str(error), "an error"), True
    status = "" if answer.status < 300 else f"HTTP {answer.status}\n"
    return untrusted(status + answer.text, f"{request.method} {request.path}"), answer.status >= 300
