use std::collections::BTreeMap;

use crate::{
    event::ServerEvent,
    position::{Mark, Position},
    uri::Uri,
};

use super::{
    index::{EdgeId, Index},
    protocol::{Attach, BusMessage, EdgeMessage, Interest, ProtocolError},
};

/// A bus without its I/O: gives each published event a position and tells which edges
/// it goes to. Whoever drives it writes the event to the log first, then sends.
#[derive(Debug)]
pub struct Hub {
    mark: Mark,
    window: u64,
    edges: BTreeMap<EdgeId, Option<Interest>>,
    index: Index,
    next_edge: u32,
}

/// One published event, ready to be logged and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Its place in the log.
    pub position: Position,
    /// The frame for every edge in `edges`.
    pub message: String,
    /// Who gets it.
    pub edges: Vec<EdgeId>,
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
        /// After the answer, the events beyond this position are to be replayed from the log.
        replay_after: Option<Position>,
    },
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

impl Hub {
    /// A bus whose log ends at `mark` and of which nothing can be replayed.
    pub fn new(mark: Mark) -> Self {
        Self {
            mark,
            window: 0,
            edges: BTreeMap::new(),
            index: Index::default(),
            next_edge: 0,
        }
    }

    /// The log keeps at least the last `window` events, or all since it began.
    #[must_use]
    pub fn with_window(mut self, window: u64) -> Self {
        self.window = window;
        self
    }

    /// A connection came up; it gets nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        let edge = EdgeId(self.next_edge);
        self.next_edge = self.next_edge.wrapping_add(1);
        self.edges.insert(edge, None);
        edge
    }

    /// A connection that attached before this bus was restarted.
    pub fn restore(&mut self, interest: Interest) -> EdgeId {
        let edge = self.connect();
        self.enter(edge, interest);
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
        if let Some(Some(interest)) = self.edges.remove(&edge) {
            self.index.remove(edge, &interest);
        }
    }

    /// The session of an attached edge watches these URIs now; the frame tells the edge so.
    pub fn watch(&mut self, edge: EdgeId, uris: Vec<Uri>) -> Option<String> {
        let former = self.edges.get(&edge)?.clone()?;
        let interest = former.with_uris(uris);
        self.index.remove(edge, &former);
        self.enter(edge, interest.clone());
        Some(BusMessage::Interest(interest).to_json())
    }

    /// What an attached edge wants.
    pub fn interest(&self, edge: EdgeId) -> Option<&Interest> {
        self.edges.get(&edge)?.as_ref()
    }

    /// An event was published.
    pub fn publish(&mut self, event: ServerEvent) -> Publication {
        self.mark.position = self.mark.position.next();
        let edges = self.index.matching(&event);
        let position = self.mark.position;
        let message = BusMessage::Event { position, event }.to_json();
        Publication {
            position,
            message,
            edges,
        }
    }

    /// Where the log ends.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// How many edges are attached.
    pub fn attached(&self) -> usize {
        self.edges.values().flatten().count()
    }

    fn attach(&mut self, edge: EdgeId, attach: Attach) -> Result<Received, ProtocolError> {
        if self.edges.get(&edge) != Some(&None) {
            return Err(ProtocolError::OutOfPlace);
        }
        let Attach {
            interest,
            session,
            since,
        } = attach;
        self.enter(edge, interest.clone());
        let since = since.filter(|since| self.reaches(since));
        let replay_after = since.as_ref().map(|since| since.position);
        let mark = since.unwrap_or_else(|| self.mark.clone());
        Ok(Received::Attached {
            answer: BusMessage::Attached(mark).to_json(),
            interest,
            session,
            replay_after: replay_after.filter(|position| *position < self.mark.position),
        })
    }

    /// Whether the log still holds everything after `since`.
    fn reaches(&self, since: &Mark) -> bool {
        let oldest = self.mark.position.0.saturating_sub(self.window);
        since.epoch == self.mark.epoch
            && (oldest..=self.mark.position.0).contains(&since.position.0)
    }

    fn enter(&mut self, edge: EdgeId, interest: Interest) {
        self.index.insert(edge, &interest);
        self.edges.insert(edge, Some(interest));
    }
}
