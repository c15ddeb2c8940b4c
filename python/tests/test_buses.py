import asyncio
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import nats
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from nats.aio.client import Client
from nats.errors import FlushTimeoutError
from redis.asyncio import Redis

from mcp_listen_bus import BusError, ProcessBus
from mcp_listen_bus.nats import NatsBus
from mcp_listen_bus.redis import RedisBus

from brokers import (
    KNOWN,
    NATS_URL,
    PLAIN_NATS_URL,
    REDIS_URL,
    corpus,
    eventually,
    publish_corpus,
    quiet,
)

PLACES = corpus("places")
OCCURRENCES = corpus("occurrences")
MAKERS: dict[str, Callable[[str], ProcessBus]] = {
    "Redis": lambda name: RedisBus(REDIS_URL, bus=name, on_error=quiet),
    "JetStream": lambda name: NatsBus(NATS_URL, bus=name, on_error=quiet),
    "NATS": lambda name: NatsBus(PLAIN_NATS_URL, bus=name, on_error=quiet),
}


class Buses(unittest.IsolatedAsyncioTestCase):
    def client(self) -> Any:
        client = Redis.from_url(REDIS_URL, decode_responses=True)
        self.addAsyncCleanup(client.aclose)
        return client

    def make(self, broker: str, name: str) -> ProcessBus:
        bus = MAKERS[broker](name)
        self.addAsyncCleanup(bus.aclose)
        return bus

    async def test_changes_reach_the_listeners_of_every_process_in_order(self) -> None:
        for broker in MAKERS:
            here, there = self.make(broker, "order"), self.make(broker, "order")
            received: list[ServerEvent] = []
            leave = there.subscribe(received.append)
            await here.ready()
            await there.ready()
            received.clear()
            changes = [ResourceUpdated(uri=f"note://{number}") for number in range(100)]
            for change in changes:
                await here.publish(change)
            await eventually(lambda: len(received) == len(changes))
            self.assertEqual(received, changes, broker)
            leave()
            leave()

    async def test_a_subscription_that_is_not_confirmed_in_time_is_given_up(self) -> None:
        flush, failures = Client.flush, iter(range(2))

        async def late(client: Client, timeout: int = 10) -> None:
            if next(failures, None) is not None:
                raise FlushTimeoutError
            await flush(client, timeout)

        with unittest.mock.patch.object(Client, "flush", late):
            bus = self.make("NATS", "late")
            received: list[ServerEvent] = []
            bus.subscribe(received.append)
            await bus.ready()
            received.clear()
            await bus.publish(ToolsListChanged())
            await eventually(lambda: len(received) > 0)
            await asyncio.sleep(0.2)
            self.assertEqual(received, [ToolsListChanged()])

    async def test_a_listener_of_before_the_connection_receives_every_list(self) -> None:
        for broker in MAKERS:
            bus = self.make(broker, "early")
            received: list[ServerEvent] = []
            bus.subscribe(received.append)
            await bus.ready()
            self.assertEqual(
                received, [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]
            )

    async def test_a_raising_listener_does_not_keep_the_others_from_receiving(self) -> None:
        bus = self.make("Redis", "raising")
        received: list[ServerEvent] = []
        await bus.ready()
        bus.subscribe(raising)
        bus.subscribe(received.append)
        with self.assertLogs("mcp_listen_bus"):
            await bus.publish(ToolsListChanged())
            await eventually(lambda: received == [ToolsListChanged()])

    async def test_a_closed_bus_publishes_nothing(self) -> None:
        for broker in MAKERS:
            async with MAKERS[broker]("closed") as bus:
                await bus.publish(ToolsListChanged())
            with self.assertRaises(BusError):
                await bus.publish(ToolsListChanged())

    async def test_a_raising_on_error_does_not_end_the_bus(self) -> None:
        bus = RedisBus(REDIS_URL, bus="raising-on-error", on_error=raising)
        self.addAsyncCleanup(bus.aclose)
        received: list[ServerEvent] = []
        await bus.ready()
        bus.subscribe(received.append)
        client = self.client()
        with self.assertLogs("mcp_listen_bus") as logs:
            await client.set("{raising-on-error}:number", "1")
            await client.xadd("raising-on-error", {"number": "1", "events": "nonsense"})
            await eventually(lambda: len(logs.records) > 0)
            await bus.publish(ToolsListChanged())
            await eventually(lambda: len(received) > 0)
        self.assertEqual(
            [record.message for record in logs.records], ["on_error of the bus raised"]
        )
        self.assertEqual(received, [ToolsListChanged()])

    async def test_a_bus_that_is_closed_is_never_ready(self) -> None:
        bus = RedisBus("redis://127.0.0.1:1", on_error=quiet)
        waiting = asyncio.ensure_future(bus.ready())
        await asyncio.sleep(0.1)
        await bus.aclose()
        for ready in (waiting, bus.ready()):
            with self.assertRaisesRegex(BusError, "the bus is closed"):
                await asyncio.wait_for(ready, 1)

    async def test_a_broker_that_is_away_is_reported_once(self) -> None:
        errors: list[str] = []
        bus = RedisBus("redis://127.0.0.1:1", on_error=lambda error: errors.append(str(error)))
        self.addAsyncCleanup(bus.aclose)
        bus.subscribe(quiet_event)
        with self.assertRaises(BusError):
            await bus.publish(ToolsListChanged())
        await eventually(lambda: len(errors) == 1)
        self.assertEqual(errors, ["the broker of the bus is unavailable"])

    async def test_redis_has_what_the_corpus_says(self) -> None:
        await publish_corpus(self.make("Redis", PLACES["bus"]))
        client = self.client()
        at = PLACES["redis"]
        entries = [tuple(fields.items()) for _, fields in await client.xrange(at["stream"])]
        texts = [text for text, _ in KNOWN]
        self.assertEqual(
            entries, [(("number", f"{n + 1}"), ("events", text)) for n, text in enumerate(texts)]
        )
        self.assertEqual(await client.get(at["counter"]), f"{len(texts)}")
        log = [tuple(fields.items()) for _, fields in await client.xrange(at["log"])]
        expected = [
            (("number", f"{n + 1}"), ("name", case["event"]), ("event", case["text"]))
            for n, case in enumerate(OCCURRENCES)
        ]
        self.assertEqual(log, expected)
        state = await client.hgetall(at["state"])
        bytes_in_all = sum(len(case["text"].encode()) for case in OCCURRENCES)
        self.assertEqual(
            (state["number"], state["bytes"]), (f"{len(OCCURRENCES)}", f"{bytes_in_all}")
        )

    async def test_redis_notes_what_leaves_the_log(self) -> None:
        bus = RedisBus(REDIS_URL, bus="window", events_bytes=1, on_error=quiet)
        self.addAsyncCleanup(bus.aclose)
        self.assertEqual([(await bus.emit("paid", {})).position for _ in range(2)], [1, 2])
        client = self.client()
        self.assertEqual(await client.hgetall("{window}:events:trimmed"), {"paid": "1"})
        # The newest occurrence stays, although it alone exceeds the bytes.
        kept = [fields["number"] for _, fields in await client.xrange("{window}:events")]
        self.assertEqual(kept, ["2"])
        state = await client.hgetall("{window}:events:state")
        self.assertGreater(int(state["bytes"]), 1)

    async def test_jetstream_has_what_the_corpus_says(self) -> None:
        await publish_corpus(self.make("JetStream", PLACES["bus"]))
        client = await nats.connect(NATS_URL)
        self.addAsyncCleanup(client.close)
        at = PLACES["nats"]
        texts = {
            at["subject"]: [text for text, _ in KNOWN],
            at["log"]: [case["text"] for case in OCCURRENCES],
        }
        for name, expected in texts.items():
            kept = [await client.jetstream().get_msg(name, n + 1) for n in range(len(expected))]
            self.assertEqual([(message.data or b"").decode() for message in kept], expected)

    async def test_nats_without_jetstream_carries_what_the_corpus_says(self) -> None:
        client = await nats.connect(PLAIN_NATS_URL)
        self.addAsyncCleanup(client.close)
        subscription = await client.subscribe(PLACES["nats"]["subject"])
        await client.flush()
        await publish_corpus(self.make("NATS", PLACES["bus"]))
        expected = [text for text, _ in KNOWN] + [case["text"] for case in OCCURRENCES]
        received = [(await subscription.next_msg(timeout=5)).data.decode() for _ in expected]
        self.assertEqual(received, expected)


def raising(_: object) -> None:
    raise RuntimeError("deliberate")


def quiet_event(_: ServerEvent) -> None:
    """Ignores a change."""
