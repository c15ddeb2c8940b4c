//! The line: the one connection to a bus that the streams of an isolate share.

mod call;
mod fresh;
mod output;
mod refusal;
mod scope;
mod waiting;

use std::collections::VecDeque;

use crate::{
    bus::{
        BusMessage, EdgeId, Edges, Interest, Mark, Position, ProtocolError, ToldRoom, Turn, Wants,
    },
    clock::Millis,
    edge::{Counts, Follower, Heard, Patience},
    event::ServerEvent,
    seeded::{self, Bug},
    topic::Topic,
};

use fresh::Fresh;

pub use output::{LineCall, LineOutput};

/// The streams of one isolate on one connection to their bus.
///
/// It wants what all of them want together, hears each event once, and tells it those that want it: to a stream it is a
/// bus of its own, with marks of its own, that never loses a frame. What gets lost between bus and line, the line
/// makes up for; where nobody can tell what that was, its streams cue everything that they honor.
///
/// After each call of `attach`, `detach` and `handle_*`, and when [`Line::poll_timeout`] says, call
/// [`Line::handle_timeout`], then poll [`Line::poll_call`] and [`Line::poll_output`] until there is none.
#[derive(Debug)]
pub struct Line {
    follower: Follower,
    patience: Patience,
    /// The epoch of the streams' marks: a name, and a number that grows with each gap.
    name: Box<str>,
    gaps: u64,
    /// How many events it heard.
    heard: Position,
    edges: Edges,
    wants: Wants,
    /// Bytes that the names of all that they want may count, as the bus told last.
    room: ToldRoom,
    /// How many times in a row the bus refused the connection for want of room.
    refusals: u32,
    /// Streams that have not been told that they are attached.
    waiting: Vec<EdgeId>,
    /// Where the log ended when the bus last confirmed an attach or an adjustment.
    head: Position,
    /// Streams that were acknowledged before a replay had come to its end.
    fresh: Fresh,
    flight: Option<Flight>,
    seq: u64,
    is_connected: bool,
    can_adjust: bool,
    former: Counts,
    outputs: VecDeque<LineOutput>,
    /// What the frames of the last output are about, while others may join them.
    run: Vec<Topic>,
}

/// What the bus was asked for and has not confirmed.
#[derive(Debug)]
struct Flight {
    turn: Turn,
    /// The number of an adjustment and how long it may stay unanswered; `None` for an attach.
    adjust: Option<(u64, Millis)>,
}

impl Line {
    /// A line without streams; no other one may ever have had this name.
    pub fn new(name: &str, patience: Patience) -> Self {
        let mut follower = Follower::unattached();
        follower.set_patience(patience);
        Self {
            follower,
            patience,
            name: name.into(),
            gaps: 0,
            heard: Position::default(),
            edges: Edges::default(),
            wants: Wants::default(),
            room: ToldRoom::new(FIRST_ROOM),
            refusals: 0,
            waiting: Vec::new(),
            head: Position::default(),
            fresh: Fresh::default(),
            flight: None,
            seq: 0,
            is_connected: false,
            can_adjust: false,
            former: Counts::default(),
            outputs: VecDeque::new(),
            run: Vec::new(),
        }
    }

    /// A stream wants this. It is told that it is attached once the bus is known to send all of it.
    pub fn attach(&mut self, interest: &Interest, now: Millis) -> EdgeId {
        if self.edges.is_empty() && !self.is_connected {
            self.begin();
        }
        let edge = self.edges.connect();
        let topics = interest.topics();
        for topic in topics.iter() {
            self.wants.want(topic.followed());
        }
        self.edges.enter(edge, &topics, None, true);
        if !self.serve(edge) {
            self.waiting.push(edge);
            // Somebody waits: whether the bus is back is found out now.
            if self.follower.is_lost() {
                self.follower.handle_wish(now);
            }
        }
        edge
    }

    /// A stream has gone.
    pub fn detach(&mut self, edge: EdgeId) {
        self.waiting.retain(|waiting| *waiting != edge);
        self.fresh.leave(edge);
        // What comes from now on is nothing that it heard: where it comes back, it has missed something.
        if self.is_open(edge) {
            self.heard = self.heard.next();
        }
        if let Some(former) = self.edges.disconnect(edge) {
            self.release(former.followed());
        }
    }

    /// A frame came from the bus.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn handle_message(&mut self, text: &str, now: Millis) -> Result<(), ProtocolError> {
        let heard = self.follower.handle_message(text, None, now)?;
        if let Heard::Attached { .. } | Heard::Adjusted(_) | Heard::Refused(_) = heard {
            self.room.tell(BusMessage::room_in(text));
        }
        match heard {
            Heard::Nothing => {}
            Heard::Attached { is_whole } => {
                self.can_adjust = BusMessage::offers_adjust(text);
                self.head = BusMessage::head_in(text).unwrap_or_default();
                self.handle_attached(is_whole);
            }
            Heard::Adjusted(seq) => {
                self.head = self.head.max(BusMessage::head_in(text).unwrap_or_default());
                self.handle_adjusted(seq);
            }
            Heard::Refused(seq) => self.handle_refused(seq),
            Heard::Event {
                position,
                at,
                event,
            } => {
                let joined = self.join(position);
                if let ServerEvent::Revoked { .. } = event {
                    self.join_revoked(&event);
                }
                self.deliver(at, &event);
                self.join_later(joined);
            }
            // Streams of sessions do not share a line.
            Heard::Interest { .. } => return Err(ProtocolError::OutOfPlace),
        }
        Ok(())
    }

    /// The bus let the connection go: a shard has the streams from now on. Those that wait go on waiting.
    pub fn handle_sent_on(&mut self, now: Millis, random: f64) {
        self.part();
        self.follower.handle_lost(now, random, false);
    }

    /// The moment of [`Line::poll_timeout`] has come. `random` is drawn from [0, 1).
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        if self.adjusts_until().is_some_and(|until| until <= now) {
            self.undo();
            self.follower.handle_question(now);
        }
        self.follower.handle_timeout(now, random);
    }

    /// When to call [`Line::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.edges.is_empty() {
            return None;
        }
        let deadlines = [self.follower.poll_timeout(), self.adjusts_until()];
        deadlines.into_iter().flatten().min()
    }

    /// Whether everything comes that the streams were told is theirs, as far as is known.
    pub fn is_certain(&self) -> bool {
        self.follower.is_certain()
    }

    /// Asks the bus for everything published before this call: see [`Line::is_settled`].
    pub fn settle(&mut self, now: Millis) {
        self.follower.settle(now);
    }

    /// Whether everything that was published before [`Line::settle`] has been received.
    pub fn is_settled(&self) -> bool {
        self.follower.is_settled()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub fn is_away(&self) -> bool {
        self.follower.is_away()
    }

    /// Up to where in the log the streams have received all; `None` before the bus has confirmed.
    pub fn reached(&self) -> Option<&Mark> {
        self.follower.mark()
    }

    /// How often the bus had to be followed anew.
    pub fn counts(&self) -> Counts {
        let (former, counts) = (self.former, self.follower.counts());
        Counts {
            outages: former.outages + counts.outages,
            healed: former.healed + counts.healed,
            gaps: former.gaps + counts.gaps,
            resyncs: former.resyncs + counts.resyncs,
        }
    }

    /// Bytes that the names of all that its streams want count, each name once: a bus keeps so much for it.
    pub fn names(&self) -> usize {
        self.edges.names()
    }

    /// Bytes that they may count, as far as is known.
    pub fn room(&self) -> usize {
        self.room.bytes()
    }

    /// How many times a topic of a stream was entered or taken out so far.
    pub fn operations(&self) -> u64 {
        self.edges.operations()
    }

    fn handle_attached(&mut self, is_whole: bool) {
        self.confirm();
        self.refusals = 0;
        if !is_whole {
            self.resync();
        }
        self.serve_waiting();
    }

    /// Nobody knows what was missed: the marks of all open streams get another epoch, so that each
    /// cues everything that it honors. They stay.
    fn resync(&mut self) {
        self.gaps += u64::from(!seeded::has(Bug::ResyncKeepsTheEpoch));
        if seeded::has(Bug::ResyncForgetsWhatIsFollowed) {
            self.wants = Wants::default();
        }
        let mark = self.mark();
        let edges = self.open();
        for edge in &edges {
            self.fresh.leave(*edge);
            if let Some(attached) = self.edges.get_mut(*edge) {
                attached.last = Some(mark.position);
                attached.is_waiting = false;
            }
        }
        if !edges.is_empty() {
            let messages = vec![BusMessage::Attached(mark).to_json()];
            self.put(LineOutput::Send { messages, edges });
        }
    }

    fn lose_open(&mut self) {
        for edge in self.open() {
            self.lose(edge);
        }
    }

    /// The streams that were told that they are attached, in ascending order.
    fn open(&self) -> Vec<EdgeId> {
        let is_open = |edge: &EdgeId| self.is_open(*edge);
        self.edges.ids().filter(is_open).collect()
    }

    fn handle_adjusted(&mut self, seq: u64) {
        let adjust = self.flight.as_ref().and_then(|flight| flight.adjust);
        if adjust.is_some_and(|(number, _)| number == seq) {
            self.confirm();
            self.serve_waiting();
        }
    }

    fn release(&mut self, topics: impl Iterator<Item = Topic>) {
        for topic in topics {
            if !self.edges.is_wanted(&topic) {
                self.wants.release(topic);
            }
        }
    }

    fn deliver(&mut self, at: Option<Millis>, event: &ServerEvent) {
        self.heard = self.heard.next();
        for delivery in self.edges.deliveries(self.heard, at, event) {
            self.put_event(delivery, event);
        }
        self.wants.handle_event(event, &self.edges);
    }

    /// Whether a stream was told that it is attached.
    fn is_open(&self, edge: EdgeId) -> bool {
        self.edges
            .get(edge)
            .is_some_and(|attached| attached.last.is_some())
    }

    fn send(&mut self, edge: EdgeId, message: String) {
        self.put(LineOutput::Send {
            messages: vec![message],
            edges: vec![edge],
        });
    }

    fn lose(&mut self, edge: EdgeId) {
        let since = self.follower.resume().filter(|_| self.is_open(edge));
        self.detach(edge);
        self.put(LineOutput::Lose { edge, since });
    }

    fn mark(&self) -> Mark {
        let mut epoch = String::from(&*self.name);
        epoch.push('.');
        epoch.push_str(&self.gaps.to_string());
        Mark {
            epoch: epoch.into(),
            position: self.heard,
        }
    }
}

/// Bytes that the names of a line may count before the bus has told: an attach is one frame.
const FIRST_ROOM: usize = 524_288;
