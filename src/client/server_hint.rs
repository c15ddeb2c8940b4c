use crate::vocabulary::capabilities::Capabilities;

/// How a client first contacts a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerHint {
    /// Sends `server/discover` to learn which revision the server speaks. In a page, a missing
    /// response may come from a server of an earlier revision (see
    /// [`revision::of_no_response`](super::revision::of_no_response)).
    Discover {
        /// Whether the client runs in a browser page.
        is_page: bool,
    },
    /// The server is known to speak 2026-07-28.
    Modern,
    /// The server is known to keep sessions.
    Legacy,
    /// Another component has begun a session on the channel, with these capabilities.
    Joined(Capabilities),
}
