"""A lamp with live notifications: a server of the official Python SDK behind `Listen`.

python server.py PORT [KEEP_ALIVE_MS [STALL_MS]], with the component at
.build/component/mcp-listen.wasm.
"""

import asyncio
import contextlib
import json
import pathlib
import sys

import uvicorn
from component import Core
from listen import Listen
from mcp.server.mcpserver import MCPServer

ROOT = pathlib.Path(__file__).parents[2]
lamp = {"is_on": False}
server = MCPServer("lamp")


@server.resource("lamp://desk")
def desk() -> str:
    return "on" if lamp["is_on"] else "off"


@server.tool()
async def switch() -> str:
    lamp["is_on"] = not lamp["is_on"]
    changed(["lamp://desk"])
    return desk()


@server.tool()
async def announce(uris: list[str], times: int = 1) -> str:
    for _ in range(times):
        changed(uris)
        await asyncio.sleep(0)
    return "announced"


@server.tool()
async def streams() -> str:
    return str(len(listening.streams))


def changed(uris):
    """Publishes that resources have changed."""
    events = [{"kind": "resource_updated", "uri": uri} for uri in uris]
    listening.streams.publish(*map(json.dumps, events))


CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
core = Core(str(ROOT / ".build" / "component" / "mcp-listen.wasm"))
times = map(int, sys.argv[2:])
behind = server.streamable_http_app(stateless_http=True)
listening = Listen(behind, core, json.dumps(CAPABILITIES), *times)


class Server(uvicorn.Server):
    """Ends the streams with their results before uvicorn waits for them."""

    async def shutdown(self, sockets=None):
        listening.streams.close()
        await super().shutdown(sockets)


with contextlib.suppress(KeyboardInterrupt):
    # A client that reads nothing takes no end either, so the wait for responses has a limit.
    limits = {"timeout_graceful_shutdown": 10}
    config = uvicorn.Config(listening, port=int(sys.argv[1]), log_level="warning", **limits)
    Server(config).run()
