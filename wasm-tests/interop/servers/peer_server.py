"""
A server of the official Python SDK over HTTP, on the port that is its first argument; its tool
notifies both revisions that the list of tools and the resource note://a have changed, sessions once
they have subscribed. With the argument `stateless` it keeps no sessions.
"""

import enum
import functools
import sys

from mcp.server import NotificationOptions, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.session import ServerSession
from mcp.types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams
from pydantic import BaseModel

server = MCPServer("python-peer")
subscribers: dict[str, ServerSession] = {}


@server.resource("note://a")
def note() -> str:
    return "a"


@server.tool()
async def touch(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    await ctx.notify_resource_updated("note://a")
    for uri, session in subscribers.items():
        await session.send_tool_list_changed()
        await session.send_resource_updated(uri)
    return "touched"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    unit: str | None = None


@server.tool()
def draw(
    color: Color, at: Point, width: int | str, title: str | None, note: str | None = None
) -> str:
    return f"{color.value} at {at.x} {at.unit}, {width!r} {title!r} {note!r}"


async def subscribe(ctx: ServerRequestContext, params: SubscribeRequestParams) -> EmptyResult:
    subscribers[str(params.uri)] = ctx.session
    return EmptyResult()


async def unsubscribe(_: ServerRequestContext, params: UnsubscribeRequestParams) -> EmptyResult:
    subscribers.pop(str(params.uri), None)
    return EmptyResult()


# The server beneath MCPServer declares the changes of 2025, and handles its subscriptions.
beneath = server._lowlevel_server
declared = NotificationOptions(tools_changed=True)
beneath.create_initialization_options = functools.partial(
    beneath.create_initialization_options, declared
)
beneath.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
beneath.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)

port = int(sys.argv[1])
server.run("streamable-http", host="127.0.0.1", port=port, stateless_http="stateless" in sys.argv)
