"""The streams of a process: the clock, the timer and the response bodies around a fan-out."""

import asyncio
import contextlib
import time

from component import record


class Streams:
    """Holds the open streams. All calls run on one event loop."""

    def __init__(self, core, stall_ms):
        self._core = core
        self._fanout = core.call("fanout", "[constructor]fanout")
        self._hold = record(
            stall_after=stall_ms, authorization_ttl=0, retires_at=None, expires_at=None
        )
        self._woken = {}
        self._writing = {}
        # The streams whose last text has not left the buffers of uvicorn.
        self._sending = set()
        self._timer = None

    def publish(self, *events):
        """Publishes events, each as JSON text, to the streams that subscribe to them."""
        now = clock()
        batch = self._call("publish", list(events), now)
        # Each body polls when it can send: what a slow client does not read collapses in the core.
        missed = [write.stream for write in batch.writes]
        due = self._call("handle-missed", missed, now)
        self._end_unread(due)
        self._wake(missed + due)
        self._schedule()

    async def serve(self, stream, receive, send):
        """Sends a stream as the body of an ASGI response, until it ends or its client leaves."""
        number = self._call("open", stream, self._hold, clock())
        self._woken[number] = asyncio.Event()
        writing = self._writing[number] = asyncio.ensure_future(self._write(number, send))
        leaving = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writing.cancel()
            leaving.cancel()
            del self._woken[number], self._writing[number]
            self._sending.discard(number)
            self._call("remove", number)

    def close(self):
        """Ends all streams with the result of their requests."""
        for number in list(self._woken):
            self._call("close", number, True)
        self._wake(list(self._woken))

    def __len__(self):
        return self._call("count")

    async def _write(self, number, send):
        woken = self._woken[number]
        while True:
            woken.clear()
            text = self._call("poll", number, clock())
            self._schedule()
            if text is not None:
                # Waits while the client does not read, with 64 KB in the buffers of uvicorn.
                self._sending.add(number)
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                self._sending.discard(number)
            elif self._has_ended(number):
                # A client that reads nothing has no room for this either.
                with contextlib.suppress(TimeoutError):
                    end = send({"type": "http.response.body", "body": b""})
                    await asyncio.wait_for(end, END_SECONDS)
                return
            else:
                await woken.wait()

    def _call(self, name, *arguments):
        return self._core.call("fanout", f"[method]fanout.{name}", self._fanout, *arguments)

    def _has_ended(self, number):
        return getattr(self._call("state", number), "is-ended")

    def _wake(self, numbers):
        for number in numbers:
            if number in self._woken:
                self._woken[number].set()

    def _schedule(self):
        """Sets the one timer, for the deadlines of all streams."""
        if self._timer is not None:
            self._timer.cancel()
        at = self._call("poll-timeout")
        if at is not None:
            wait = max(0, at - clock()) / 1000
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self):
        now = clock()
        due = self._call("handle-timeout", now)
        for number in self._sending.intersection(due):
            # Otherwise a keep-alive that its client never reads would have no deadline.
            self._call("handle-blocked", number, now)
        self._end_unread(due)
        self._wake(due)
        self._schedule()

    def _end_unread(self, numbers):
        """Cancels the writes of streams that have ended: a client that reads nothing ends none."""
        for number in self._sending.intersection(numbers):
            if self._has_ended(number):
                self._writing[number].cancel()


async def _disconnected(receive):
    while (await receive())["type"] != "http.disconnect":
        pass


def clock():
    """The host's clock, in milliseconds."""
    return time.monotonic_ns() // 1_000_000


END_SECONDS = 5
"""How long the end of a response may wait for its client."""
