use alloc::{boxed::Box, vec::Vec};

use crate::{
    bus::{Mark, Position},
    clock::Millis,
    fanout::{Fan, Published, StreamId},
    listen::ServerStream,
    vocabulary::{filter::SubscriptionFilter, scope::Scope},
};

use super::Isolate;

/// What is to be done for the streams.
#[derive(Debug)]
pub enum IsolateOutput {
    /// Events were fanned out. This is to be written at once; for streams that have no room for it, call
    /// [`Fanout::handle_missed`](crate::fanout::Fanout::handle_missed) before anything else, then poll those of
    /// [`Fanout::take_due`](crate::fanout::Fanout::take_due).
    Write(Fan),
    /// These streams are to be polled: the bus is known to send all that they want, so that they can be acknowledged, or they may have
    /// missed something.
    Poll(Vec<StreamId>),
    /// The stream cannot be opened: it is to be removed.
    Refused {
        /// Which.
        id: StreamId,
        /// Whether the bus has no room for what it wants; otherwise there is no bus.
        is_full: bool,
    },
    /// A stream that is open is held here no longer: see [`Isolate::adopt`].
    Parted(Box<Parted>),
}

impl IsolateOutput {
    /// How many streams are written to.
    fn writes(&self) -> usize {
        match self {
            Self::Write(fan) => fan.writes.len(),
            Self::Poll(ids) => ids.len(),
            Self::Refused { .. } | Self::Parted(_) => 1,
        }
    }
}

/// A stream on its way from one isolate to another.
#[derive(Debug)]
pub struct Parted {
    /// Its id where it was.
    pub id: StreamId,
    /// The stream.
    pub stream: ServerStream,
    /// Up to where in the log of the bus it was given everything.
    pub since: Option<Mark>,
}

/// An output that is yet to be made: what streams hear, and what becomes of them, happens in this order.
#[derive(Debug)]
pub(super) enum Step {
    Events(Batch),
    Gap,
    /// The log has come that far.
    Attached(StreamId, Position),
    /// It has nothing to wait for.
    Finished(StreamId),
    /// The stream of a session was given everything up to here.
    Given {
        id: StreamId,
        mark: Option<Mark>,
    },
    /// The stream of a session may have missed something.
    Lost(StreamId),
    /// The session of a stream watches something else, or its client is ready.
    Watched {
        id: StreamId,
        filter: SubscriptionFilter,
        is_held: bool,
    },
    Refused {
        id: StreamId,
        is_full: bool,
    },
    Part {
        id: StreamId,
        since: Option<Mark>,
        scope: Option<Scope>,
    },
}

/// Events that are fanned out together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: Vec<Published>,
    /// What their names count.
    pub(super) bytes: usize,
    /// Up to where the stream of a session has been given everything then.
    pub(super) given: Option<Mark>,
}

impl Isolate {
    /// The next thing to do for the streams. What it takes to write counts as work of the request that has the connection: where that
    /// must yield, this returns `None` until [`Isolate::poll_lease`] was polled.
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

    /// Whether there is something to do for the streams.
    pub fn has_output(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether the last thing to do answers streams that wait for the bus: their requests wait with them.
    pub fn has_answers(&self) -> bool {
        matches!(
            self.steps.back(),
            Some(Step::Attached(..) | Step::Refused { .. })
        )
    }

    fn take(&mut self, step: Step, now: Millis) -> Option<IsolateOutput> {
        match step {
            Step::Events(batch) => {
                if let (Some(id), Some(given)) = (self.session_of(), batch.given) {
                    self.fanout.handle_given(id, Some(given));
                }
                let fan = self.fanout.publish_heard(batch.events, now);
                Some(IsolateOutput::Write(fan))
            }
            Step::Gap => {
                self.fanout.handle_gap();
                Some(IsolateOutput::Poll(self.fanout.ids()))
            }
            Step::Attached(..) | Step::Finished(_) => self.attach(step, now),
            Step::Given { id, mark } => {
                self.fanout.handle_given(id, mark);
                None
            }
            Step::Lost(id) => {
                self.fanout.handle_loss(id);
                let is_open = self.stream(id).is_some_and(|stream| !stream.is_opening());
                is_open.then(|| IsolateOutput::Poll(vec![id]))
            }
            Step::Watched {
                id,
                mut filter,
                is_held,
            } => {
                filter.scope = self.honored(id)?.scope.clone();
                self.fanout.handle_filter(id, filter);
                self.fanout.touch(id, |stream| stream.handle_hold(is_held));
                let is_open = self.stream(id).is_some_and(|stream| !stream.is_opening());
                is_open.then(|| IsolateOutput::Poll(vec![id]))
            }
            Step::Refused { id, is_full } => {
                let is_held = self.stream(id).is_some();
                is_held.then_some(IsolateOutput::Refused { id, is_full })
            }
            Step::Part { id, since, scope } => {
                let honored = self.honored(id)?;
                let mut stream = self.fanout.take(id)?;
                self.lease.leave(id);
                self.release(&honored.topics());
                if let Some(scope) = scope {
                    stream.scope_to(scope);
                }
                Some(IsolateOutput::Parted(Box::new(Parted {
                    id,
                    stream,
                    since,
                })))
            }
        }
    }

    /// Those that were served together are polled together.
    fn attach(&mut self, first: Step, now: Millis) -> Option<IsolateOutput> {
        let mut attached = Vec::new();
        let mut next = Some(first);
        while let Some(step) = next.take() {
            match step {
                Step::Attached(id, from) => {
                    if self.stream(id).is_some_and(ServerStream::is_opening) {
                        self.fanout.handle_attached_from(id, from, now);
                        attached.push(id);
                    }
                }
                Step::Finished(id) => attached.push(id),
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
