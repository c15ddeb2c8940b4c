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
from redis.exceptions import BusyLoadingError

from mcp_listen_bus.redis import RedisBus

from brokers import REDIS_URL, eventually, quiet
from link import Link


class RedisBuses(unittest.IsolatedAsyncioTestCase):
    async def test_another_server_is_a_gap_even_if_it_is_still_loading_at_first(self) -> None:
        link = Link(REDIS_URL)
        await link.open()
        self.addAsyncCleanup(link.cut)
        bus = RedisBus(link.url, bus="loading", on_error=quiet)
        self.addAsyncCleanup(bus.aclose)
        received: list[ServerEvent] = []
        bus.subscribe(received.append)
        await bus.ready()
        received.clear()
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
