use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, vocabulary::uri::Uri};

use super::{Claim, Session, Totals};

/// Keeps sessions and the URIs that each one is subscribed to.
pub trait SessionStore {
    /// The error of a failed read or write.
    type Error;

    /// Returns a session.
    ///
    /// # Errors
    /// If the read fails; likewise for all functions below if a read or write fails.
    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error>;

    /// Stores a session, replacing its previous state.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error>;

    /// Removes a session and its subscriptions.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn remove(&mut self, id: &str) -> Result<(), Self::Error>;

    /// Returns the subscriptions of a session.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn subscriptions(&self, id: &str) -> Result<Vec<Uri>, Self::Error>;

    /// Whether a session is subscribed to a resource.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn is_subscribed(&self, id: &str, uri: &str) -> Result<bool, Self::Error>;

    /// Adds a subscription that the session does not have yet.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn subscribe(&mut self, id: &str, uri: &str) -> Result<(), Self::Error>;

    /// Removes a subscription of a session.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn unsubscribe(&mut self, id: &str, uri: &str) -> Result<(), Self::Error>;

    /// Returns the ids of the sessions of a [`caller`](super::NewSession::caller), in the order in
    /// which they began.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Self::Error>;

    /// Returns the ids of the sessions whose [`ends_at`](Session::ends_at) is before `now`.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Self::Error>;

    /// Returns the ids of the sessions whose stream is at a shard, or at [`ROOT`](super::ROOT).
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Self::Error>;

    /// Records that a shard has to close the streams of a session that are older than this one.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error>;

    /// Removes such a record.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error>;

    /// Returns these records.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn releases(&self) -> Result<Vec<(u32, Claim)>, Self::Error>;

    /// Returns the totals of all sessions: of callers with a name, and of callers without.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of get")]
    fn totals(&self) -> Result<[Totals; 2], Self::Error>;
}
