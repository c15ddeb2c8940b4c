"""
An MCP server of the official Python SDK; `python sdk_server.py` starts it. A gateway has its
streams.
"""

import os

from gateway_bus import GatewayBus
from mcp.server.mcpserver import Context, MCPServer

lamp = MCPServer("lamp", subscriptions=GatewayBus())
state = {"text": "off"}


@lamp.resource("lamp://desk")
def desk() -> str:
    return state["text"]


@lamp.tool()
async def switch(ctx: Context) -> str:
    state["text"] = "on" if state["text"] == "off" else "off"
    await ctx.notify_resource_updated("lamp://desk")
    return "Switched."


lamp.run(
    "streamable-http",
    host="127.0.0.1",
    port=int(os.environ.get("PORT", "8000")),
    stateless_http=True,
)
