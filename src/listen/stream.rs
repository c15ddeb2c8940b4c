use crate::{
    clock::Millis, event::ServerEvent, filter::SubscriptionFilter, id::RequestId, message,
    position::Position,
};

use super::cues::Cues;

/// What a stream wants written next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The stream is open; an unstamped stream says so without a message.
    Opened,
    /// One JSON-RPC message.
    Message(String),
    /// A sign of life that carries nothing.
    KeepAlive,
    /// The stream ends here; nothing follows.
    End,
}

/// What the messages of a stream carry beside their own content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The id of the listen request that opened the stream; it is acknowledged first, and its
    /// result ends the stream (2026-07-28, Subscriptions).
    Subscription(RequestId),
    /// Nothing: the stream of a session, which is neither acknowledged nor answered
    /// (2025-11-25, Transports: Listening for Messages from the Server).
    None,
}

/// The server's side of one stream of notifications, from registration to its end.
///
/// Feed it with the `handle_*` methods; after each, and whenever the transport has
/// room, call [`ServerStream::poll_output`] until it answers `None`. Call
/// [`ServerStream::handle_timeout`] when [`ServerStream::poll_timeout`] says.
/// What is not polled stays collapsed: one cue a key.
#[derive(Debug)]
pub struct ServerStream {
    stamp: Stamp,
    honored: SubscriptionFilter,
    server_info: Option<String>,
    state: State,
    cues: Cues,
    keep_alive: KeepAlive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not yet registered with the bus: events are kept, nothing may be written.
    Opening,
    /// Registered. The acknowledgment goes out before anything else.
    Open {
        is_acknowledged: bool,
    },
    /// Closing gracefully: what is pending goes out, then the result.
    Draining {
        is_acknowledged: bool,
    },
    /// Everything is written, or given up; the end has yet to be told.
    Ending,
    Closed,
}

#[derive(Debug)]
struct KeepAlive {
    interval: Millis,
    written_at: Millis,
    is_due: bool,
}

impl ServerStream {
    /// The stream of a subscription that waits for its registration; `keep_alive` zero means no keep-alives.
    pub fn new(
        id: RequestId,
        honored: SubscriptionFilter,
        keep_alive: Millis,
        now: Millis,
    ) -> Self {
        Self::with_stamp(Stamp::Subscription(id), honored, keep_alive, now)
    }

    /// A stream with any stamp; otherwise as [`ServerStream::new`].
    pub fn with_stamp(
        stamp: Stamp,
        honored: SubscriptionFilter,
        keep_alive: Millis,
        now: Millis,
    ) -> Self {
        Self {
            stamp,
            cues: Cues::new(&honored),
            honored,
            server_info: None,
            state: State::Opening,
            keep_alive: KeepAlive {
                interval: keep_alive,
                written_at: now,
                is_due: false,
            },
        }
    }

    /// Names the server in the result that ends the stream; `server_info` is compact JSON.
    #[must_use]
    pub fn with_server_info(mut self, server_info: Option<String>) -> Self {
        self.server_info = server_info;
        self
    }

    /// The bus has confirmed the registration: the acknowledgment may go out.
    pub fn handle_attached(&mut self, now: Millis) {
        if self.state == State::Opening {
            self.keep_alive.written_at = now;
            self.state = State::Open {
                is_acknowledged: false,
            };
        }
    }

    /// The bus delivered an event; what the filter does not honor is ignored.
    pub fn handle_event(&mut self, event: &ServerEvent) {
        self.push(event, None);
    }

    /// The bus delivered the event at `position` of its log; see [`ServerStream::covered`].
    pub fn handle_event_at(&mut self, event: &ServerEvent, position: Position) {
        self.push(event, Some(position));
    }

    /// Events may have been missed: every honored list and resource is cued once. The state of a task
    /// is more than a cue, and cannot be made up.
    pub fn handle_gap(&mut self) {
        for event in self.honored.subjects() {
            self.push(&event, None);
        }
    }

    /// From now on the filter is another one; cues that it does not honor are dropped.
    pub fn handle_filter(&mut self, honored: SubscriptionFilter) {
        self.cues.refilter(&honored);
        self.honored = honored;
    }

    /// The moment of [`ServerStream::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.keep_alive.is_due |= self.poll_timeout().is_some_and(|deadline| deadline <= now);
    }

    /// Ends the stream gracefully: pending cues go out, then the result of the listen request.
    /// A stream that was never registered just ends.
    pub fn close(&mut self) {
        match self.state {
            State::Opening => self.abort(),
            State::Open { is_acknowledged } => self.state = State::Draining { is_acknowledged },
            State::Draining { .. } | State::Ending | State::Closed => {}
        }
    }

    /// Ends the stream at once and without a result, as a drop: a client then comes back.
    pub fn abort(&mut self) {
        self.cues.clear();
        if self.state != State::Closed {
            self.state = State::Ending;
        }
    }

    /// The next thing to write, or `None` until something is handled again.
    pub fn poll_output(&mut self, now: Millis) -> Option<Output> {
        let output = match self.state {
            State::Opening | State::Closed => return None,
            State::Ending => {
                self.state = State::Closed;
                return Some(Output::End);
            }
            State::Open { is_acknowledged } => {
                self.state = State::Open {
                    is_acknowledged: true,
                };
                self.pending(is_acknowledged)
                    .or_else(|| self.keep_alive.is_due.then_some(Output::KeepAlive))?
            }
            State::Draining { is_acknowledged } => {
                self.state = State::Draining {
                    is_acknowledged: true,
                };
                self.pending(is_acknowledged)
                    .unwrap_or_else(|| self.result())
            }
        };
        self.keep_alive.written_at = now;
        self.keep_alive.is_due = false;
        Some(output)
    }

    /// When to call [`ServerStream::handle_timeout`]; `None` while no keep-alive has to be made.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let waits = matches!(self.state, State::Open { .. })
            && self.keep_alive.interval > Millis(0)
            && !self.keep_alive.is_due;
        waits.then(|| self.keep_alive.written_at + self.keep_alive.interval)
    }

    /// The position up to which everything has been polled, where `latest` is that of the last
    /// event handled; `None` while a cue waits whose position is not known.
    pub fn covered(&self, latest: Position) -> Option<Position> {
        self.cues.covered(latest)
    }

    /// What the messages carry.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The honored filter.
    pub fn honored(&self) -> &SubscriptionFilter {
        &self.honored
    }

    /// How many cues wait; never more than the filter has kinds, URIs and tasks.
    pub fn pending_cues(&self) -> usize {
        self.cues.len()
    }

    /// Whether the registration is still awaited.
    pub fn is_opening(&self) -> bool {
        self.state == State::Opening
    }

    /// Whether there is nothing more to write but the end.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending | State::Closed)
    }

    fn pending(&mut self, is_acknowledged: bool) -> Option<Output> {
        if !is_acknowledged {
            return Some(self.opened());
        }
        let event = self.cues.pop()?;
        Some(Output::Message(match &self.stamp {
            Stamp::Subscription(id) => message::notification(id, &event),
            Stamp::None => message::plain_notification(&event),
        }))
    }

    fn opened(&self) -> Output {
        match &self.stamp {
            Stamp::Subscription(id) => Output::Message(message::acknowledged(id, &self.honored)),
            Stamp::None => Output::Opened,
        }
    }

    fn result(&mut self) -> Output {
        let Stamp::Subscription(id) = &self.stamp else {
            self.state = State::Closed;
            return Output::End;
        };
        self.state = State::Ending;
        Output::Message(message::listen_result(id, self.server_info.as_deref()))
    }

    fn push(&mut self, event: &ServerEvent, at: Option<Position>) {
        if matches!(self.state, State::Opening | State::Open { .. }) {
            self.cues.push(event, at);
        }
    }
}
