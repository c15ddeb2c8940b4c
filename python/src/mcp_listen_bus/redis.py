"""A bus over Redis or Valkey, with the client `redis`."""

import uuid
from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from .bus import BusError, ProcessBus, log_error


class RedisBus(ProcessBus):
    """
    The bus of all processes that use the same Redis (6.2 or later) or Valkey, and the same name.

    `url` is as for `Redis.from_url`, which also takes `settings`. `log_events` is the least number
    of messages that the stream keeps; `events_age_ms` and `events_bytes` limit the log of
    occurrences of MCP Events.
    """

    def __init__(
        self,
        url: str,
        *,
        bus: str = "mcp-listen",
        log_events: int = 10_000,
        events_age_ms: int = 86_400_000,
        events_bytes: int = 67_108_864,
        on_error: Callable[[BusError], None] = log_error,
        **settings: Any,
    ) -> None:
        super().__init__(on_error)
        retry = Retry(NoBackoff(), 0)
        self._settings = {
            "socket_timeout": SILENCE_SECONDS,
            "retry": retry,
            **settings,
            "decode_responses": False,
        }
        self._url = url
        self._writer = Redis.from_url(url, **self._settings)
        self._keys = (bus, f"{{{bus}}}:number")
        self._log_keys = (
            f"{{{bus}}}:events",
            f"{{{bus}}}:events:state",
            f"{{{bus}}}:events:trimmed",
        )
        self._window = str(log_events)
        self._log_window = (str(events_age_ms), str(events_bytes))
        self._id = "0-0"
        self._number = -1
        self._server: str | None = None

    async def _publish(self, message: str) -> None:
        await _run(self._writer, APPEND, self._keys, message, self._window)

    async def _append(self, name: str, occurrence: str) -> int:
        values = (str(uuid.uuid4()), name, occurrence, *self._log_window)
        return int(await _run(self._writer, APPEND_OCCURRENCE, self._log_keys, *values))

    async def _follow(self) -> None:
        reader = Redis.from_url(self._url, **self._settings)
        try:
            self._on_ready(await self._resume(reader))
            while True:
                await self._read(reader)
        finally:
            await reader.aclose()

    async def _close(self) -> None:
        await self._writer.aclose()

    async def _resume(self, reader: Redis) -> bool:
        """
        Resumes after the last entry, if the stream still has it. Returns whether nothing can be
        missing.
        """
        server = await _server_of(reader)
        is_contiguous = False
        if self._number >= 0 and await self._has_entries_after(reader):
            is_contiguous = server is not None and server == self._server
        else:
            entries, number = await _run(reader, LAST, self._keys)
            self._id = entries[0][0].decode() if entries else "0-0"
            self._number = int(number or 0)
        # Set only now: a server that has restarted refuses the commands above while it loads its
        # data.
        self._server = server
        return is_contiguous

    async def _has_entries_after(self, reader: Redis) -> bool:
        stream, counter = self._keys
        if int(await _call(reader, "GET", counter) or 0) == self._number:
            return True
        return len(await _call(reader, "XRANGE", stream, self._id, self._id)) == 1

    async def _read(self, reader: Redis) -> None:
        for entry_id, fields in await _entries_after(reader, self._keys[0], self._id):
            self._id = entry_id.decode()
            if b"number" in fields:
                if int(fields[b"number"]) != self._number + 1:
                    self._on_gap()
                self._number = int(fields[b"number"])
            self._receive(fields.get(b"events", b"").decode(errors="replace"))


async def _entries_after(
    reader: Redis, stream: str, after: str
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Waits for entries of a stream after an id; none if none arrive in time."""
    reply = await _call(
        reader, "XREAD", "COUNT", BATCH, "BLOCK", BLOCK_MS, "STREAMS", stream, after
    )
    if not reply:
        return []
    # RESP2 has pairs of a stream and its entries, RESP3 a map.
    found = list(reply.values())[0] if isinstance(reply, dict) else reply[0][1]
    entries = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    return [(entry_id, fields) for entry_id, fields in entries]


async def _server_of(reader: Redis) -> str | None:
    """Returns the run id; None without the right to read it, or if the server does not have one."""
    try:
        return (await reader.info("server")).get("run_id")
    except ResponseError:
        return None


async def _run(client: Redis, script: str, keys: tuple[str, ...], *values: str) -> Any:
    return await _call(client, "EVAL", script, len(keys), *keys, *values)


async def _call(client: Redis, *command: str | int) -> Any:
    return await client.execute_command(*command)  # type: ignore[no-untyped-call]


APPEND = """local number = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'number', number, 'events', ARGV[1])
return number"""
"""Numbers an entry and appends it."""
LAST = "return {redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1), redis.call('GET', KEYS[2])}"
"""Returns the last entry and the last number."""
APPEND_OCCURRENCE = """if redis.call('HSETNX', KEYS[2], 'epoch', ARGV[1]) == 1 then
  redis.call('DEL', KEYS[1], KEYS[3])
end
local number = redis.call('HINCRBY', KEYS[2], 'number', 1)
local bytes = redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[3])
redis.call('XADD', KEYS[1], '*', 'number', number, 'name', ARGV[2], 'event', ARGV[3])
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[4]
for _ = 1, 1000 do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not first or tonumber(first[2][2]) == number then break end
  local isOld = tonumber(string.match(first[1], '%d+')) < oldest
  if not isOld and bytes <= tonumber(ARGV[5]) then break end
  redis.call('XDEL', KEYS[1], first[1])
  redis.call('HSET', KEYS[3], first[2][4], first[2][2])
  bytes = redis.call('HINCRBY', KEYS[2], 'bytes', -#first[2][6])
end
return number"""
"""Adds an occurrence, and removes those before it that are too old or too many."""
BATCH = 256
BLOCK_MS = 5_000
SILENCE_SECONDS = 15.0
"""A connection that is silent for so long is dead; reads wait for `BLOCK_MS`."""
