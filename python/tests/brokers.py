"""What the tests share: the corpus, and the brokers that the environment names."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from mcp_listen_bus import BusError, ProcessBus

CORPUS = Path(__file__).parents[2] / "wasm-tests" / "corpus" / "brokers"
REDIS_URL = os.environ["REDIS_URL"]
NATS_URL = os.environ["NATS_URL"]
PLAIN_NATS_URL = os.environ["PLAIN_NATS_URL"]
"""A NATS without JetStream."""


def corpus(name: str) -> Any:
    return json.loads((CORPUS / f"{name}.json").read_text())


def event_of(change: dict[str, Any]) -> ServerEvent | None:
    """Returns a change of the corpus as the SDK has it; None if it has no such changes."""
    lists: dict[str, ServerEvent] = {
        "tools_list_changed": ToolsListChanged(),
        "prompts_list_changed": PromptsListChanged(),
        "resources_list_changed": ResourcesListChanged(),
    }
    if change["kind"] == "resource_updated":
        return ResourceUpdated(uri=change["uri"])
    if change["kind"] == "events_list_changed":
        return ResourceUpdated(uri="mcp-event:")
    return lists.get(change["kind"])


CASES = [case for case in corpus("messages") if len(case["events"]) == 1]
KNOWN = [
    (case["text"], event) for case in CASES if (event := event_of(case["events"][0])) is not None
]
"""The messages with one change that the SDK knows, and the change."""


async def publish_corpus(bus: ProcessBus) -> None:
    for _, event in KNOWN:
        await bus.publish(event)
    for case in corpus("occurrences"):
        options = case["options"]
        receipt = await bus.emit(
            case["event"],
            case["data"],
            event_id=options["id"],
            timestamp=options["timestamp"],
            group=options.get("group"),
        )
        assert receipt.event_id == options["id"]


async def eventually(is_so: Callable[[], bool]) -> None:
    """Waits for at most ten seconds."""
    for _ in range(1_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within ten seconds")


def quiet(_: BusError) -> None:
    """Ignores an error."""
