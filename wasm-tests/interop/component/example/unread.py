"""
Ends streams of the example whose clients read nothing. Exits with an error if one is still open
after ten seconds.
"""

import asyncio
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[4]
sys.path.append(str(ROOT / "examples" / "python-component"))

from component import Core, record
from streams import Streams, clock

core = Core(str(ROOT / ".build" / "component" / "mcp-listen.wasm"))


async def ends_after_a_keep_alive():
    """Nothing is published: the keep-alive is all that is pending."""
    streams = Streams(core, stall_ms=100)
    await ended(streams, unread(streams, keep_alive=50))


async def ends_with_a_disconnect():
    streams = Streams(core, stall_ms=0)
    serving = unread(streams, keep_alive=0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    streams.publish('{"kind":"disconnect","principal":"ann"}')
    await ended(streams, serving)


async def ended(streams, serving):
    await asyncio.wait_for(serving, 10)
    if len(streams) > 0:
        raise AssertionError("the stream is still held")


def unread(streams, keep_alive):
    """Serves a stream of ann to a connection that takes no bytes."""

    async def never(*_):
        await asyncio.Event().wait()

    scope = json.dumps({"principals": ["ann"]})
    options = record(allowed=None, scope=scope, keep_alive=keep_alive)
    serving = streams.serve(opened(options), never, never)
    return asyncio.ensure_future(serving)


def opened(options):
    service = record(origins=[], hosts=None, limits=None, holds_streams=True, legacy="stateless")
    service = core.call("exchange", "[static]service.create", service)
    capabilities = json.dumps({"tools": {"listChanged": True}})
    discovered = core.call("exchange", "[static]discovered.declared", capabilities, None)
    begin = ("POST", "http://localhost/mcp", FIELDS, True)
    exchange = core.call("exchange", "[method]service.begin", service, *begin)

    def call(name, *arguments):
        return core.call("exchange", f"[method]exchange.{name}", exchange, *arguments)

    call("poll")
    call("handle-body", json.dumps(LISTEN).encode())
    call("poll")
    call("handle-caller", "ann")
    call("poll")
    return call("open", discovered, options, clock())


FIELDS = [
    ("host", "localhost"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-method", "subscriptions/listen"),
    ("mcp-protocol-version", "2026-07-28"),
]
META = "io.modelcontextprotocol/"
LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "_meta": {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}},
        "notifications": {"toolsListChanged": True},
    },
}

asyncio.run(globals()[sys.argv[1]]())
