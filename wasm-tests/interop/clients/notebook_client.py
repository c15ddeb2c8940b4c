"""
The official Python SDK's client, driven by JSON lines: one command a line in, one response a line
out.

Usage: notebook_client.py MODE URL EXTENSION..., where the client declares the extensions, or
notebook_client.py MODE PROGRAM ARGUMENT... for a server on stdio. Every command has an `id`, which
its response repeats, and a `do`: `listen`, `next_event` and `close` name a `subscription`;
`call_tool`, `list` and `read` ask the server, and `request` sends any `method`. In the mode
`legacy`, the client speaks an earlier revision: `subscribe` and `unsubscribe` name a `uri`, and
`next_notification` waits for the next notification of the session. The end of the input ends the
client.
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise
from mcp.client.subscriptions import Subscription, SubscriptionLost
from mcp_types import Request
from pydantic import TypeAdapter

Command = dict[str, Any]
Reply = dict[str, Any]


async def main(mode: str, place: str, *arguments: str) -> None:
    """Serves commands until the input ends."""
    notifications_send, notifications = anyio.create_memory_object_stream[Any](100)
    is_url = "://" in place
    server = place if is_url else StdioServerParameters(command=place, args=list(arguments))
    extensions = [advertise(name) for name in arguments] if is_url else []
    client_of_server = Client(
        server, mode=mode, message_handler=notifications_send.send, extensions=extensions
    )
    async with client_of_server as client, anyio.create_task_group() as tasks:
        driver = Driver(client, tasks, notifications)
        async for command in commands():
            await driver.handle(command)
        tasks.cancel_scope.cancel()


async def commands() -> AsyncIterator[Command]:
    async for line in anyio.wrap_file(sys.stdin):
        yield json.loads(line)


class Driver:
    """Sends each command where it belongs: to the task of its subscription, or to the client."""

    def __init__(
        self, client: Client, tasks: TaskGroup, notifications: MemoryObjectReceiveStream[Any]
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._notifications = notifications
        self._subscriptions: dict[str, MemoryObjectSendStream[Command]] = {}
        self._requests = {
            "call_tool": self._call_tool,
            "list": self._list,
            "read": self._read,
            "request": self._request,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "next_notification": self._next_notification,
        }

    async def handle(self, command: Command) -> None:
        name = command.get("subscription")
        if name is None:
            self._tasks.start_soon(reply, command, self._requests[command["do"]])
            return
        if command["do"] == "listen":
            self._subscriptions[name], inbox = anyio.create_memory_object_stream[Command](100)
            self._tasks.start_soon(subscribe, self._client, command, inbox)
            return
        await self._subscriptions[name].send(command)

    async def _call_tool(self, command: Command) -> Reply:
        result = await self._client.call_tool(command["tool"], command["arguments"])
        return {"is_error": result.is_error, "text": result.content[0].text}

    async def _list(self, command: Command) -> Reply:
        match command["what"]:
            case "tools":
                return {"names": [tool.name for tool in (await self._client.list_tools()).tools]}
            case "prompts":
                return {
                    "names": [prompt.name for prompt in (await self._client.list_prompts()).prompts]
                }
            case _:
                return {
                    "names": [
                        str(entry.uri) for entry in (await self._client.list_resources()).resources
                    ]
                }

    async def _subscribe(self, command: Command) -> Reply:
        await self._client.subscribe_resource(command["uri"])
        return {"version": self._client.protocol_version}

    async def _unsubscribe(self, command: Command) -> Reply:
        await self._client.unsubscribe_resource(command["uri"])
        return {}

    async def _next_notification(self, _: Command) -> Reply:
        notification = await self._notifications.receive()
        return {"method": notification.method, "uri": getattr(notification.params, "uri", None)}

    async def _read(self, command: Command) -> Reply:
        result = await self._client.read_resource(command["uri"])
        return {"text": result.contents[0].text}

    async def _request(self, command: Command) -> Reply:
        request = Request[dict[str, Any], str](method=command["method"], params=command["params"])
        try:
            return {
                "result": await self._client.session.send_request(
                    request, TypeAdapter(dict[str, Any])
                )
            }
        except MCPError as error:
            return {"refusal": {"code": error.code, "data": error.data}}


async def subscribe(
    client: Client, opening: Command, inbox: MemoryObjectReceiveStream[Command]
) -> None:
    """Holds one subscription: the SDK wants it entered and left in the same task."""
    try:
        async with client.listen(**opening["filter"]) as subscription:
            say(
                opening,
                {"honored": subscription.honored.model_dump(by_alias=True, exclude_none=True)},
            )
            closing = await serve(subscription, inbox)
        say(closing, {})
    except Exception as error:
        say(opening, failure(error))


async def serve(subscription: Subscription, inbox: MemoryObjectReceiveStream[Command]) -> Command:
    """Responds to `next_event` until `close`, which is returned."""
    async for command in inbox:
        if command["do"] == "close":
            return command
        await reply(command, lambda _: next_event(subscription))
    raise RuntimeError("the inbox ended before a close")


async def next_event(subscription: Subscription) -> Reply:
    try:
        event = await anext(subscription)
    except StopAsyncIteration:
        return {"end": "graceful"}
    except SubscriptionLost:
        return {"end": "lost"}
    return {"event": type(event).__name__, **vars(event)}


async def reply(command: Command, work: Callable[[Command], Awaitable[Reply]]) -> None:
    try:
        say(command, await work(command))
    except Exception as error:
        say(command, failure(error))


def failure(error: Exception) -> Reply:
    code = f" {error.error.code}" if isinstance(error, MCPError) else ""
    return {"error": f"{type(error).__name__}{code}: {error}"}


def say(command: Command, result: Reply) -> None:
    print(json.dumps({"id": command["id"], **result}), flush=True)


anyio.run(main, *sys.argv[1:])
