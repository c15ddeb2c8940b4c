"""A bus over NATS, with the client `nats-py`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy, StreamConfig, StreamInfo
from nats.js.errors import NoStreamResponseError, NotFoundError, ServiceUnavailableError

from .bus import BusError, ProcessBus, log_error


class NatsBus(ProcessBus):
    """
    The bus of all processes that use the same NATS and the same name: letters, digits, `-` and `_`.

    `servers` and `settings` are as for `nats.connect`. `jetstream` is whether messages are kept; None keeps them if the
    server has JetStream. The other options limit the streams, if the bus creates them.
    """

    def __init__(
        self,
        servers: str | list[str],
        *,
        bus: str = "mcp-listen",
        jetstream: bool | None = None,
        log_events: int = 10_000,
        log_age_ms: int = 600_000,
        events_age_ms: int = 86_400_000,
        events_bytes: int = 67_108_864,
        on_error: Callable[[BusError], None] = log_error,
        **settings: Any,
    ) -> None:
        super().__init__(on_error)
        if not bus.replace("-", "").replace("_", "").isalnum() or not bus.isascii():
            raise ValueError("the name of a bus on NATS may contain only letters, digits, - and _")
        self._connect_to = {"servers": servers, **DEFAULTS, **settings}
        self._wants_jetstream = jetstream
        self._stream = StreamConfig(name=bus, subjects=[bus], max_msgs=log_events, max_age=log_age_ms / 1_000)
        log = f"{bus}-events"
        age = events_age_ms / 1_000
        self._log = StreamConfig(name=log, subjects=[log], max_bytes=events_bytes, max_age=age)
        self._subject = bus
        self._client: Client | None = None
        self._jetstream: JetStreamContext | None = None
        self._lock = asyncio.Lock()
        self._lost = asyncio.Event()
        self._cursor: Cursor | None = None

    async def _publish(self, message: str) -> None:
        client, jetstream = await self._reconnected()
        if jetstream is None:
            await client.publish(self._subject, message.encode())
            await _processed(client)
        else:
            await _kept(jetstream, self._stream, message)

    async def _append(self, name: str, occurrence: str) -> int:
        _, jetstream = await self._reconnected()
        if jetstream is None:
            await self._publish(occurrence)
            return 0
        return await _kept(jetstream, self._log, occurrence)

    async def _follow(self) -> None:
        client, jetstream = await self._connected()
        if not client.is_connected:
            raise BusError("NATS is unavailable")
        self._lost.clear()
        if jetstream is None:
            subscription = await client.subscribe(self._subject, cb=self._on_message)
            is_contiguous = False
        else:
            cursor, is_contiguous = self._resume(await _provide(jetstream, self._stream))
            config = ConsumerConfig(
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=cursor.sequence + 1
            )
            subscription = await jetstream.subscribe(
                self._subject, cb=partial(self._on_kept, cursor), ordered_consumer=True, config=config
            )
            # Set only now: if subscribing fails, the next attempt must still report the gap.
            self._cursor = cursor
        try:
            if jetstream is None:
                await _processed(client)
            self._on_ready(is_contiguous)
            while not await self._is_lost_within(CHECK_SECONDS):
                if jetstream is not None:
                    await self._check_stream(jetstream)
        finally:
            await _quietly(subscription.unsubscribe)

    async def _close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _resume(self, info: StreamInfo) -> tuple["Cursor", bool]:
        """
        Returns where to continue: after the last message, if the stream has what follows, otherwise at its end. The
        second value is whether it has.
        """
        state, former = info.state, self._cursor
        if former is not None and info.created == former.created:
            if state.first_seq - 1 <= former.sequence <= state.last_seq:
                return former, True
        return Cursor(info.created, state.last_seq), False

    async def _is_lost_within(self, seconds: float) -> bool:
        """Waits for the loss of the connection."""
        try:
            await asyncio.wait_for(self._lost.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _check_stream(self, jetstream: JetStreamContext) -> None:
        """Raises `BusError` if the stream that is followed was deleted, and another one has its name."""
        # The client (2.16) goes on with the other one, after the number of the last message.
        info = await jetstream.stream_info(self._subject)
        if self._cursor is None or info.created != self._cursor.created:
            raise BusError("the stream of the bus is another one")

    async def _on_message(self, message: Msg) -> None:
        self._receive(message.data.decode(errors="replace"))

    async def _on_kept(self, cursor: "Cursor", message: Msg) -> None:
        sequence = message.metadata.sequence.stream
        if sequence <= cursor.sequence:
            return
        if sequence != cursor.sequence + 1:
            self._on_gap()
        cursor.sequence = sequence
        await self._on_message(message)

    async def _reconnected(self) -> tuple[Client, JetStreamContext | None]:
        """Returns the connection once it is open: what is published before would be refused (`DEFAULTS`)."""
        client, jetstream = await self._connected()
        while not client.is_connected and not client.is_closed:
            await asyncio.sleep(RECONNECT_SECONDS)
        return client, jetstream

    async def _connected(self) -> tuple[Client, JetStreamContext | None]:
        async with self._lock:
            if self._client is None:
                self._client = await self._connect()
        return self._client, self._jetstream

    async def _connect(self) -> Client:
        client = Client()
        try:
            await client.connect(**self._connect_to, disconnected_cb=self._on_lost)
            self._jetstream = await self._find_jetstream(client)
            if self._is_closed:
                raise BusError("the bus is closed")
        except BaseException:
            await _quietly(client.close)
            raise
        return client

    async def _find_jetstream(self, client: Client) -> JetStreamContext | None:
        if self._wants_jetstream is False:
            return None
        jetstream = client.jetstream()
        try:
            await jetstream.account_info()
        except (NotFoundError, ServiceUnavailableError, nats.errors.NoRespondersError):
            if self._wants_jetstream:
                raise
            return None
        return jetstream

    async def _on_lost(self) -> None:
        self._lost.set()


@dataclass
class Cursor:
    """The position in a stream."""

    created: datetime | None
    """When the stream was created: identifies it among streams with the same name."""
    sequence: int


async def _processed(client: Client) -> None:
    """Returns once the broker has processed every command so far."""
    # The client (2.16) sends the PING of a flush before commands that still wait in its buffer. The buffer is empty
    # once the first PONG has arrived, so the second PING follows them.
    await client.flush()
    await client.flush()


async def _provide(jetstream: JetStreamContext, config: StreamConfig) -> StreamInfo:
    """Creates a stream if it does not exist. An existing one keeps its configuration."""
    try:
        return await jetstream.stream_info(str(config.name))
    except NotFoundError:
        return await jetstream.add_stream(config)


async def _kept(jetstream: JetStreamContext, stream: StreamConfig, text: str) -> int:
    """Appends a text to a stream, which it creates if it does not exist; returns the sequence number."""
    subject = str(stream.name)
    try:
        return (await jetstream.publish(subject, text.encode())).seq
    except NoStreamResponseError:
        await _provide(jetstream, stream)
        return (await jetstream.publish(subject, text.encode())).seq


async def _quietly(work: Callable[[], Any]) -> None:
    try:
        await work()
    except Exception:
        # The connection is gone, and its subscriptions with it.
        return


CHECK_SECONDS = 10.0
"""The interval at which a bus asks JetStream whether its stream is still the same."""
RECONNECT_SECONDS = 0.05
"""The interval at which a publish checks whether the connection is open again."""
DEFAULTS = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.25, "ping_interval": 10, "pending_size": 0}
"""
The connection is opened again for as long as the bus is open. The client keeps no publishes until then: it would send
those whose callers got an error.
"""
