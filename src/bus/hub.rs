use std::collections::BTreeMap;

use crate::{
    event::ServerEvent,
    position::{Mark, Position},
    uri::Uri,
};

use super::{
    delivery::{Delivery, Groups},
    index::{EdgeId, Index},
    protocol::{Attach, BusMessage, EdgeMessage, Interest, ProtocolError},
    replay::Replay,
};

/// A bus without its I/O: gives each published event a position and tells which edges
/// it goes to. Whoever drives it writes the event to the log first, then sends.
#[derive(Debug)]
pub struct Hub {
    mark: Mark,
    floor: Position,
    edges: BTreeMap<EdgeId, Option<Attached>>,
    index: Index,
    next_edge: u32,
}

/// What is known of an edge that is attached.
#[derive(Debug)]
struct Attached {
    interest: Interest,
    /// The place of the last frame that it was sent; `None` where that was forgotten.
    last: Option<Position>,
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
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

impl Hub {
    /// A bus whose log ends at `mark` and of which nothing can be replayed.
    pub fn new(mark: Mark) -> Self {
        Self {
            floor: mark.position,
            mark,
            edges: BTreeMap::new(),
            index: Index::default(),
            next_edge: 0,
        }
    }

    /// The log holds every event after `floor`.
    #[must_use]
    pub fn with_floor(mut self, floor: Position) -> Self {
        self.floor = floor;
        self
    }

    /// The log has let go of events: it holds every one after `floor`.
    pub fn handle_trimmed(&mut self, floor: Position) {
        self.floor = floor;
    }

    /// A connection came up; it gets nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next_edge);
        self.next_edge = self.next_edge.wrapping_add(1);
        self.edges.insert(edge, None);
        edge
    }

    /// A connection that attached before this bus was restarted, with what [`Hub::last`] said of it.
    pub fn restore(&mut self, interest: Interest, last: Option<Position>) -> EdgeId {
        let edge = self.connect();
        self.enter(edge, interest, last);
        edge
    }

    /// A frame came from an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_message(&mut self, edge: EdgeId, text: &str) -> Result<Received, ProtocolError> {
        match EdgeMessage::from_json(text)? {
            EdgeMessage::Attach(attach) => self.attach(edge, attach),
            EdgeMessage::Detach => {
                self.disconnect(edge);
                Ok(Received::Detached)
            }
        }
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: EdgeId) {
        if let Some(Some(attached)) = self.edges.remove(&edge) {
            self.index.remove(edge, &attached.interest);
        }
    }

    /// The session of an attached edge watches these URIs now, and while it `is_held` its client is not ready
    /// to hear of them; the frame tells the edge so.
    pub fn watch(&mut self, edge: EdgeId, uris: Vec<Uri>, is_held: bool) -> Option<String> {
        let former = self.leave(edge)?;
        let interest = former.interest.with_uris(uris);
        self.enter(edge, interest.clone(), former.last);
        Some(BusMessage::Interest { interest, is_held }.to_json())
    }

    /// What an attached edge wants.
    pub fn interest(&self, edge: EdgeId) -> Option<&Interest> {
        self.attached_edge(edge).map(|attached| &attached.interest)
    }

    /// The place of the last frame that an attached edge was sent.
    pub fn last(&self, edge: EdgeId) -> Option<Position> {
        self.attached_edge(edge)?.last
    }

    /// An event was published.
    pub fn publish(&mut self, event: &ServerEvent) -> Publication {
        self.mark.position = self.mark.position.next();
        let position = self.mark.position;
        let edges = self.index.matching(event);
        Publication {
            position,
            deliveries: self.deliveries(position, event, edges),
        }
    }

    /// Begins the replay that [`Received::Attached`] asks for: push the events of the log, then finish it.
    pub fn replay(&self, edge: EdgeId) -> Option<Replay> {
        let Attached { interest, last } = self.attached_edge(edge)?;
        Some(Replay::new(interest.clone(), last.unwrap_or_default()))
    }

    /// The replay is over; these are the frames to send to the edge.
    pub fn finish_replay(&mut self, edge: EdgeId, replay: Replay) -> Vec<String> {
        let (frames, heard) = replay.frames();
        if let Some(Some(attached)) = self.edges.get_mut(&edge) {
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
        self.edges.values().flatten().count()
    }

    /// An attach on a connection that is attached takes the place of the former one.
    fn attach(&mut self, edge: EdgeId, attach: Attach) -> Result<Received, ProtocolError> {
        if !self.edges.contains_key(&edge) {
            return Err(ProtocolError::OutOfPlace);
        }
        let Attach {
            interest,
            session,
            since,
        } = attach;
        let since = since.filter(|since| self.reaches(since));
        let replay_after = since.as_ref().map(|since| since.position);
        let mark = since.unwrap_or_else(|| self.mark.clone());
        self.leave(edge);
        self.enter(edge, interest.clone(), Some(mark.position));
        Ok(Received::Attached {
            answer: BusMessage::Attached(mark).to_json(),
            interest,
            session,
            replay_after: replay_after.filter(|position| *position < self.mark.position),
        })
    }

    /// Whether the log still holds everything after `since`.
    fn reaches(&self, since: &Mark) -> bool {
        since.epoch == self.mark.epoch
            && (self.floor..=self.mark.position).contains(&since.position)
    }

    /// Edges that were last sent different positions get different frames; after one event that
    /// all of them want they are one group.
    fn deliveries(
        &mut self,
        position: Position,
        event: &ServerEvent,
        edges: Vec<EdgeId>,
    ) -> Vec<Delivery> {
        let mut groups = Groups::default();
        let mut take = |edge, attached: &mut Attached| {
            groups.push(attached.last.replace(position), edge);
        };
        if edges.len() > self.edges.len() / DENSE {
            let mut wanted = edges.iter().peekable();
            for (edge, attached) in &mut self.edges {
                if wanted.next_if_eq(&edge).is_some()
                    && let Some(attached) = attached
                {
                    take(*edge, attached);
                }
            }
        } else {
            for edge in edges {
                if let Some(Some(attached)) = self.edges.get_mut(&edge) {
                    take(edge, attached);
                }
            }
        }
        groups.into_deliveries(position, event)
    }

    fn attached_edge(&self, edge: EdgeId) -> Option<&Attached> {
        self.edges.get(&edge)?.as_ref()
    }

    fn enter(&mut self, edge: EdgeId, interest: Interest, last: Option<Position>) {
        self.index.insert(edge, &interest);
        self.edges.insert(edge, Some(Attached { interest, last }));
    }

    /// Takes an edge out of the index; its connection stays.
    fn leave(&mut self, edge: EdgeId) -> Option<Attached> {
        let former = self.edges.get_mut(&edge)?.take()?;
        self.index.remove(edge, &former.interest);
        Some(former)
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

/// Where more than one in so many edges gets an event, passing over all of them is faster than looking each up.
const DENSE: usize = 8;
