import unittest
import unittest.mock
from typing import Any

from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from redis.asyncio import Redis
from redis.exceptions import BusyLoadingError, ConnectionError

from mcp_listen_bus.redis import RedisBus

from brokers import REDIS_URL, eventually, quiet
from link import Link


class RedisBuses(unittest.IsolatedAsyncioTestCase):
    async def follow(self, name: str) -> tuple[Link, RedisBus, list[ServerEvent]]:
        link, received = Link(REDIS_URL), list[ServerEvent]()
        await link.open()
        self.addAsyncCleanup(link.cut)
        bus = RedisBus(link.url, bus=name, on_error=quiet)
        self.addAsyncCleanup(bus.aclose)
        bus.subscribe(received.append)
        await bus.ready()
        received.clear()
        return link, bus, received

    async def test_a_server_that_is_away_when_it_is_asked_who_it_is_is_no_gap(self) -> None:
        link, bus, received = await self.follow("asked")
        execute: Any = Redis.execute_command
        failures = [ConnectionError()]

        async def away(client: Any, *command: Any, **options: Any) -> Any:
            if command[0] == "INFO" and failures:
                raise failures.pop()
            return await execute(client, *command, **options)

        with unittest.mock.patch.object(Redis, "execute_command", away):
            await link.cut()
            await link.open()
            await eventually(lambda: not failures and bus._live.is_set())
        await bus.publish(ToolsListChanged())
        await eventually(lambda: len(received) > 0)
        self.assertEqual(received, [ToolsListChanged()])

    async def test_another_server_is_a_gap_even_if_it_is_still_loading_at_first(self) -> None:
        link, bus, received = await self.follow("loading")
        execute: Any = Redis.execute_command
        failures = iter(range(1))

        async def loading(client: Any, *command: Any, **options: Any) -> Any:
            if command[0] == "GET" and next(failures, None) is not None:
                raise BusyLoadingError
            reply = await execute(client, *command, **options)
            return {**reply, "run_id": "another"} if command[0] == "INFO" else reply

        with unittest.mock.patch.object(Redis, "execute_command", loading):
            await link.cut()
            await link.open()
            await eventually(lambda: bus._server == "another" and bus._live.is_set())
        self.assertEqual(
            received, [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]
        )
