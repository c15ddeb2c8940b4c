use crate::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Mark, Position},
    topic::Topics,
    uri::Uri,
};

use super::{
    adjust::Adjust,
    delivery::Delivery,
    edges::{Attached, EdgeId, Edges},
    frames::{adjusted_frame, attached_frame, refused_frame},
    interest::Interest,
    kept,
    protocol::{Attach, BusMessage, EdgeMessage, ProtocolError},
    recent::Recent,
    replay::Replay,
    room::Room,
};

/// A bus without its I/O: gives each published event a position and tells which edges
/// it goes to. Whoever drives it writes the event to the log first, then sends.
#[derive(Debug)]
pub struct Hub {
    mark: Mark,
    floor: Position,
    edges: Edges,
    /// What the log tells, once somebody has asked what was missed, and until it is trimmed.
    recent: Option<Recent>,
}

/// One published event, ready to be logged and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Its place in the log.
    pub position: Position,
    /// Who gets it, and as which frame.
    pub deliveries: Vec<Delivery>,
}

/// What an edge's frame led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The edge is attached; `answer` is the frame that tells it so.
    Attached {
        /// The frame to send back.
        answer: String,
        /// What the edge wants; with it [`Hub::restore`] brings the edge back after a restart.
        interest: Interest,
        /// The session whose URIs are to be added with [`Hub::watch`] before the answer is sent.
        session: Option<Box<str>>,
        /// After the answer, and before anything else is published, the events beyond this
        /// position are to be replayed from the log: see [`Hub::replay`].
        replay_after: Option<Position>,
    },
    /// What the edge wants has changed; `answer` is the frame that tells it so, or that nothing was added for want of room.
    Adjusted {
        /// The frame to send back.
        answer: String,
        /// What has changed, to be kept with what the edge attached for.
        change: Adjust,
    },
    /// There is no room for what the edge wants: it is no longer known, and its connection is to be closed.
    Full,
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

impl Hub {
    /// A bus whose log ends at `mark` and of which nothing can be replayed.
    pub fn new(mark: Mark) -> Self {
        Self {
            floor: mark.position,
            mark,
            edges: Edges::default(),
            recent: None,
        }
    }

    /// The log holds every event after `floor`.
    #[must_use]
    pub fn with_floor(mut self, floor: Position) -> Self {
        self.floor = floor;
        self
    }

    /// Bounds the names of all edges together to `most` bytes, for at most so many edges.
    #[must_use]
    pub fn with_room(mut self, most: usize, edges: usize) -> Self {
        self.edges.set_room(Room::new(most, edges));
        self
    }

    /// So many bytes of the room are taken for what is no edge.
    pub fn set_elsewhere(&mut self, bytes: usize) {
        self.edges.room_mut().set_elsewhere(bytes);
    }

    /// Bytes that the names of all edges count.
    pub fn names(&self) -> usize {
        self.edges.room().held()
    }

    /// Bytes that are left for what is no edge.
    pub fn spare(&self) -> usize {
        self.edges.room().spare()
    }

    /// How many times a topic of an edge was entered or taken out so far.
    pub fn operations(&self) -> u64 {
        self.edges.operations()
    }

    /// The log has let go of events: it holds every one after `floor`.
    pub fn handle_trimmed(&mut self, floor: Position) {
        if floor > self.floor {
            self.recent = None;
        }
        self.floor = floor;
    }

    /// A connection came up; it gets nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// A connection that attached before this bus was restarted, with what [`Hub::last`] said of it.
    pub fn restore(&mut self, interest: &Interest, last: Option<Position>) -> EdgeId {
        self.restored(&interest.topics(), last)
    }

    /// As [`Hub::restore`], from the texts of [`Hub::kept`] and the changes that [`Received::Adjusted`] told since.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]; nothing is restored then.
    pub fn restore_kept<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t str>,
        last: Option<Position>,
    ) -> Result<EdgeId, ProtocolError> {
        Ok(self.restored(&kept::topics_in(texts)?, last))
    }

    /// What an attached edge wants, as texts of bounded size.
    pub fn kept(&self, edge: EdgeId) -> Vec<String> {
        let interest = self.interest(edge);
        interest.map_or_else(Vec::new, |interest| kept::pieces(&interest))
    }

    /// Bytes that the names of an attached edge count.
    pub fn held(&self, edge: EdgeId) -> usize {
        self.edges
            .get(edge)
            .map_or(0, |attached| attached.topics().bytes())
    }

    /// A frame came from an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_message(&mut self, edge: EdgeId, text: &str) -> Result<Received, ProtocolError> {
        match EdgeMessage::from_json(text)? {
            EdgeMessage::Attach(attach) => self.attach(edge, attach),
            EdgeMessage::Adjust(adjust) => self.adjust(edge, adjust),
            EdgeMessage::Detach => {
                self.disconnect(edge);
                Ok(Received::Detached)
            }
        }
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: EdgeId) {
        self.edges.disconnect(edge);
    }

    /// The session of an attached edge watches these URIs now, and while it `is_held` its client is not ready
    /// to hear of them; the frame tells the edge so.
    pub fn watch(&mut self, edge: EdgeId, uris: &[Uri], is_held: bool) -> Option<String> {
        self.edges.watch(edge, uris)?;
        let interest = self.interest(edge)?.with_uris(uris.to_vec());
        Some(BusMessage::Interest { interest, is_held }.to_json())
    }

    /// What an attached edge wants, its names in order.
    pub fn interest(&self, edge: EdgeId) -> Option<Interest> {
        self.edges.get(edge).map(Attached::interest)
    }

    /// The place of the last frame that an attached edge was sent.
    pub fn last(&self, edge: EdgeId) -> Option<Position> {
        self.edges.get(edge)?.last
    }

    /// An event was published, nobody says when.
    pub fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.publish_at(event, None)
    }

    /// An event was published, `at` so many milliseconds after 1970: streams count how long it took to write it.
    pub fn publish_at(&mut self, event: &ServerEvent, at: Option<Millis>) -> Publication {
        self.mark.position = self.mark.position.next();
        let position = self.mark.position;
        if let Some(recent) = &mut self.recent {
            recent.push(position, event);
        }
        Publication {
            position,
            deliveries: self.edges.deliveries(position, at, event),
        }
    }

    /// Whether it is known what the log tells; if not, [`Hub::recall`] comes before [`Hub::missed`].
    pub fn recalls(&self) -> bool {
        self.recent.is_some()
    }

    /// The next event of the log, all of which is told in order.
    pub fn recall(&mut self, position: Position, event: &ServerEvent) {
        let recent = self.recent.get_or_insert_default();
        recent.push(position, event);
    }

    /// Of the events after a position, those that an attached edge is to be told of, in order.
    pub fn missed(&self, edge: EdgeId, after: Position) -> Vec<Position> {
        let recent = self.recent.as_ref().zip(self.edges.get(edge));
        recent.map_or_else(Vec::new, |(recent, attached)| {
            recent.missed(attached.topics(), after)
        })
    }

    /// Begins the replay that [`Received::Attached`] asks for: push the events that were missed, then finish it.
    pub fn replay(&self, edge: EdgeId) -> Option<Replay> {
        let attached = self.edges.get(edge)?;
        let after = attached.last.unwrap_or_default();
        Some(Replay::of(attached.topics().clone(), after))
    }

    /// The replay is over; these are the frames to send to the edge.
    pub fn finish_replay(&mut self, edge: EdgeId, replay: Replay) -> Vec<String> {
        let (frames, heard) = replay.frames();
        if let Some(attached) = self.edges.get_mut(edge) {
            attached.last = Some(heard);
        }
        frames
    }

    /// Where the log ends.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// How many edges are attached.
    pub fn attached(&self) -> usize {
        self.edges.attached()
    }

    /// What the streams of all edges want together. A listener to everything is no stream, and asks for nothing.
    pub fn wanted(&self) -> SubscriptionFilter {
        self.edges.filter()
    }

    /// An attach on a connection that is attached takes the place of the former one.
    fn attach(&mut self, edge: EdgeId, attach: Attach) -> Result<Received, ProtocolError> {
        if !self.edges.is_connected(edge) {
            return Err(ProtocolError::OutOfPlace);
        }
        let Attach {
            interest,
            session,
            since,
        } = attach;
        let topics = interest.topics();
        let is_back = since.as_ref().is_some_and(|since| self.reaches(since));
        let is_admitted =
            self.edges.admits(edge, &topics) || (is_back && self.edges.admits_back(edge, &topics));
        if !is_admitted {
            self.disconnect(edge);
            return Ok(Received::Full);
        }
        let asked = since.as_ref().map(|since| since.position);
        let since = since.filter(|since| self.reaches(since));
        let replay_after = since.as_ref().map(|since| since.position);
        let mark = since.unwrap_or_else(|| self.mark.clone());
        self.edges.enter(edge, &topics, Some(mark.position), false);
        Ok(Received::Attached {
            answer: attached_frame(&mark, self.mark.position, asked, self.edges.room_of(edge)),
            interest,
            session,
            replay_after: replay_after.filter(|position| *position < self.mark.position),
        })
    }

    /// What was sent before stays sent: the edge goes on from where it is. What is dropped is dropped in any case.
    fn adjust(&mut self, edge: EdgeId, mut change: Adjust) -> Result<Received, ProtocolError> {
        let delta = self.edges.delta(edge, &change);
        let mut delta = delta.ok_or(ProtocolError::OutOfPlace)?;
        let is_admitted = self.edges.admits_change(edge, &delta);
        if !is_admitted {
            delta.added.clear();
            change.refuse();
        }
        self.edges.change(edge, &delta);
        let room = self.edges.room_of(edge);
        let answer = if is_admitted {
            adjusted_frame(change.seq, self.mark.position, room)
        } else {
            refused_frame(change.seq, room)
        };
        Ok(Received::Adjusted { answer, change })
    }

    /// Whether the log still holds everything after `since`.
    fn reaches(&self, since: &Mark) -> bool {
        since.epoch == self.mark.epoch
            && (self.floor..=self.mark.position).contains(&since.position)
    }

    fn restored(&mut self, topics: &Topics, last: Option<Position>) -> EdgeId {
        let edge = self.connect();
        self.edges.enter(edge, topics, last, false);
        edge
    }
}

impl Publication {
    /// Who gets it, in ascending order.
    pub fn edges(&self) -> Vec<EdgeId> {
        let mut edges: Vec<EdgeId> = self
            .deliveries
            .iter()
            .flat_map(|delivery| delivery.edges.iter().copied())
            .collect();
        edges.sort_unstable();
        edges
    }

    /// The frame that `edge` gets.
    pub fn message_for(&self, edge: EdgeId) -> Option<&str> {
        let delivery = self
            .deliveries
            .iter()
            .find(|delivery| delivery.edges.contains(&edge))?;
        Some(&delivery.message)
    }
}
