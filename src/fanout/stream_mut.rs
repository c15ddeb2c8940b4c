use core::ops::Deref;

use crate::{
    clock::Millis,
    listen::{EndReason, ServerStream},
    vocabulary::filter::SubscriptionFilter,
};

/// A stream of a [`Fanout`](super::Fanout), as lent by
/// [`Fanout::with_stream`](super::Fanout::with_stream).
///
/// Exposes what may change on a stream independently. The honored filter is excluded, because the
/// index of the fan-out depends on it: it changes only through
/// [`Fanout::handle_filter`](super::Fanout::handle_filter) and
/// [`Fanout::handle_scope`](super::Fanout::handle_scope).
#[derive(Debug)]
pub struct StreamMut<'s>(&'s mut ServerStream);

impl<'s> StreamMut<'s> {
    pub(super) fn new(stream: &'s mut ServerStream) -> Self {
        Self(stream)
    }

    /// As [`ServerStream::handle_blocked`].
    pub fn handle_blocked(&mut self, now: Millis) {
        self.0.handle_blocked(now);
    }

    /// As [`ServerStream::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Millis) {
        self.0.handle_timeout(now);
    }

    /// As [`ServerStream::handle_granted`].
    pub fn handle_granted(&mut self, allowed: &SubscriptionFilter, now: Millis) {
        self.0.handle_granted(allowed, now);
    }

    /// As [`ServerStream::handle_denied`].
    pub fn handle_denied(&mut self) {
        self.0.handle_denied();
    }

    /// As [`ServerStream::expire_at`].
    pub fn expire_at(&mut self, at: Millis) {
        self.0.expire_at(at);
    }

    /// As [`ServerStream::never_expire`].
    pub fn never_expire(&mut self) {
        self.0.never_expire();
    }

    /// As [`ServerStream::retire_at`].
    pub fn retire_at(&mut self, at: Millis, why: EndReason) {
        self.0.retire_at(at, why);
    }

    /// As [`ServerStream::retire`].
    pub fn retire(&mut self, why: EndReason) {
        self.0.retire(why);
    }

    /// As [`ServerStream::close`].
    pub fn close(&mut self) {
        self.0.close();
    }

    /// As [`ServerStream::give_up`].
    pub fn give_up(&mut self) {
        self.0.give_up();
    }

    /// As [`ServerStream::abort`].
    pub fn abort(&mut self) {
        self.0.abort();
    }
}

/// Read access to the stream.
impl Deref for StreamMut<'_> {
    type Target = ServerStream;

    fn deref(&self) -> &ServerStream {
        self.0
    }
}
