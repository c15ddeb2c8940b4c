"""ASGI middleware that serves `subscriptions/listen`, and passes every other request on."""

from component import Record, record
from streams import Streams, clock


class Listen:
    """Serves listens in front of `app`, a server that declares `capabilities` (JSON text)."""

    def __init__(self, app, core, capabilities, keep_alive_ms=15_000, stall_ms=60_000):
        self._app = app
        self._core = core
        self._keep_alive = keep_alive_ms
        self.streams = Streams(core, stall_ms)
        options = record(
            origins=[], hosts=None, limits=None, holds_streams=True, legacy="stateless"
        )
        self._service = core.call("exchange", "[static]service.create", options)
        self._discovered = core.call("exchange", "[static]discovered.declared", capabilities, None)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begin = "[method]service.begin"
        head = (scope["method"], url_of(scope), fields_of(scope))
        exchange = self._core.call("exchange", begin, self._service, *head, True)
        request = Request(self._core, exchange, receive)
        try:
            await self._take_steps(request, scope, send)
        finally:
            self._core.drop(exchange)

    async def _take_steps(self, request, scope, send):
        while True:
            step = request.call("poll")
            # wasmtime returns the payload of a case, whose type says which case it is.
            if isinstance(step, Record):
                return await respond(send, request.call("fields"), step)
            if step is None:  # caller: this server knows none
                request.call("handle-caller", None)
            elif isinstance(step, bool):  # pass
                send = with_fields(send, request.call("fields"))
                return await self._app(scope, request.replayed, send)
            elif isinstance(step, int):  # body
                request.call("handle-body", await request.body(step))
            else:  # listen
                return await self._listen(request, send)

    async def _listen(self, request, send):
        options = record(allowed=None, scope=None, keep_alive=self._keep_alive)
        stream = request.call("open", self._discovered, options, clock())
        headers = request.call("fields") + STREAM_FIELDS
        await send({"type": "http.response.start", "status": 200, "headers": raw(headers)})
        await self.streams.serve(stream, request.receive, send)


class Request:
    """A request, its exchange, and the part of its body that was read."""

    def __init__(self, core, exchange, receive):
        self._core, self._exchange = core, exchange
        self.receive = receive
        self._read = []

    def call(self, name, *arguments):
        return self._core.call("exchange", f"[method]exchange.{name}", self._exchange, *arguments)

    async def body(self, most):
        """Reads the body, up to `most` bytes and a little more."""
        body = b""
        while len(body) <= most:
            self._read.append(message := await self.receive())
            body += message.get("body", b"")[: most + 1]
            if not message.get("more_body"):
                break
        return body

    async def replayed(self):
        """Receives for the upstream server, from the beginning."""
        return self._read.pop(0) if self._read else await self.receive()


async def respond(send, fields, response):
    """Sends a response of the core."""
    body = (response.body or "").encode()
    headers = list(fields)
    if response.body is not None:
        headers.append(("content-type", "application/json"))
    if (seconds := getattr(response, "retry-after")) is not None:
        headers.append(("retry-after", str(seconds)))
    headers.append(("content-length", str(len(body))))
    await send({"type": "http.response.start", "status": response.status, "headers": raw(headers)})
    await send({"type": "http.response.body", "body": body})


def with_fields(send, fields):
    """Adds header fields of the core to the response of the upstream server."""

    async def sending(message):
        if message["type"] == "http.response.start" and fields:
            message = {**message, "headers": [*message.get("headers", []), *raw(fields)]}
        await send(message)

    return sending


def url_of(scope):
    host = next((value for name, value in fields_of(scope) if name == "host"), "localhost")
    return f"{scope['scheme']}://{host}{scope['path']}"


def fields_of(scope):
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]


def raw(fields):
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]


# Proxies must neither buffer the stream nor change it.
STREAM_FIELDS = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
]
