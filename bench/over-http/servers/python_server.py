"""
The official Python SDK on uvicorn: streams at /mcp, changes of resources published by POST
/publish.
"""

import asyncio

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from starlette.requests import Request
from starlette.responses import Response

bus = InMemorySubscriptionBus()
server = MCPServer(name="bench", version="1.0.0", subscriptions=bus, log_level="ERROR")


@server.custom_route("/publish", methods=["POST"])
async def publish(request: Request) -> Response:
    """Publishes one change after another, as a tool's handler would."""
    for uri in (await request.json())["uris"]:
        await bus.publish(ResourceUpdated(uri=uri))
    return Response()


async def main() -> None:
    """Serves on any free port and says which."""
    config = uvicorn.Config(
        server.streamable_http_app(), host="127.0.0.1", port=0, log_level="error"
    )
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.01)
    print(running.servers[0].sockets[0].getsockname()[1], flush=True)
    await serving


asyncio.run(main())
