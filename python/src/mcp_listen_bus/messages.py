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
    occurrence: dict[str, Any] = {
        "kind": "event",
        "name": name,
        "eventId": event_id,
        "timestamp": _iso(timestamp),
    }
    if group is not None:
        if not _is_group(group):
            raise ValueError("the group is not a valid name")
        occurrence["group"] = group
    _check_data(data)
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
    if not isinstance(timestamp, str):
        timestamp = (timestamp or datetime.now(timezone.utc)).isoformat(timespec="milliseconds")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise ValueError("the timestamp is not ISO 8601 with an offset")
    return timestamp


def _is_group(text: str) -> bool:
    return (
        0 < len(text.encode()) <= MAX_GROUP_BYTES
        and not _CONTROL.search(text)
        and not text.startswith(GROUP_PREFIX)
    )


def _check_data(data: object) -> None:
    """Raises `ValueError` unless it is a payload that every server can read."""
    try:
        text = compact(data)
        if len(text.encode()) > MAX_DATA_BYTES:
            raise ValueError(f"data has more than {MAX_DATA_BYTES} bytes")
        written = json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if not isinstance(written, dict):
        raise ValueError("data is not an object")
    if not _nests_within(MAX_DEPTH, written):
        raise ValueError(TOO_DEEP)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # JSON has the keys 1 and "1" of a dictionary twice.
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("data has a key twice")
    return members


def _nests_within(levels: int, value: object) -> bool:
    """Returns whether lists and objects nest at most `levels` deep."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_nests_within(levels - 1, item) for item in items)


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
_TIMESTAMP = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
GROUP_PREFIX = "mcp-events:"
"""Groups that begin with it are those of the servers themselves."""
MAX_GROUP_BYTES = 2_048 - len(GROUP_PREFIX)
"""The cue of an occurrence is for a group with both in its name."""
MAX_DATA_BYTES = 196_608
MAX_DEPTH = 32
TOO_DEEP = f"data nests more than {MAX_DEPTH} deep"
