"""The texts that buses exchange: one line of compact JSON for each change."""

import json
import re
from datetime import datetime, timezone
from typing import Any

from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

LISTS: list[ServerEvent] = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]
"""The changes that name no resource."""


def message_of(event: ServerEvent) -> str:
    """Returns the text of a change."""
    if isinstance(event, ResourceUpdated):
        return compact({"kind": "resource_updated", "uri": str(event.uri)})
    return compact({"kind": _KINDS[type(event)]})


def events_in(message: str) -> tuple[list[ServerEvent], int]:
    """
    Returns the changes of a message that the SDK knows, and the number of lines that are no events.
    Changes for groups of callers, tasks and occurrences of MCP Events are passed over: the SDK has
    no callers to deliver them to.
    """
    events: list[ServerEvent] = []
    broken = 0
    for line in message.split("\n"):
        event = _read(line)
        if event is None:
            broken += 1
        elif not isinstance(event, str):
            events.append(event)
    return events, broken


def occurrence_of(
    name: str,
    event_id: str,
    timestamp: datetime | str | None,
    group: str | None,
    data: dict[str, Any],
) -> str:
    """
    Returns the text of an occurrence of MCP Events. Raises `ValueError` if a part is not valid.
    """
    if not _NAME.fullmatch(name) or name.startswith("mcp."):
        raise ValueError("the name is not 1 to 128 of A-Z a-z 0-9 _ . - or begins with mcp.")
    if not _EVENT_ID.fullmatch(event_id):
        raise ValueError("the id is not 1 to 256 visible ASCII characters without a dot")
    if len(compact(data).encode()) > MAX_DATA_BYTES:
        raise ValueError(f"data has more than {MAX_DATA_BYTES} bytes")
    occurrence: dict[str, Any] = {
        "kind": "event",
        "name": name,
        "eventId": event_id,
        "timestamp": _iso(timestamp),
    }
    if group is not None:
        occurrence["group"] = group
    return compact({**occurrence, "data": data})


def compact(value: object) -> str:
    """Returns compact JSON text. Raises `ValueError` for numbers that JSON does not have."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _read(line: str) -> ServerEvent | str | None:
    """Returns a change, the kind of an event that the SDK does not know, or None."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kind = event.get("kind") if isinstance(event, dict) else None
    if kind == "resource_updated":
        uri = event.get("uri")
        return ResourceUpdated(uri=uri) if isinstance(uri, str) else None
    if not isinstance(kind, str):
        return None
    known = {name: changed for changed, name in _KINDS.items()}.get(kind)
    if known is not None:
        return known()
    return kind if kind in _OTHERS else None


def _iso(timestamp: datetime | str | None) -> str:
    if isinstance(timestamp, str):
        return timestamp
    at = timestamp or datetime.now(timezone.utc)
    if at.tzinfo is None:
        raise ValueError("the timestamp has no time zone")
    return at.isoformat(timespec="milliseconds")


_KINDS: dict[
    type[ToolsListChanged] | type[PromptsListChanged] | type[ResourcesListChanged], str
] = {
    ToolsListChanged: "tools_list_changed",
    PromptsListChanged: "prompts_list_changed",
    ResourcesListChanged: "resources_list_changed",
}
_OTHERS = {"task_status", "for_group", "disconnect", "event"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_EVENT_ID = re.compile(r"[!-\-/-~]{1,256}")
MAX_DATA_BYTES = 196_608
