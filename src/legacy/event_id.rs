//! The ids of the events on a session's stream (2025-11-25, Transports: Resumability).

use alloc::{borrow::ToOwned, string::String};

use crate::vocabulary::position::{Cursor, Position};

/// Returns the id for "everything up to `cursor`": opaque visible ASCII. Without a usable cursor,
/// returns an id that [`read`] rejects, so that a client that resumes from it gets every cue.
pub fn write(cursor: Option<&Cursor>) -> String {
    cursor
        .filter(|cursor| is_visible(&cursor.epoch))
        .map_or_else(
            || UNKNOWN.to_owned(),
            |cursor| format!("{}-{}", cursor.position.0, cursor.epoch),
        )
}

/// Reads the cursor from an id; `None` if it contains none.
pub fn read(id: &str) -> Option<Cursor> {
    let (position, epoch) = id.split_once('-')?;
    let is_number = position.bytes().all(|byte| byte.is_ascii_digit());
    let position = position
        .parse()
        .ok()
        .filter(|position| is_number && *position < 1 << 53)?;
    is_visible(epoch).then(|| Cursor {
        epoch: epoch.into(),
        position: Position(position),
    })
}

/// Whether an epoch can be part of an id. A log without an epoch cannot be replayed.
fn is_visible(epoch: &str) -> bool {
    !epoch.is_empty() && epoch.len() <= 256 && epoch.bytes().all(|byte| byte.is_ascii_graphic())
}

const UNKNOWN: &str = "unknown";
