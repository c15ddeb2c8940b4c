"""Where a bus is in a stream of NATS."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone

from nats.js.api import StreamInfo

NEVER = datetime.min.replace(tzinfo=timezone.utc)
"""A time before that of any message."""


@dataclass
class Cursor:
    """The position in a stream."""

    created: datetime | None
    """
    When the stream was created: identifies it among streams with the same name. One that is
    restored from a backup has the same.
    """
    sequence: int
    at: datetime | None
    """
    When the message with this sequence number was stored, by the clock of the server; None until it
    was received, and `NEVER` if the stream does not have it. A restored stream gives the same
    number to a message with another time.
    """
    checked: float
    """When the stream was last checked, in seconds since 1970."""


def continues(cursor: Cursor, info: StreamInfo) -> bool:
    """
    Returns whether a stream has everything after a position, unless the message there is another
    one.
    """
    state = info.state
    if (
        info.created != cursor.created
        or not state.first_seq - 1 <= cursor.sequence <= state.last_seq
    ):
        return False
    # If the message has left the window: had a restored stream given its number to another one
    # since the last check, that would still be there.
    age = time.time() - cursor.checked
    return has_message(info, cursor.sequence) or age < (info.config.max_age or 0)


def has_message(info: StreamInfo, sequence: int) -> bool:
    """Returns whether a stream has a message, unless that one was deleted alone."""
    return info.state.messages > 0 and info.state.first_seq <= sequence
