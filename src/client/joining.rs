use crate::capabilities::Capabilities;

/// What is known of the server on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// Nothing: it is asked with `server/discover`.
    Discover,
    /// It speaks 2026-07-28.
    Modern,
    /// It is of an earlier revision, and nobody has begun.
    Legacy,
    /// It is of an earlier revision, and somebody has begun; it notifies about this.
    Session(Capabilities),
}
