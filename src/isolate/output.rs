use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    fanout::{Published, StreamId, WriteBatch},
    listen::ServerStream,
    vocabulary::{
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        scope::Scope,
    },
};

use super::Isolate;

/// An output for the streams.
#[derive(Debug)]
#[non_exhaustive]
pub enum IsolateOutput {
    /// Write fanned-out events at once. For streams that have no room for them, call
    /// [`Fanout::handle_missed`](crate::fanout::Fanout::handle_missed) before anything else, then
    /// poll the streams of [`Fanout::take_due`](crate::fanout::Fanout::take_due).
    Write(WriteBatch),
    /// Poll these streams: the bus has confirmed all of their topics, so that they can be
    /// acknowledged, or they may have missed something.
    Poll(Vec<StreamId>),
    /// The stream cannot be opened: remove it.
    Refused {
        /// The stream.
        id: StreamId,
        /// Whether the bus has no room for its topics; otherwise the bus is unavailable.
        is_full: bool,
    },
    /// An open stream was removed and continues elsewhere: see [`Isolate::adopt`].
    Moved(Box<MovedStream>),
}

impl IsolateOutput {
    /// Returns the number of streams that are written to.
    fn writes(&self) -> usize {
        match self {
            Self::Write(batch) => batch.writes.len(),
            Self::Poll(ids) => ids.len(),
            Self::Refused { .. } | Self::Moved(_) => 1,
        }
    }
}

/// A stream that moves from one isolate to another.
#[derive(Debug)]
#[non_exhaustive]
pub struct MovedStream {
    /// Its id in the previous isolate.
    pub id: StreamId,
    /// The stream.
    pub stream: ServerStream,
    /// The cursor up to which it has received every event.
    pub since: Option<Cursor>,
}

/// A pending output. Streams receive events and change state in this order.
#[derive(Debug)]
pub(super) enum IsolateStep {
    Events(EventBatch),
    Gap,
    /// The stream is attached at this position of the log.
    Attached(StreamId, Position),
    /// The stream has nothing to wait for.
    Finished(StreamId),
    /// The stream of a session has received every event up to this cursor.
    Delivered {
        id: StreamId,
        cursor: Option<Cursor>,
    },
    /// The stream of a session may have missed something.
    Lost(StreamId),
    /// The subscriptions of a stream's session have changed, or its client is ready.
    SessionInterest {
        id: StreamId,
        filter: SubscriptionFilter,
        is_paused: bool,
    },
    Refused {
        id: StreamId,
        is_full: bool,
    },
    MoveOut {
        id: StreamId,
        since: Option<Cursor>,
        scope: Option<Scope>,
    },
}

/// Events that are fanned out together.
#[derive(Debug)]
pub(super) struct EventBatch {
    pub(super) events: Vec<Published>,
    /// The bytes of their names.
    pub(super) bytes: usize,
    /// The cursor up to which the stream of a session has received every event after these.
    pub(super) delivered: Option<Cursor>,
}

impl Isolate {
    /// Returns the next output for the streams. Its writes count as work of the request that owns
    /// the connection. If that request has to yield, returns `None` until [`Isolate::poll_lease`]
    /// was polled.
    pub fn poll_output(&mut self, now: Millis) -> Option<IsolateOutput> {
        while !self.lease.must_yield() {
            let step = self.steps.pop_front()?;
            if let Some(output) = self.take(step, now) {
                self.lease.handle_writes(output.writes());
                return Some(output);
            }
        }
        None
    }

    /// Whether there is a pending output for the streams.
    pub fn has_output(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether the last pending output attaches or refuses a waiting stream, whose request waits
    /// for it.
    pub fn has_confirmations(&self) -> bool {
        matches!(
            self.steps.back(),
            Some(IsolateStep::Attached(..) | IsolateStep::Refused { .. })
        )
    }

    fn take(&mut self, step: IsolateStep, now: Millis) -> Option<IsolateOutput> {
        match step {
            IsolateStep::Events(mut batch) => {
                let events = &mut batch.events;
                let write = self.fanout.publish_received(events, MAX_CHUNK_BYTES, now);
                if !batch.events.is_empty() {
                    self.steps.push_front(IsolateStep::Events(batch));
                } else if let (Some(id), Some(delivered)) = (self.session_of(), batch.delivered) {
                    self.fanout.handle_delivered(id, Some(delivered));
                }
                Some(IsolateOutput::Write(write))
            }
            IsolateStep::Gap => {
                self.fanout.handle_gap();
                Some(IsolateOutput::Poll(self.fanout.ids()))
            }
            IsolateStep::Attached(..) | IsolateStep::Finished(_) => self.attach(step, now),
            IsolateStep::Delivered { id, cursor } => {
                self.fanout.handle_delivered(id, cursor);
                None
            }
            IsolateStep::Lost(id) => {
                self.fanout.handle_loss(id);
                let is_open = self.stream(id).is_some_and(|stream| !stream.is_opening());
                is_open.then(|| IsolateOutput::Poll(vec![id]))
            }
            IsolateStep::SessionInterest {
                id,
                mut filter,
                is_paused,
            } => {
                filter.scope = self.honored(id)?.scope.clone();
                self.fanout.handle_filter(id, filter);
                self.fanout.touch(id, |stream| stream.set_paused(is_paused));
                let is_open = self.stream(id).is_some_and(|stream| !stream.is_opening());
                is_open.then(|| IsolateOutput::Poll(vec![id]))
            }
            IsolateStep::Refused { id, is_full } => {
                let is_open = self.stream(id).is_some();
                is_open.then_some(IsolateOutput::Refused { id, is_full })
            }
            IsolateStep::MoveOut { id, since, scope } => {
                let honored = self.honored(id)?;
                let mut stream = self.fanout.take(id)?;
                self.lease.leave(id);
                self.release(&honored.topics());
                if let Some(scope) = scope {
                    stream.scope_to(scope);
                }
                Some(IsolateOutput::Moved(Box::new(MovedStream {
                    id,
                    stream,
                    since,
                })))
            }
        }
    }

    /// Attaches streams; those that were confirmed together are polled together.
    fn attach(&mut self, first: IsolateStep, now: Millis) -> Option<IsolateOutput> {
        let mut attached = Vec::new();
        let mut next = Some(first);
        while let Some(step) = next.take() {
            match step {
                IsolateStep::Attached(id, from) => {
                    if self.stream(id).is_some_and(ServerStream::is_opening) {
                        self.fanout.handle_attached_from(id, from, now);
                        attached.push(id);
                    }
                }
                IsolateStep::Finished(id) => attached.push(id),
                other => {
                    self.steps.push_front(other);
                    break;
                }
            }
            next = self.steps.pop_front();
        }
        (!attached.is_empty()).then_some(IsolateOutput::Poll(attached))
    }
}

/// The bytes of a write's chunks, each counted once, after which no further event is added: one
/// event at most doubles them and adds a frame for each stream. Later events are the next write.
const MAX_CHUNK_BYTES: usize = 4 << 20;
