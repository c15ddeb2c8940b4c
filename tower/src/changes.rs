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

/// The events of a bus that a filter names, for who delivers them in a way of its own; [`Bus::subscribe`](crate::Bus::subscribe)
/// makes it. What is not taken collapses: at most one event waits for each list and URI, the latest, in the order in which
/// the first of them came.
#[derive(Debug)]
pub struct Changes {
    id: StreamId,
    streams: Arc<Streams>,
    is_closed: bool,
}

impl Changes {
    pub(crate) fn new(streams: &Arc<Streams>, filter: SubscriptionFilter) -> Option<Self> {
        // Nobody reads the messages that would carry the id.
        let id = RequestId::from_text("");
        let make = |now| ServerStream::new(id, filter, Duration::ZERO, now);
        Some(Self {
            id: streams.subscribe(make).ok()?,
            streams: Arc::clone(streams),
            is_closed: false,
        })
    }

    /// The next event; `None` when the bus is closed and everything has been taken, or when the caller that the filter's scope
    /// names was revoked; at once where it names nothing. May be cancelled: nothing is taken before it is answered.
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

    /// Whether it has ended because the bus was closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// From now on another filter holds; what waits and is not named by it is dropped.
    pub fn filter(&self, filter: SubscriptionFilter) {
        self.streams.filter(self.id, filter);
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.streams.remove(self.id);
    }
}
