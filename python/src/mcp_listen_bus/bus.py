"""What the buses have in common: listeners, and the task that follows the broker."""

import asyncio
import logging
import random
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeVar

from mcp.server.subscriptions import ServerEvent

from .messages import LISTS, events_in, message_of, occurrence_of

logger = logging.getLogger(__name__)
T = TypeVar("T")


class BusError(Exception):
    """The broker did not accept a publish, is unavailable, or may have lost changes."""


@dataclass(frozen=True)
class EventReceipt:
    """The result of publishing an occurrence of MCP Events."""

    position: int
    """Its position in the log of the bus; 0 on a bus that keeps no log."""
    event_id: str


def log_error(error: BusError) -> None:
    """Logs an error of a bus."""
    logger.error("%s", error, exc_info=error.__cause__)


class ProcessBus(ABC):
    """
    A `SubscriptionBus` that connects processes. It connects when the first listener subscribes, or
    with `ready`, and connects again after a loss. Create it for one event loop.
    """

    def __init__(self, on_error: Callable[[BusError], None] = log_error) -> None:
        self._on_error = on_error
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._live = asyncio.Event()
        self._has_begun = False
        self._is_closed = False
        self._is_loss_reported = False

    async def publish(self, event: ServerEvent) -> None:
        """
        Publishes a change. Raises `BusError` if the broker does not have it within five seconds.
        """
        await self._sent(self._publish(message_of(event)))

    async def emit(
        self,
        name: str,
        data: dict[str, Any],
        *,
        event_id: str | None = None,
        timestamp: datetime | str | None = None,
        group: str | None = None,
    ) -> EventReceipt:
        """
        Publishes an occurrence of MCP Events, which servers of mcp-listen deliver. While their logs
        have one of the same name, group and id, it has no effect. Raises `ValueError` if a part is
        not valid, and `BusError` as `publish`.
        """
        event_id = f"evt_{uuid.uuid4()}" if event_id is None else event_id
        text = occurrence_of(name, event_id, timestamp, group, data)
        return EventReceipt(await self._sent(self._append(name, text)), event_id)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Registers a listener; returns what removes it, which may be called twice."""
        token = object()
        self._listeners[token] = listener
        self._start()
        return lambda: void(self._listeners.pop(token, None))

    async def ready(self) -> None:
        """
        Connects, and returns once the bus receives everything that is published from then on.
        Raises `BusError` if the bus is closed before that.
        """
        self._start()
        await self._live.wait()
        if self._is_closed:
            raise BusError("the bus is closed")

    async def aclose(self) -> None:
        """Stops receiving, and closes the connections."""
        self._is_closed = True
        # It ends the calls of `ready` that wait.
        self._live.set()
        # The client redis (8.1) may lose a cancellation that arrives while it reads.
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=0.1)
        await self._close()

    async def __aenter__(self) -> Self:
        await self.ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def _publish(self, message: str) -> None:
        """Sends a message to the broker."""

    @abstractmethod
    async def _append(self, name: str, occurrence: str) -> int:
        """Appends an occurrence to the log of the broker; returns its position."""

    @abstractmethod
    async def _follow(self) -> None:
        """Passes messages to `_receive` until the broker is lost."""

    @abstractmethod
    async def _close(self) -> None:
        """Closes the connections."""

    def _on_ready(self, is_contiguous: bool) -> None:
        """
        Every message from now on is received. `is_contiguous`: none since the last loss is missing.
        """
        if not is_contiguous:
            self._on_gap(is_reported=self._has_begun)
        self._has_begun = True
        self._is_loss_reported = False
        self._live.set()

    def _receive(self, message: str) -> None:
        events, broken = events_in(message)
        for event in events:
            self._deliver(event)
        if broken > 0:
            self._report(BusError("a message of the bus is not an event"))

    def _on_gap(self, is_reported: bool = True) -> None:
        """
        Changes may be missing: all lists may have changed. Which resources did, cannot be
        determined.
        """
        for event in LISTS:
            self._deliver(event)
        if is_reported and self._listeners:
            self._report(BusError("listeners may have missed changes"))

    def _deliver(self, event: ServerEvent) -> None:
        for listener in list(self._listeners.values()):
            try:
                listener(event)
            except Exception:
                logger.exception("a listener of the bus raised")

    def _start(self) -> None:
        if self._task is None and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._keep_following())

    async def _keep_following(self) -> None:
        while True:
            try:
                await self._follow()
                cause: Exception | None = None
            except Exception as error:
                cause = error
            # Clients may turn a cancellation into an error.
            if self._is_closed:
                return
            self._live.clear()
            self._report_loss(cause)
            await asyncio.sleep(random.uniform(0.1, 1))

    def _report_loss(self, cause: Exception | None) -> None:
        """Reports that the broker is unavailable, once until it is followed again."""
        if self._is_loss_reported:
            return
        self._is_loss_reported = True
        error = BusError("the broker of the bus is unavailable")
        error.__cause__ = cause
        self._report(error)

    def _report(self, error: BusError) -> None:
        try:
            self._on_error(error)
        except Exception:
            logger.exception("on_error of the bus raised")

    async def _sent(self, work: Awaitable[T]) -> T:
        if self._is_closed:
            asyncio.ensure_future(work).cancel()
            raise BusError("the bus is closed")
        try:
            return await asyncio.wait_for(work, PUBLISH_SECONDS)
        except Exception as error:
            raise BusError("the bus did not accept the event") from error


def void(_: object) -> None:
    """Returns nothing."""


PUBLISH_SECONDS = 5.0
