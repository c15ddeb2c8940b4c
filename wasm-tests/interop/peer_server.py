"""A server of the official Python SDK over HTTP; its tool tells both eras that the list of tools changed."""

import socket

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("python-peer")


@server.tool()
async def touch(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "touched"


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

print(port, flush=True)
server.run("streamable-http", host="127.0.0.1", port=port)
