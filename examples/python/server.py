"""An MCP server of the official Python SDK; `python server.py` starts it. A gateway watches it."""

import os

from mcp.server.mcpserver import Context, MCPServer

lamp = MCPServer("lamp")
state = {"text": "off"}


@lamp.resource("lamp://desk")
def desk() -> str:
    return state["text"]


@lamp.tool()
async def switch(ctx: Context) -> str:
    state["text"] = "on" if state["text"] == "off" else "off"
    await ctx.notify_resource_updated("lamp://desk")
    return state["text"]


lamp.run("streamable-http", host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
