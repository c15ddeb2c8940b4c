mod edges;
mod held_sessions;
mod low_watermark;
mod output;
mod root;
mod session;
mod waiting_follows;

use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    sorted::Map,
    upstream::InterestTracker,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        topic::{Subject, Topic, Topics},
    },
    wire::{Claim, ProtocolError, SessionCall},
};

use super::{
    flight::Flight,
    follow_reply::Persist,
    registry::{Delivery, EdgeFrame, EdgeId, NameBudget, Registry},
};

use held_sessions::HeldSessions;
use low_watermark::LowWatermark;
pub use output::{EdgeCloseReason, FollowCall, ShardOutput, ShardReceived};
use waiting_follows::WaitingFollows;

/// A shard of a bus: it holds a part of the edges for its root, and has no log.
///
/// The host makes the calls of [`Shard::poll_call`], and carries out the outputs of
/// [`Shard::poll_output`] until there is none, after every other call.
#[derive(Debug)]
pub struct Shard {
    /// The cursor up to which it has received every event that it follows; `None` before the first
    /// message of the root.
    cursor: Option<Cursor>,
    /// The position from which all topics are followed, even if the cursor is earlier.
    whole_from: Position,
    seq: u64,
    /// The root may hold the topics of an earlier instance of this shard.
    is_fresh: bool,
    edges: Registry,
    /// The topics that it follows at the root.
    interest: InterestTracker,
    waiting: WaitingFollows,
    sessions: HeldSessions,
    flight: Flight<Sent>,
    /// Events that arrived while a call is in flight: the latest of each topic.
    arrived: Map<Subject, (Position, ServerEvent)>,
    /// Events after the cursor are missing.
    is_behind: bool,
    low: LowWatermark,
    is_retired: bool,
    outputs: VecDeque<ShardOutput>,
}

/// A call in flight.
#[derive(Debug)]
struct Sent {
    left: Vec<Claim>,
    is_low: bool,
    /// The call requested the events after the cursor.
    was_behind: bool,
    /// A batch was rejected meanwhile, which may reach further than the reply.
    is_passed: bool,
}

impl Shard {
    /// Creates a shard whose last call had the number `seq`.
    pub fn new(seq: u64) -> Self {
        Self {
            cursor: None,
            whole_from: Position::default(),
            seq,
            is_fresh: true,
            edges: Registry::default(),
            interest: InterestTracker::new(usize::MAX),
            waiting: WaitingFollows::default(),
            sessions: HeldSessions::default(),
            flight: Flight::default(),
            arrived: Map::new(),
            is_behind: false,
            low: LowWatermark::default(),
            is_retired: false,
            outputs: VecDeque::new(),
        }
    }

    /// Limits the names of all edges together to `max_bytes` bytes, for at most `edges` edges. Call
    /// it before the first edge connects.
    pub fn set_room(&mut self, max_bytes: usize, edges: usize) {
        self.edges.set_room(NameBudget::new(max_bytes, edges));
    }

    /// Sets how long edges have to be few (10 s by default) before the shard reports this to the
    /// root, which may then close it.
    #[must_use]
    pub fn with_low_span(mut self, span: impl Into<Millis>) -> Self {
        self.low = LowWatermark::new(span.into());
        self
    }

    /// Sets the cursor of a shard that hibernated while its connections stayed open; restore these
    /// next.
    #[must_use]
    pub fn woken(mut self, cursor: Cursor) -> Self {
        self.cursor = Some(cursor);
        // It is unknown since when each topic is followed.
        self.whole_from = Position(u64::MAX);
        self.is_fresh = false;
        self
    }

    /// Restores an edge, with what [`Shard::registry`] returned about it.
    pub fn restore(
        &mut self,
        topics: &Topics,
        last: Option<Position>,
        seq: u64,
        session: Option<Claim>,
    ) -> EdgeId {
        for topic in topics.iter() {
            self.interest.confirm(topic.followed());
        }
        let edge = self.edges.restore(topics, last, seq);
        if let Some(session) = session {
            self.sessions.restore(&session, edge);
        }
        self.low
            .handle_count(self.edges.attached(), Millis::default());
        edge
    }

    /// Returns the registry of its edges.
    pub fn registry(&self) -> &Registry {
        &self.edges
    }

    /// Adds a connection; it receives nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// Handles a frame of an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped, and changes nothing.
    pub fn handle_message(
        &mut self,
        edge: EdgeId,
        text: &str,
        now: Millis,
    ) -> Result<ShardReceived, ProtocolError> {
        match self.edges.read(edge, text)? {
            EdgeFrame::Detach => {
                self.disconnect(edge, now);
                Ok(ShardReceived::Detached)
            }
            EdgeFrame::Stale(response) => {
                self.send(edge, response.to_json());
                Ok(ShardReceived::Followed {
                    persist: Persist::Nothing,
                    session: None,
                })
            }
            EdgeFrame::All(follow) => {
                let session = follow.joined.first().cloned();
                self.begin_edge(edge, follow, now);
                Ok(ShardReceived::Followed {
                    persist: Persist::All,
                    session,
                })
            }
            EdgeFrame::More(follow) => self.change_edge(edge, &follow, now),
        }
    }

    /// Removes a connection.
    pub fn disconnect(&mut self, edge: EdgeId, now: Millis) {
        self.waiting.remove(edge);
        if let Some(former) = self.edges.disconnect(edge) {
            self.release(former.followed());
            self.sessions.remove(edge);
            self.low.handle_count(self.edges.attached(), now);
        }
    }

    /// Handles a call of the root about a session; [`ShardOutput::Done`] names the ticket once it
    /// is done.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails and changes nothing.
    pub fn handle_session_call(&mut self, ticket: u32, text: &str) -> Result<(), ProtocolError> {
        match SessionCall::from_json(text)? {
            SessionCall::Changed(session) if self.sessions.edge_of(&session).is_some() => {
                self.sessions.push_change(ticket, session);
                return Ok(());
            }
            // The root assumes that the stream is here, and would repeat the call.
            SessionCall::Changed(session) => self.leave_out(session),
            SessionCall::Release(session) => self.give_way(&session),
        }
        self.outputs.push_back(ShardOutput::Done(ticket));
        Ok(())
    }

    /// Returns when to call [`Shard::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        let call = self.flight.poll_timeout(self.is_call_due());
        [call, self.low.poll_timeout()].into_iter().flatten().min()
    }

    /// Handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.low.handle_timeout(now);
        if let Some(seq) = self.flight.overdue(now) {
            self.handle_failure(seq, false, now, random);
        }
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<ShardOutput> {
        self.outputs.pop_front()
    }

    /// Returns the cursor up to which it has received every event that it follows, for
    /// [`Shard::woken`].
    pub fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }

    /// Whether it is permanently closed and holds no edges.
    pub fn is_retired(&self) -> bool {
        self.is_retired
    }

    /// Whether nothing is pending, so that the object may hibernate.
    pub fn is_settled(&self) -> bool {
        self.flight.is_empty() && !self.is_call_due()
    }

    /// Releases topics that no edge wants any more.
    fn release(&mut self, topics: impl IntoIterator<Item = Topic>) {
        for topic in topics {
            if !self.edges.is_wanted(&topic) {
                self.interest.release(topic);
            }
        }
    }

    fn close(&mut self, edge: EdgeId, reason: EdgeCloseReason) {
        self.waiting.remove(edge);
        if let Some(former) = self.edges.disconnect(edge) {
            self.release(former.followed());
            self.sessions.remove(edge);
        }
        self.outputs.push_back(ShardOutput::Close(edge, reason));
    }

    fn close_all(&mut self, reason: EdgeCloseReason) {
        let edges: Vec<EdgeId> = self.edges.ids().collect();
        for edge in edges {
            self.close(edge, reason);
        }
    }

    fn send(&mut self, edge: EdgeId, message: String) {
        let edges = vec![edge];
        let delivery = Delivery { message, edges };
        self.outputs.push_back(ShardOutput::Send(delivery));
    }

    fn retire(&mut self) {
        self.close_all(EdgeCloseReason::Redirected);
        self.is_retired = true;
        self.flight.take();
        self.finish_interest_changes();
    }

    /// Starts over with another log: nothing that was known is valid.
    fn start_over(&mut self) {
        self.close_all(EdgeCloseReason::Lost);
        self.interest.forget();
        self.cursor = None;
        self.is_fresh = true;
        self.is_behind = false;
        self.flight.take();
        self.arrived.clear();
        self.finish_interest_changes();
    }

    fn finish_interest_changes(&mut self) {
        let done = self.sessions.finish().map(ShardOutput::Done);
        self.outputs.extend(done);
    }

    fn count(&self) -> u32 {
        u32::try_from(self.edges.attached()).unwrap_or(u32::MAX)
    }
}
