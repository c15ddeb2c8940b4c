mod batch;
mod begin;
mod call;
mod change;
mod output;
mod restore;
mod session;

use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    sorted::Map,
    upstream::Wants,
    vocabulary::{
        event::ServerEvent,
        position::{Mark, Position},
        topic::{Subject, Topic},
    },
    wire::{Claim, ProtocolError, SessionCall},
};

use super::{
    follow_reply::Keeps,
    low::Low,
    registry::{Delivery, EdgeId, Frame, Registry, Room},
};

pub use output::{FollowCall, Parting, ShardOutput, ShardReceived};

/// A share of a bus's edges: it holds them for its root, and has no log of its own.
///
/// Whoever drives it makes the calls of [`Shard::poll_call`], and does what
/// [`Shard::poll_output`] says, after everything that is handled, until there is none.
#[derive(Debug)]
pub struct Shard {
    /// Everything that it follows has come up to here; `None` until the root has told it something.
    mark: Option<Mark>,
    /// Some topics are followed from here on only, however far behind the mark may be.
    whole_from: Position,
    seq: u64,
    /// The root may believe what an earlier life of this shard has told it.
    is_fresh: bool,
    edges: Registry,
    /// What it follows at the root.
    wants: Wants,
    waiting: Vec<Waiting>,
    sessions: Vec<(Claim, EdgeId)>,
    left: Vec<Claim>,
    watches: Vec<Watch>,
    flight: Option<Flight>,
    /// What came while a call is on its way: of each topic the last event.
    kept: Map<Subject, (Position, ServerEvent)>,
    /// Events are missing after the mark.
    is_behind: bool,
    low: Low,
    failures: u32,
    not_before: Millis,
    is_retired: bool,
    outputs: VecDeque<ShardOutput>,
}

/// A follow that has not been answered.
#[derive(Debug)]
struct Waiting {
    edge: EdgeId,
    /// Its number.
    seq: u64,
    what: Asked,
    /// The call whose answer it waits for; `None`: the next one.
    call: Option<u64>,
}

#[derive(Debug)]
enum Asked {
    /// A fresh one.
    All {
        since: Option<Mark>,
        session: Option<Claim>,
    },
    /// One that has added these.
    More(Vec<Topic>),
}

/// A change of what a session watches, of which the root waits to hear that it is followed.
#[derive(Debug)]
struct Watch {
    ticket: u32,
    session: Claim,
    call: Option<u64>,
}

#[derive(Debug)]
struct Flight {
    seq: u64,
    left: Vec<Claim>,
    is_low: bool,
    /// A batch was not taken meanwhile, and may have gone further than the answer.
    is_passed: bool,
    deadline: Millis,
}

impl Shard {
    /// A shard that begins, whose last call had the number `seq`.
    pub fn new(seq: u64) -> Self {
        Self {
            mark: None,
            whole_from: Position::default(),
            seq,
            is_fresh: true,
            edges: Registry::default(),
            wants: Wants::new(usize::MAX),
            waiting: Vec::new(),
            sessions: Vec::new(),
            left: Vec::new(),
            watches: Vec::new(),
            flight: None,
            kept: Map::new(),
            is_behind: false,
            low: Low::default(),
            failures: 0,
            not_before: Millis::default(),
            is_retired: false,
            outputs: VecDeque::new(),
        }
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges. Before there is any edge.
    pub fn set_room(&mut self, most: usize, edges: usize) {
        self.edges.set_room(Room::new(most, edges));
    }

    /// For how long edges have to be few (10 s without this) before the root is told, which may then close this shard.
    #[must_use]
    pub fn with_patience(mut self, patience: Millis) -> Self {
        self.low = Low::new(patience);
        self
    }

    /// What is known of its edges.
    pub fn registry(&self) -> &Registry {
        &self.edges
    }

    /// A connection came up; it gets nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// A frame came from an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_message(
        &mut self,
        edge: EdgeId,
        text: &str,
        now: Millis,
    ) -> Result<ShardReceived, ProtocolError> {
        match self.edges.read(edge, text)? {
            Frame::Detach => {
                self.disconnect(edge, now);
                Ok(ShardReceived::Detached)
            }
            Frame::Stale(answer) => {
                self.send(edge, answer.to_json());
                Ok(ShardReceived::Followed {
                    keeps: Keeps::Nothing,
                    session: None,
                })
            }
            Frame::All(follow) => {
                let session = follow.joined.first().cloned();
                self.begin_edge(edge, follow, now);
                Ok(ShardReceived::Followed {
                    keeps: Keeps::Anew,
                    session,
                })
            }
            Frame::More(follow) => self.change_edge(edge, &follow, now),
        }
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: EdgeId, now: Millis) {
        self.waiting.retain(|waiting| waiting.edge != edge);
        if let Some(former) = self.edges.disconnect(edge) {
            self.release(former.followed());
            self.leave_session(edge);
            self.low.handle_count(self.edges.attached(), now);
        }
    }

    /// The root says something about a session; once that is done, [`ShardOutput::Done`] tells the ticket.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails then, and nothing has changed.
    pub fn handle_session_call(&mut self, ticket: u32, text: &str) -> Result<(), ProtocolError> {
        match SessionCall::from_json(text)? {
            SessionCall::Changed(session) if self.holds(&session) => {
                self.watches.push(Watch {
                    ticket,
                    session,
                    call: None,
                });
                return Ok(());
            }
            // The root takes it to be here, and would tell of it again.
            SessionCall::Changed(session) => self.leave_out(session),
            SessionCall::Release(session) => self.give_way(&session),
        }
        self.outputs.push_back(ShardOutput::Done(ticket));
        Ok(())
    }

    /// When to call [`Shard::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        let call = match &self.flight {
            Some(flight) => Some(flight.deadline),
            None => self.is_call_due().then_some(self.not_before),
        };
        [call, self.low.poll_timeout()].into_iter().flatten().min()
    }

    /// That moment has come.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.low.handle_timeout(now);
        let late = self.flight.as_ref().filter(|flight| flight.deadline <= now);
        if let Some(seq) = late.map(|flight| flight.seq) {
            self.handle_failure(seq, false, now, random);
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<ShardOutput> {
        self.outputs.pop_front()
    }

    /// Everything that it follows has come up to here: what [`Shard::woken`] needs.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Whether it holds no edges any more, for good.
    pub fn is_retired(&self) -> bool {
        self.is_retired
    }

    /// Nothing is under way: it may be put aside.
    pub fn is_settled(&self) -> bool {
        self.flight.is_none() && !self.is_call_due()
    }

    /// No edge may want these any more.
    fn release(&mut self, topics: impl IntoIterator<Item = Topic>) {
        for topic in topics {
            if !self.edges.is_wanted(&topic) {
                self.wants.release(topic);
            }
        }
    }

    fn close(&mut self, edge: EdgeId, parting: Parting) {
        self.waiting.retain(|waiting| waiting.edge != edge);
        if let Some(former) = self.edges.disconnect(edge) {
            self.release(former.followed());
            self.leave_session(edge);
        }
        self.outputs.push_back(ShardOutput::Close(edge, parting));
    }

    fn close_all(&mut self, parting: Parting) {
        let edges: Vec<EdgeId> = self.edges.ids().collect();
        for edge in edges {
            self.close(edge, parting);
        }
    }

    fn send(&mut self, edge: EdgeId, message: String) {
        let edges = vec![edge];
        let delivery = Delivery { message, edges };
        self.outputs.push_back(ShardOutput::Send(delivery));
    }

    fn retire(&mut self) {
        self.close_all(Parting::Moved);
        self.is_retired = true;
        self.flight = None;
        self.finish_watches();
    }

    /// The log is another one: nothing that was known holds.
    fn begin_anew(&mut self) {
        self.close_all(Parting::Lost);
        self.wants.forget();
        self.mark = None;
        self.is_fresh = true;
        self.is_behind = false;
        self.flight = None;
        self.kept.clear();
        self.finish_watches();
    }

    fn finish_watches(&mut self) {
        self.left.clear();
        let watches = core::mem::take(&mut self.watches).into_iter();
        let done = watches.map(|watch| ShardOutput::Done(watch.ticket));
        self.outputs.extend(done);
    }

    fn count(&self) -> u32 {
        u32::try_from(self.edges.attached()).unwrap_or(u32::MAX)
    }
}
