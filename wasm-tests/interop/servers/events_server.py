"""
A server of mcp-webhook-events over HTTP, with the event type `noted`. Its arguments are its port
and the file for its subscriptions. POST /mcp/notify publishes an occurrence; the body has its
topic, its id and its text, which may be empty.

Its clock is ten times as fast as the system's: the package repeats a refused delivery after 30
seconds, and here after three.
"""

import sys
import threading
import time

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp_webhook_events import EventDefinition, McpEvents, SafeHttp
from starlette.requests import Request
from starlette.responses import Response

port, store = sys.argv[1:]
server = MCPServer("python-events")
started_at = time.time()

events = McpEvents(
    server,
    store,
    [
        EventDefinition(
            name="noted",
            description="Something was noted about a topic.",
            input_schema={"type": "object", "properties": {"topic": {"type": "string"}}},
            payload_schema={"type": "object"},
        )
    ],
    principal=lambda context: context.request.headers.get("authorization", "anonymous"),
    http=SafeHttp(allow_insecure_for_tests=True),
    clock=lambda: started_at + 10 * (time.time() - started_at),
)
events.install()


@server.custom_route("/mcp/notify", methods=["POST"])
async def notify(request: Request) -> Response:
    topic, event_id, text = await request.json()
    data = {"topic": topic, "text": text}
    await anyio.to_thread.run_sync(lambda: events.publish("noted", data, event_id=event_id))
    return Response()


def deliver() -> None:
    """Delivers what is due, which the package leaves to the application."""
    while True:
        events.deliver_pending()
        time.sleep(0.05)


threading.Thread(target=deliver, daemon=True).start()
server.run(
    "streamable-http", host="127.0.0.1", port=int(port), stateless_http=True, json_response=True
)
