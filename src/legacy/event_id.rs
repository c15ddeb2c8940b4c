//! The ids of the events on a session's stream (2025-11-25, Transports: Resumability).

use alloc::{borrow::ToOwned, string::String};

use crate::vocabulary::position::{Mark, Position};

/// Returns the id for "everything up to `mark`": opaque visible ASCII. Without a usable mark,
/// returns an id that [`read`] rejects, so that a client that resumes from it gets every cue.
pub fn write(mark: Option<&Mark>) -> String {
    mark.filter(|mark| is_visible(&mark.epoch)).map_or_else(
        || UNKNOWN.to_owned(),
        |mark| format!("{}-{}", mark.position.0, mark.epoch),
    )
}

/// Reads the mark from an id; `None` if it contains none.
pub fn read(id: &str) -> Option<Mark> {
    let (position, epoch) = id.split_once('-')?;
    let is_number = position.bytes().all(|byte| byte.is_ascii_digit());
    let position = position
        .parse()
        .ok()
        .filter(|position| is_number && *position < 1 << 53)?;
    is_visible(epoch).then(|| Mark {
        epoch: epoch.into(),
        position: Position(position),
    })
}

/// Whether an epoch can be part of an id. A log without an epoch cannot be replayed.
fn is_visible(epoch: &str) -> bool {
    !epoch.is_empty() && epoch.len() <= 256 && epoch.bytes().all(|byte| byte.is_ascii_graphic())
}

const UNKNOWN: &str = "unknown";
