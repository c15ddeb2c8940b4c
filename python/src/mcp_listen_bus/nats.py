"""A bus over NATS, with the client `nats-py`."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy, StreamConfig, StreamInfo
from nats.js.errors import NoStreamResponseError, NotFoundError, ServiceUnavailableError

from .bus import BusError, ProcessBus, log_error, logger
from .nats_cursor import NEVER, Cursor, continues, has_message


class NatsBus(ProcessBus):
    """
    The bus of all processes that use the same NATS and the same name: letters, digits, `-` and `_`.

    `servers` and `settings` are as for `nats.connect`. `jetstream` is whether messages are kept;
    None keeps them if the server has JetStream. The other options limit the streams, if the bus
    creates them.
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
        self._on_client_error = self._connect_to.pop("error_cb", None)
        if not (self._on_client_error is None or iscoroutinefunction(self._on_client_error)):
            raise nats.errors.InvalidCallbackTypeError
        self._wants_jetstream = jetstream
        self._stream = StreamConfig(
            name=bus, subjects=[bus], max_msgs=log_events, max_age=log_age_ms / 1_000
        )
        log = f"{bus}-events"
        age = events_age_ms / 1_000
        self._log = StreamConfig(name=log, subjects=[log], max_bytes=events_bytes, max_age=age)
        self._subject = bus
        self._client: Client | None = None
        self._jetstream: JetStreamContext | None = None
        self._lock = asyncio.Lock()
        self._lost = asyncio.Event()
        # How NATS has last refused to publish on the subject, and to subscribe to it.
        self._publish_refusal: Exception | None = None
        self._refusal: Exception | None = None
        self._cursor: Cursor | None = None

    async def _publish(self, message: str) -> None:
        client, jetstream = await self._reconnected()
        if jetstream is None:
            former = self._publish_refusal
            await client.publish(self._subject, message.encode())
            await _processed(client)
            refusal = self._publish_refusal
            if refusal is not None and refusal is not former:
                raise refusal
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
        self._refusal = None
        if jetstream is None:
            await self._follow_subject(client)
        else:
            await self._follow_stream(jetstream)

    async def _follow_subject(self, client: Client) -> None:
        """
        Follows the subject without a log: what is published while there is no subscription is lost.
        """
        subscription = await client.subscribe(self._subject, cb=self._on_message)
        try:
            await self._unless_lost(_processed(client))
            self._on_ready(is_contiguous=False)
            await self._lost.wait()
            self._raise_refusal()
        finally:
            await _quietly(subscription.unsubscribe)

    async def _follow_stream(self, jetstream: JetStreamContext) -> None:
        info = await _provide(jetstream, self._stream)
        cursor, is_contiguous = self._resume(info)
        # The last message is delivered again: it shows whether the stream is the same one.
        first = cursor.sequence if has_message(info, cursor.sequence) else cursor.sequence + 1
        config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=first)
        subscription = await jetstream.subscribe(
            self._subject, cb=partial(self._on_kept, cursor), ordered_consumer=True, config=config
        )
        # Set only now: if subscribing fails, the next attempt must still report the gap.
        self._cursor = cursor
        try:
            self._on_ready(is_contiguous)
            while await self._is_check_due(cursor):
                await self._check(jetstream, subscription, cursor)
        finally:
            await _quietly(subscription.unsubscribe)

    async def _close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _resume(self, info: StreamInfo) -> tuple[Cursor, bool]:
        """
        Returns where to continue: after the last message, if the stream has what follows, otherwise
        at its end. The second value is whether it has.
        """
        former, last = self._cursor, info.state.last_seq
        if former is not None and continues(former, info):
            return former, True
        at = None if has_message(info, last) else NEVER
        return Cursor(info.created, last, at, time.time()), False

    async def _is_check_due(self, cursor: Cursor) -> bool:
        """Waits until the stream has to be checked; returns False once the connection is lost."""
        while True:
            before = time.time()
            try:
                await asyncio.wait_for(self._lost.wait(), TICK_SECONDS)
                return False
            except TimeoutError:
                now = time.time()
            # A process that was suspended checks at once.
            if abs(now - before) > LATE_SECONDS or abs(now - cursor.checked) >= CHECK_SECONDS:
                return True

    async def _check(
        self,
        jetstream: JetStreamContext,
        subscription: JetStreamContext.PushSubscription,
        cursor: Cursor,
    ) -> None:
        """
        Reports a gap if messages have left the stream before they were received. Raises an error if
        the stream was deleted: another one, or an earlier state of it, may have its name.
        """
        # The client (2.16) goes on with the other one, after the number of the last message.
        now, received = time.time(), cursor.sequence
        await subscription.consumer_info()
        info = await jetstream.stream_info(self._subject)
        if info.created != cursor.created or info.state.last_seq < received:
            raise BusError("the stream of the bus is another one")
        cursor.checked = now
        if info.state.first_seq > cursor.sequence + 1:
            self._on_gap()
            cursor.sequence, cursor.at = info.state.first_seq - 1, NEVER

    async def _on_message(self, message: Msg) -> None:
        self._receive(message.data.decode(errors="replace"))

    async def _on_kept(self, cursor: Cursor, message: Msg) -> None:
        sequence, at = message.metadata.sequence.stream, message.metadata.timestamp
        known = cursor.at or at
        if sequence == cursor.sequence and at == known:
            cursor.at = at
            return
        # The client (2.16) may deliver earlier messages again. Those of a restored stream are
        # later.
        if sequence < cursor.sequence and at <= known:
            return
        if sequence != cursor.sequence + 1:
            self._on_gap()
        cursor.sequence, cursor.at = sequence, at
        await self._on_message(message)

    async def _reconnected(self) -> tuple[Client, JetStreamContext | None]:
        """
        Returns the connection once it is open: what is published before would be refused
        (`DEFAULTS`).
        """
        client, jetstream = await self._connected()
        while not client.is_connected and not client.is_closed:
            await asyncio.sleep(RECONNECT_SECONDS)
        return client, jetstream

    async def _connected(self) -> tuple[Client, JetStreamContext | None]:
        async with self._lock:
            # The client closes itself on some errors of the server, such as expired credentials.
            if self._client is None or self._client.is_closed:
                self._client = await self._connect()
        return self._client, self._jetstream

    async def _connect(self) -> Client:
        client = Client()
        # The client tries again until it is closed, and raises nothing.
        report = asyncio.create_task(self._report_absence(client))
        try:
            await client.connect(
                **self._connect_to, disconnected_cb=self._on_lost, error_cb=self._on_error_of_client
            )
            self._jetstream = await self._find_jetstream(client)
            if self._is_closed:
                raise BusError("the bus is closed")
        except BaseException:
            await _quietly(client.close)
            raise
        finally:
            report.cancel()
        return client

    async def _report_absence(self, client: Client) -> None:
        """
        Reports that NATS is unavailable at the start, and why, if the bus follows it: a publish
        raises an error itself.
        """
        await asyncio.sleep(REPORT_SECONDS)
        # The client limits the time of each attempt.
        while client.last_error is None:
            await asyncio.sleep(RECONNECT_SECONDS)
        if self._task is not None:
            self._report_loss(client.last_error)

    async def _find_jetstream(self, client: Client) -> JetStreamContext | None:
        if self._wants_jetstream is False:
            return None
        jetstream = client.jetstream()
        try:
            await jetstream.account_info()
        except ServiceUnavailableError as error:
            # Other servers have JetStream and do not respond now: that is no reason to go without.
            if self._wants_jetstream or error.err_code not in NO_JETSTREAM:
                raise
            return None
        except (NotFoundError, nats.errors.NoRespondersError):
            if self._wants_jetstream:
                raise
            return None
        return jetstream

    async def _unless_lost(self, work: Coroutine[Any, Any, None]) -> None:
        """
        Runs work on the connection, and raises an error once that is lost: what the work waits for
        would not arrive on the next one.
        """
        running, lost = asyncio.ensure_future(work), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait((running, lost), return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                self._raise_refusal()
                raise BusError("NATS is unavailable")
            await running
        finally:
            running.cancel()
            lost.cancel()

    async def _on_lost(self) -> None:
        self._lost.set()

    async def _on_error_of_client(self, error: Exception) -> None:
        # The client (2.16) has the text of the server in lower case.
        text, subject = str(error), self._subject.lower()
        if f'publish to "{subject}"' in text:
            self._publish_refusal = error
        if f'subscription to "{subject}"' in text:
            self._refusal = error
            self._lost.set()
        if self._on_client_error is not None:
            await self._on_client_error(error)
        elif error is not self._refusal and error is not self._publish_refusal:
            logger.error("NATS reports an error", exc_info=error)

    def _raise_refusal(self) -> None:
        if self._refusal is not None:
            raise self._refusal


async def _processed(client: Client) -> None:
    """Returns once the broker has processed every command so far."""
    # The client (2.16) stops to read if a flush was cancelled when its PONG arrives.
    flushed = asyncio.ensure_future(_flushed(client))
    flushed.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.shield(flushed)
    # It returns from a flush at once after it has lost the connection.
    if not client.is_connected:
        raise BusError("NATS is unavailable")


async def _flushed(client: Client) -> None:
    # The client (2.16) sends the PING of a flush before commands that still wait in its buffer. The
    # buffer is empty once the first PONG has arrived, so the second PING follows them.
    await client.flush(FLUSH_SECONDS)
    await client.flush(FLUSH_SECONDS)


async def _provide(jetstream: JetStreamContext, config: StreamConfig) -> StreamInfo:
    """Creates a stream if it does not exist. An existing one keeps its configuration."""
    try:
        return await jetstream.stream_info(str(config.name))
    except NotFoundError:
        return await jetstream.add_stream(config)


async def _kept(jetstream: JetStreamContext, stream: StreamConfig, text: str) -> int:
    """
    Appends a text to a stream, which it creates if it does not exist; returns the sequence number.
    """
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


NO_JETSTREAM = (None, 10_039, 10_076)
"""
The codes of a server without JetStream, for this account or at all; None: it does not respond to
such requests.
"""
CHECK_SECONDS = 10.0
"""The interval at which a bus checks its stream."""
TICK_SECONDS = 1.0
"""The interval at which it looks at the clock."""
LATE_SECONDS = 2.0
"""The time between two looks after which the process counts as suspended."""
REPORT_SECONDS = 2.0
"""
The time after which an absence of NATS at the start is reported, if an attempt to connect failed.
"""
FLUSH_SECONDS = 60
"""Longer than the client (2.16) takes to give up a connection whose server is silent."""
RECONNECT_SECONDS = 0.05
"""The interval at which the state of the connection is read, while something waits for it."""
DEFAULTS = {
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.25,
    "ping_interval": 10,
    "pending_size": 0,
}
"""
The connection is opened again for as long as the bus is open. The client keeps no publishes until
then: it would send those whose callers got an error.
"""
