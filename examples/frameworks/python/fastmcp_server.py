"""An MCP server of FastMCP; `python fastmcp_server.py` starts it. A gateway has its streams."""

import os

from fastmcp import FastMCP
from gateway_bus import GatewayBus
from mcp.server.subscriptions import ResourceUpdated

lamp = FastMCP("lamp")
bus = GatewayBus()
state = {"text": "off"}


@lamp.resource("lamp://desk")
def desk() -> str:
    return state["text"]


@lamp.tool
async def switch() -> str:
    state["text"] = "on" if state["text"] == "off" else "off"
    await bus.publish(ResourceUpdated("lamp://desk"))
    return "Switched."


lamp.run(
    "http",
    host="127.0.0.1",
    port=int(os.environ.get("PORT", "8000")),
    stateless_http=True,
    show_banner=False,
)
