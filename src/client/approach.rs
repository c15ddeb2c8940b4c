use crate::vocabulary::capabilities::Capabilities;

/// How a server is approached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// It is asked with `server/discover`; to a page, no answer at all may come from a server of an
    /// earlier revision (see [`era::of_no_response`](super::era::of_no_response)).
    Discover {
        /// Whether a browser stands between.
        is_page: bool,
    },
    /// It is known to speak 2026-07-28.
    Modern,
    /// It is known to keep sessions.
    Legacy,
    /// Somebody has begun a session on the channel, in which it notifies about this.
    Joined(Capabilities),
}
