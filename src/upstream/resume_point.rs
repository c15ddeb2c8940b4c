use alloc::vec::Vec;

use crate::{
    vocabulary::{position::Cursor, uri::Uri},
    wire::Claim,
};

/// What was received before an attach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumePoint {
    /// Nothing: the stream begins here.
    None,
    /// Every event up to this cursor.
    Since(Cursor),
    /// Something, but up to where is unknown.
    Unknown,
}

/// The state of a session's stream beside the stream itself (2025-11-25). It is the only stream of
/// its connection.
#[derive(Clone, Debug)]
pub struct SessionStart {
    /// The session and the number of the stream. The bus adds the session's subscriptions and
    /// reports them as [`SessionInterest`](crate::wire::SessionInterest).
    pub session: Claim,
    /// What the client has received already. If the bus cannot replay later events, the stream cues
    /// everything that it honors.
    pub past: ResumePoint,
    /// Resources that the client may no longer receive, although the session is subscribed to them.
    pub denied: Vec<Uri>,
}

impl ResumePoint {
    /// Returns the point at this cursor; a log without an epoch cannot be replayed.
    pub(super) fn of(cursor: Cursor) -> Self {
        if cursor.epoch.is_empty() {
            Self::Unknown
        } else {
            Self::Since(cursor)
        }
    }

    /// Returns the cursor up to which every event was received, if it is known.
    pub(super) fn since(&self) -> Option<&Cursor> {
        match self {
            Self::Since(cursor) => Some(cursor),
            Self::None | Self::Unknown => None,
        }
    }

    /// Whether nothing is missing if the bus continues from this cursor.
    pub(super) fn is_whole_from(&self, cursor: &Cursor) -> bool {
        match self {
            Self::None => true,
            Self::Since(since) => since == cursor,
            Self::Unknown => false,
        }
    }
}
