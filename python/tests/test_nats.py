import unittest
import unittest.mock
from typing import Any

import nats
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from mcp_listen_bus.nats import NatsBus

from brokers import NATS_URL, eventually, quiet
from link import Link

EVERY_LIST: list[ServerEvent] = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]


class NatsBuses(unittest.IsolatedAsyncioTestCase):
    async def link(self, url: str) -> Link:
        link = Link(url)
        await link.open()
        self.addAsyncCleanup(link.cut)
        return link

    def make(self, url: str, name: str, **options: Any) -> NatsBus:
        bus = NatsBus(url, bus=name, **{"on_error": quiet, **options})
        self.addAsyncCleanup(bus.aclose)
        return bus

    async def test_a_gap_is_not_forgotten_when_subscribing_fails(self) -> None:
        link, errors = await self.link(NATS_URL), list[str]()
        bus = self.make(link.url, "gap", log_events=2, on_error=lambda error: errors.append(str(error)))
        received: list[ServerEvent] = []
        bus.subscribe(received.append)
        await bus.ready()
        received.clear()
        await link.cut()
        other = self.make(NATS_URL, "gap")
        for _ in range(4):
            await other.publish(ToolsListChanged())
        subscribe, calls = JetStreamContext.subscribe, list[Any]()

        async def failing(*args: Any, **options: Any) -> Any:
            calls.append(args)
            if len(calls) == 1:
                raise TimeoutError
            return await subscribe(*args, **options)

        with unittest.mock.patch.object(JetStreamContext, "subscribe", failing):
            await link.open()
            await eventually(lambda: len(calls) == 2 and bus._live.is_set())
        self.assertEqual(received, EVERY_LIST)
        self.assertIn("listeners may have missed changes", errors)

    async def test_a_stream_that_is_created_again_is_a_gap(self) -> None:
        with unittest.mock.patch("mcp_listen_bus.nats.CHECK_SECONDS", 0.1):
            bus = self.make(NATS_URL, "again")
            received: list[ServerEvent] = []
            bus.subscribe(received.append)
            await bus.ready()
            for _ in range(3):
                await bus.publish(ToolsListChanged())
            await eventually(lambda: len(received) == 6)
            received.clear()
            client = await nats.connect(NATS_URL)
            self.addAsyncCleanup(client.close)
            await client.jetstream().delete_stream("again")
            await client.jetstream().add_stream(StreamConfig(name="again", subjects=["again"]))
            await client.jetstream().publish("again", b'{"kind":"prompts_list_changed"}')
            await eventually(lambda: len(received) >= 3)
            self.assertEqual(received, EVERY_LIST)
