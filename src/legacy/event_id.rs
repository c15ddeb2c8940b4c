//! The ids of the events on a session's stream (2025-11-25, Transports: Resumability).

use alloc::{borrow::ToOwned, string::String};

use crate::vocabulary::position::{Mark, Position};

/// The id that says "everything up to `mark`": visible ASCII, to be taken as opaque. Where no
/// mark can be told, an id that is none, so that whoever resumes from it is cued everything.
pub fn write(mark: Option<&Mark>) -> String {
    mark.filter(|mark| is_visible(&mark.epoch)).map_or_else(
        || UNKNOWN.to_owned(),
        |mark| format!("{}-{}", mark.position.0, mark.epoch),
    )
}

/// The mark that an id says; `None` where it says none.
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

/// A log without an epoch is none that could be replayed.
fn is_visible(epoch: &str) -> bool {
    !epoch.is_empty() && epoch.len() <= 256 && epoch.bytes().all(|byte| byte.is_ascii_graphic())
}

const UNKNOWN: &str = "unknown";
