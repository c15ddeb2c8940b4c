import asyncio
import time
import unittest
import unittest.mock
from functools import partial
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
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from nats.js.errors import ServiceUnavailableError

from mcp_listen_bus import BusError
from mcp_listen_bus.nats import NatsBus

from backup import Backup
from brokers import NATS_URL, PLAIN_NATS_URL, eventually, quiet
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

    async def client(self) -> Client:
        client = await nats.connect(NATS_URL)
        self.addAsyncCleanup(client.close)
        return client

    async def test_a_gap_is_not_forgotten_when_subscribing_fails(self) -> None:
        link, errors = await self.link(NATS_URL), list[str]()
        bus = self.make(
            link.url, "gap", log_events=2, on_error=lambda error: errors.append(str(error))
        )
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

    async def test_a_publish_that_the_server_refuses_raises(self) -> None:
        bus = self.make(PLAIN_NATS_URL, "notebook", user="reader", password="reader")
        await bus.ready()
        for publish in (bus.publish, bus.publish):
            with self.assertRaises(BusError):
                await publish(ToolsListChanged())
        with self.assertRaises(BusError):
            await bus.emit("order.paid", {})

    async def test_a_publish_that_is_cancelled_leaves_the_connection_as_it_is(self) -> None:
        bus = self.make(PLAIN_NATS_URL, "cancelled")
        received: list[ServerEvent] = []
        bus.subscribe(received.append)
        await bus.ready()
        for turns in range(20):
            publish = asyncio.ensure_future(bus.publish(ToolsListChanged()))
            for _ in range(turns):
                await asyncio.sleep(0)
            publish.cancel()
            change = ResourceUpdated(uri=f"note://{turns}")
            await bus.publish(change)
            await eventually(partial(received.__contains__, change))

    async def test_a_bus_that_may_not_subscribe_is_not_ready_and_says_why(self) -> None:
        errors = list[BusError]()
        bus = self.make(
            PLAIN_NATS_URL, "notebook", user="writer", password="writer", on_error=errors.append
        )
        bus.subscribe(lambda _: None)
        await bus.publish(ToolsListChanged())
        await eventually(lambda: len(errors) > 0)
        self.assertIn('subscription to "notebook"', repr(errors[0].__cause__))
        self.assertFalse(bus._live.is_set())

    async def test_errors_of_the_client_are_logged_unless_the_caller_handles_them(self) -> None:
        handled = list[Exception]()

        async def handle(error: Exception) -> None:
            handled.append(error)

        reader = {"user": "reader", "password": "reader"}
        bus = self.make(PLAIN_NATS_URL, "logged", **reader)
        with self.assertLogs("mcp_listen_bus", "ERROR") as logs:
            await self.publish_refused(bus)
            await eventually(lambda: len(logs.output) > 0)
        self.assertIn('publish to "notebook"', logs.output[0])
        with self.assertNoLogs("mcp_listen_bus"):
            await self.publish_refused(
                self.make(PLAIN_NATS_URL, "handled", error_cb=handle, **reader)
            )
            await eventually(lambda: len(handled) == 1)

    async def test_a_refused_publish_is_raised_and_not_logged(self) -> None:
        bus = self.make(PLAIN_NATS_URL, "notebook", user="reader", password="reader")
        with self.assertNoLogs("mcp_listen_bus"), self.assertRaises(BusError):
            await bus.publish(ToolsListChanged())

    async def publish_refused(self, bus: NatsBus) -> None:
        """Publishes with the connection of a bus on a subject that is not that of the bus."""
        await bus.ready()
        assert bus._client is not None
        await bus._client.publish("notebook", b"")
        await bus._client.flush()

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
            client = await self.client()
            await client.jetstream().delete_stream("again")
            await client.jetstream().add_stream(StreamConfig(name="again", subjects=["again"]))
            await client.jetstream().publish("again", b'{"kind":"prompts_list_changed"}')
            await eventually(lambda: len(received) >= 3)
            self.assertEqual(received, EVERY_LIST)

    async def test_a_stream_that_is_restored_while_it_is_followed_is_a_gap(self) -> None:
        bus, client, received = (
            self.make(NATS_URL, "restored"),
            await self.client(),
            list[ServerEvent](),
        )
        await bus.publish(ToolsListChanged())
        backup = await Backup.of(client, "restored")
        bus.subscribe(received.append)
        await bus.ready()
        await bus.publish(ToolsListChanged())
        await eventually(lambda: len(received) == 4)
        received.clear()
        await backup.restore(client)
        with unittest.mock.patch("mcp_listen_bus.nats.CHECK_SECONDS", 0.1):
            await eventually(lambda: len(received) >= 3)
        self.assertEqual(received, EVERY_LIST)

    async def test_numbers_that_a_restored_stream_gives_out_again_are_a_gap(self) -> None:
        link, client, received = await self.link(NATS_URL), await self.client(), list[ServerEvent]()
        bus, other = self.make(link.url, "numbers"), self.make(NATS_URL, "numbers")
        await other.publish(ToolsListChanged())
        backup = await Backup.of(client, "numbers")
        bus.subscribe(received.append)
        await bus.ready()
        await other.publish(ToolsListChanged())
        await eventually(lambda: len(received) == 4)
        received.clear()
        await link.cut()
        await backup.restore(client)
        for change in (PromptsListChanged(), ResourcesListChanged()):
            await other.publish(change)
        await link.open()
        await eventually(lambda: ResourcesListChanged() in received)
        await asyncio.sleep(0.1)
        self.assertEqual(received[:3], EVERY_LIST)

    async def test_a_restored_stream_whose_messages_the_client_delivers_by_itself_is_a_gap(
        self,
    ) -> None:
        self.enterContext(unittest.mock.patch.object(NatsBus, "_is_check_due", never_checks))
        bus, client, received = (
            self.make(NATS_URL, "itself"),
            await self.client(),
            list[ServerEvent](),
        )
        await bus.publish(ToolsListChanged())
        backup = await Backup.of(client, "itself")
        bus.subscribe(received.append)
        await bus.ready()
        await bus.publish(ToolsListChanged())
        await eventually(lambda: len(received) == 4)
        received.clear()
        await backup.restore(client)
        await client.jetstream().publish("itself", b'{"kind":"prompts_list_changed"}')
        messages = await client.jetstream().subscribe("itself", ordered_consumer=True)
        assert bus._cursor is not None
        for _ in range(2):
            await bus._on_kept(bus._cursor, await messages.next_msg(timeout=10))
        self.assertEqual(received, [*EVERY_LIST, PromptsListChanged()])

    async def test_messages_that_left_the_stream_unreceived_are_a_gap_without_another_message(
        self,
    ) -> None:
        # By the interval, and because the event loop stood still as in a process that is suspended.
        for name, interval, stillness in (("interval", 0.1, 0), ("suspended", 1_000, 2.5)):
            received = list[ServerEvent]()
            with unittest.mock.patch("mcp_listen_bus.nats.CHECK_SECONDS", interval):
                with unittest.mock.patch.object(NatsBus, "_on_kept", unittest.mock.AsyncMock()):
                    bus = self.make(NATS_URL, name)
                    bus.subscribe(received.append)
                    await bus.ready()
                received.clear()
                await bus.publish(ToolsListChanged())
                await (await self.client()).jetstream().purge_stream(name)
                time.sleep(stillness)
                await eventually(lambda: len(received) >= 3)
                self.assertEqual(received, EVERY_LIST, name)

    async def test_a_message_that_left_the_stream_during_a_short_absence_is_no_gap(self) -> None:
        link, received = await self.link(NATS_URL), list[ServerEvent]()
        bus, other = self.make(link.url, "left"), self.make(NATS_URL, "left")
        bus.subscribe(received.append)
        await bus.ready()
        await other.publish(ToolsListChanged())
        await eventually(lambda: len(received) == 4)
        received.clear()
        await link.cut()
        await (await self.client()).jetstream().purge_stream("left")
        await other.publish(PromptsListChanged())
        await link.open()
        await eventually(lambda: len(received) > 0)
        await asyncio.sleep(0.1)
        self.assertEqual(received, [PromptsListChanged()])

    async def test_a_nats_that_is_away_at_the_start_is_reported_once(self) -> None:
        link, errors = await self.link(PLAIN_NATS_URL), list[BusError]()
        await link.cut()
        # No attempt to connect has failed by then.
        with unittest.mock.patch("mcp_listen_bus.nats.REPORT_SECONDS", 0):
            bus = self.make(link.url, "away", on_error=errors.append)
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(bus.ready(), 1)
            await eventually(lambda: len(errors) > 0)
            self.assertEqual(
                [str(error) for error in errors], ["the broker of the bus is unavailable"]
            )
            self.assertIsInstance(errors[0].__cause__, OSError)
            await link.open()
            await bus.ready()
            await link.cut()
            await eventually(lambda: len(errors) == 2)

    async def test_a_publish_that_failed_during_an_outage_is_never_sent(self) -> None:
        # The second one loses the connection after it waited for it.
        for url in (NATS_URL, PLAIN_NATS_URL):
            for waits in (NatsBus._reconnected, NatsBus._connected):
                with unittest.mock.patch.object(NatsBus, "_reconnected", waits):
                    await self.fail_during_an_outage(url)

    async def fail_during_an_outage(self, url: str) -> None:
        link, received = await self.link(url), list[ServerEvent]()
        bus, there = self.make(link.url, "outage"), self.make(url, "outage")
        there.subscribe(received.append)
        await there.ready()
        await bus.publish(ToolsListChanged())
        await eventually(lambda: received[-1] == ToolsListChanged())
        await link.cut()
        received.clear()
        with unittest.mock.patch("mcp_listen_bus.bus.PUBLISH_SECONDS", 0.3):
            with self.assertRaises(BusError):
                await bus.publish(PromptsListChanged())
        await link.open()
        await eventually(lambda: link.connections > 0)
        await there.publish(ResourcesListChanged())
        await eventually(lambda: ResourcesListChanged() in received)
        await asyncio.sleep(0.1)
        self.assertEqual(received, [ResourcesListChanged()], url)

    async def test_a_publish_waits_until_nats_is_back(self) -> None:
        self.enterContext(unittest.mock.patch("mcp_listen_bus.bus.PUBLISH_SECONDS", 30))
        for url in (NATS_URL, PLAIN_NATS_URL):
            link = await self.link(url)
            bus = self.make(link.url, "back")
            await bus.publish(ToolsListChanged())
            await link.cut()
            publish = asyncio.ensure_future(bus.publish(PromptsListChanged()))
            await asyncio.sleep(0.3)
            self.assertFalse(publish.done(), url)
            await link.open()
            await publish

    async def test_a_connection_that_is_lost_before_it_receives_is_followed_again_at_once(
        self,
    ) -> None:
        link, flush, sent = await self.link(PLAIN_NATS_URL), Client.flush, asyncio.Event()

        async def patient(client: Client, _: int = 10) -> None:
            first = not sent.is_set()
            sent.set()
            await flush(client, 1_000 if first else 10)

        with unittest.mock.patch.object(Client, "flush", patient):
            bus = self.make(link.url, "unconfirmed")
            ready = asyncio.ensure_future(bus.ready())
            await sent.wait()
            await link.cut()
            await link.open()
            await asyncio.wait_for(ready, 60)
        received = list[ServerEvent]()
        bus.subscribe(received.append)
        await bus.publish(ToolsListChanged())
        await eventually(lambda: received == [ToolsListChanged()])

    async def test_a_publish_whose_connection_is_lost_before_its_confirmation_fails(self) -> None:
        link, flush, calls = await self.link(PLAIN_NATS_URL), Client.flush, list[Client]()
        bus = self.make(link.url, "confirmation")

        async def cut(client: Client, timeout: int) -> None:
            calls.append(client)
            if len(calls) == 2:
                await link.cut()
            await flush(client, timeout)

        with unittest.mock.patch.object(Client, "flush", cut):
            with self.assertRaises(BusError):
                await bus.publish(ToolsListChanged())
        self.assertEqual(len(calls), 2)

    async def test_a_client_that_the_server_has_closed_is_replaced(self) -> None:
        bus, other, received = (
            self.make(NATS_URL, "expired"),
            self.make(NATS_URL, "expired"),
            list[ServerEvent](),
        )
        bus.subscribe(received.append)
        await bus.ready()
        assert bus._client is not None
        await bus._client._process_err("'User Authentication Expired'")
        received.clear()
        await other.publish(PromptsListChanged())
        await eventually(lambda: PromptsListChanged() in received)
        await bus.publish(ToolsListChanged())
        await eventually(lambda: received[-1] == ToolsListChanged())

    async def test_a_jetstream_that_is_unavailable_for_a_moment_is_used_afterwards(self) -> None:
        error = ServiceUnavailableError(code=503, err_code=10_008)
        bus = self.make(NATS_URL, "moment")
        with unittest.mock.patch.object(JetStreamContext, "account_info", side_effect=error):
            with self.assertRaises(BusError):
                await bus.publish(ToolsListChanged())
        await bus.publish(ToolsListChanged())
        self.assertIsNotNone(bus._jetstream)

    async def test_a_connection_without_the_jetstream_that_is_required_is_closed(self) -> None:
        link = await self.link(PLAIN_NATS_URL)
        bus = self.make(link.url, "required", jetstream=True)
        for _ in range(3):
            with self.assertRaises(BusError):
                await bus.publish(ToolsListChanged())
        await eventually(lambda: link.connections == 0)

    async def test_a_connection_that_opens_after_the_bus_was_closed_is_closed(self) -> None:
        link = await self.link(PLAIN_NATS_URL)
        bus = self.make(link.url, "late")
        publish = asyncio.ensure_future(bus.publish(ToolsListChanged()))
        await asyncio.sleep(0)
        await bus.aclose()
        with self.assertRaises(BusError):
            await publish
        await eventually(lambda: link.connections == 0)


async def never_checks(bus: NatsBus, _: object) -> bool:
    """Replaces `_is_check_due`: only the loss of the connection ends the wait."""
    await bus._lost.wait()
    return False
