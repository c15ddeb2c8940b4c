use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_listen::{
    event::ServerEvent,
    fanout::StreamId,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{Next, ServerStream},
};

use crate::streams::Streams;

/// The events of a bus that a filter names, for another transport; created by
/// [`Bus::subscribe`](crate::Bus::subscribe). Events that are not taken collapse: for each list and
/// URI, at most the latest is pending, in the order of the first ones.
#[derive(Debug)]
pub struct Changes {
    id: StreamId,
    streams: Arc<Streams>,
    is_closed: bool,
}

impl Changes {
    pub(crate) fn new(streams: &Arc<Streams>, filter: SubscriptionFilter) -> Option<Self> {
        // The messages that would carry the id are never sent.
        let id = RequestId::from_text("");
        let make = |now| ServerStream::new(id, filter, Duration::ZERO, now);
        Some(Self {
            id: streams.subscribe(make).ok()?,
            streams: Arc::clone(streams),
            is_closed: false,
        })
    }

    /// Returns the next event. Returns `None` when the bus is closed and everything has been taken,
    /// when the caller in the filter's scope is disconnected, and at once if the filter is empty.
    /// Cancel safe: no event is taken before this returns.
    pub async fn next(&mut self) -> Option<ServerEvent> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// As [`Changes::next`].
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<ServerEvent>> {
        loop {
            match ready!(self.streams.poll_next(self.id, context.waker())) {
                Next::Changed(event) => return Poll::Ready(Some(event)),
                Next::End => return Poll::Ready(None),
                Next::Result => self.is_closed = true,
                _ => {}
            }
        }
    }

    /// Whether the subscription ended because the bus was closed, or its first filter was empty.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Replaces the filter; drops pending events that the new one does not name. With an empty one
    /// [`Changes::next`] waits until the bus is closed.
    pub fn filter(&self, filter: SubscriptionFilter) {
        self.streams.filter(self.id, filter);
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.streams.remove(self.id);
    }
}
