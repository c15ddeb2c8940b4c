import unittest
from collections.abc import Callable

from mcp.server.subscriptions import ResourceUpdated, ServerEvent

from mcp_listen_bus import ProcessBus
from mcp_listen_bus.nats import NatsBus
from mcp_listen_bus.redis import RedisBus

from brokers import NATS_URL, REDIS_URL, eventually
from link import Link

BROKERS: dict[str, tuple[str, Callable[..., ProcessBus]]] = {
    "Redis": (REDIS_URL, RedisBus),
    "JetStream": (NATS_URL, NatsBus),
}


class Replays(unittest.IsolatedAsyncioTestCase):
    async def test_what_others_publish_while_the_connection_is_lost_is_received_afterwards(
        self,
    ) -> None:
        for broker, (url, make) in BROKERS.items():
            with self.subTest(broker):
                await self.replay(url, make)

    async def replay(self, url: str, make: Callable[..., ProcessBus]) -> None:
        link, errors, received = Link(url), list[str](), list[ServerEvent]()
        await link.open()
        self.addAsyncCleanup(link.cut)
        bus = make(link.url, bus="replay", on_error=lambda error: errors.append(str(error)))
        self.addAsyncCleanup(bus.aclose)
        other = make(url, bus="replay")
        self.addAsyncCleanup(other.aclose)
        bus.subscribe(received.append)
        await bus.ready()
        received.clear()
        changes: list[ServerEvent] = [
            ResourceUpdated(uri=f"note://{number}") for number in range(5)
        ]
        await other.publish(changes[0])
        await eventually(lambda: len(received) == 1)
        await link.cut()
        await eventually(lambda: not bus._live.is_set())
        for change in changes[1:4]:
            await other.publish(change)
        self.assertEqual(received, changes[:1])
        await link.open()
        await eventually(lambda: bus._live.is_set() and len(received) >= 4)
        await other.publish(changes[4])
        await eventually(lambda: len(received) >= 5)
        self.assertEqual(received, changes)
        self.assertNotIn("listeners may have missed changes", errors)
