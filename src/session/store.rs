use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, vocabulary::uri::Uri};

use super::{Claim, Session, Totals};

/// Where sessions are kept, with the URIs that each one watches.
pub trait Store {
    /// Why it could not be read or written.
    type Error;

    /// A session.
    ///
    /// # Errors
    /// Where it cannot be read, as all below where they cannot be read or written.
    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error>;

    /// Keeps a session, in place of what was kept of it.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error>;

    /// Forgets a session, and what it watches.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn remove(&mut self, id: &str) -> Result<(), Self::Error>;

    /// What a session watches.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn watched(&self, id: &str) -> Result<Vec<Uri>, Self::Error>;

    /// Whether a session watches a resource.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn watches(&self, id: &str, uri: &str) -> Result<bool, Self::Error>;

    /// Adds a URI to what a session watches, which it does not watch yet.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn watch(&mut self, id: &str, uri: &str) -> Result<(), Self::Error>;

    /// Takes a URI out of what a session watches.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn unwatch(&mut self, id: &str, uri: &str) -> Result<(), Self::Error>;

    /// The ids of the sessions of a [`caller`](super::NewSession::caller), the first to begin first.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Self::Error>;

    /// The ids of the sessions whose [`ends_at`](Session::ends_at) is before `now`.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Self::Error>;

    /// The ids of the sessions whose stream is at a shard, or at [`ROOT`](super::ROOT).
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Self::Error>;

    /// Notes that a shard has to let go the streams of a session that are older than this one.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error>;

    /// It has, or need not.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error>;

    /// What is noted so.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn releases(&self) -> Result<Vec<(u32, Claim)>, Self::Error>;

    /// What all sessions take: of callers with a name, and of callers without.
    #[expect(clippy::missing_errors_doc, reason = "as of get")]
    fn totals(&self) -> Result<[Totals; 2], Self::Error>;
}
