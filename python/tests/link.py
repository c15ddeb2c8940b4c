"""A TCP connection to a broker that a test can cut."""

import asyncio
import contextlib
import random
import socket
from urllib.parse import urlsplit


class Link:
    """Passes connections on to the broker at `url`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._scheme, self._broker = parts.scheme, (parts.hostname, parts.port)
        self._port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where it accepts connections."""
        return f"{self._scheme}://127.0.0.1:{self._port}"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    async def open(self) -> None:
        """Accepts connections; after a cut on the same port."""
        if self._port == 0:
            self._port = _lasting_port()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def cut(self) -> None:
        """Ends every connection, and refuses others."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        # The peers notice it.
        await asyncio.sleep(0.1)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._connect(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker_reader, broker_writer = await asyncio.open_connection(*self._broker)
        try:
            await asyncio.gather(_pass_on(reader, broker_writer), _pass_on(broker_reader, writer))
        finally:
            for end in (writer, broker_writer):
                end.transport.abort()


def _lasting_port() -> int:
    """
    Returns a free port outside the range from which the system assigns ports: no other program gets
    it during a cut.
    """
    for _ in range(100):
        port = random.randrange(10_000, 32_768)
        with contextlib.suppress(OSError):
            socket.create_server(("127.0.0.1", port)).close()
            return port
    raise AssertionError("no free port in 100 attempts")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()
