"""
A server of the official Python SDK on a bus. Its arguments are its port, `redis` or `nats`, and the
port of the broker. Its tools publish a change of a resource, and an occurrence of MCP Events.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.mcpserver import Context, MCPServer
from mcp_listen_bus import BusError
from mcp_listen_bus.nats import NatsBus
from mcp_listen_bus.redis import RedisBus


def quiet(_: BusError) -> None:
    """The test ends the broker."""


port, kind, broker = sys.argv[1:]
makers = {"redis": RedisBus, "nats": NatsBus}
bus = makers[kind](f"{kind}://127.0.0.1:{broker}", on_error=quiet)


@asynccontextmanager
async def lifespan(_: MCPServer) -> AsyncIterator[None]:
    async with bus:
        yield


server = MCPServer("python-bus", subscriptions=bus, lifespan=lifespan)


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.tool()
async def pay(number: int) -> str:
    receipt = await bus.emit("paid", {"number": number}, event_id=f"{number}")
    return receipt.event_id


server.run("streamable-http", host="127.0.0.1", port=int(port), stateless_http=True)
