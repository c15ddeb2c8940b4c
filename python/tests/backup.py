"""A backup of a JetStream stream, as `nats stream backup` makes it."""

import json
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client


@dataclass
class Backup:
    """What is needed to restore a stream as it was."""

    stream: str
    description: dict[str, Any]
    chunks: list[bytes]

    @classmethod
    async def of(cls, client: Client, stream: str) -> "Backup":
        """Makes a backup of a stream."""
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox)
        request = {"deliver_subject": inbox, "no_consumers": True}
        reply = await _ask(
            client, f"$JS.API.STREAM.SNAPSHOT.{stream}", json.dumps(request).encode()
        )
        description = {"config": reply["config"], "state": reply["state"]}
        chunks: list[bytes] = []
        while (chunk := await subscription.next_msg(timeout=5)).data:
            chunks.append(chunk.data)
            await chunk.respond(b"")
        await subscription.unsubscribe()
        return cls(stream, description, chunks)

    async def restore(self, client: Client) -> None:
        """Deletes the stream, and restores it."""
        await client.jetstream().delete_stream(self.stream)
        request = json.dumps(self.description).encode()
        reply = await _ask(client, f"$JS.API.STREAM.RESTORE.{self.stream}", request)
        for chunk in self.chunks:
            await client.request(reply["deliver_subject"], chunk, timeout=5)
        await _ask(client, reply["deliver_subject"], b"")


async def _ask(client: Client, subject: str, request: bytes) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads((await client.request(subject, request, timeout=5)).data)
    if "error" in reply:
        raise AssertionError(reply["error"])
    return reply
