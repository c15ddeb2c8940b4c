use crate::{position::Position, topic::Topics, uri::Uri};

use super::{
    Bus,
    adjust::Adjust,
    edges::{Attached, EdgeId},
    frames::{adjusted_frame, attached_frame, refused_frame},
    interest::Interest,
    kept,
    protocol::{Attach, BusMessage, EdgeMessage, ProtocolError},
};

/// What an edge's frame led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The edge is attached; `answer` is the frame that tells it so.
    Attached {
        /// The frame to send back.
        answer: String,
        /// What the edge wants; with it [`Bus::restore`] brings the edge back after a restart.
        interest: Interest,
        /// The session whose URIs are to be added with [`Bus::watch`] before the answer is sent.
        session: Option<Box<str>>,
        /// After the answer, and before anything else is published, the events beyond this
        /// position are to be replayed from the log: see [`Bus::replay`].
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

/// The edges that attach at the bus itself, and go.
impl Bus {
    /// A connection came up; it gets nothing until it attaches.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// A connection that attached before this bus was restarted, with what [`Bus::last`] said of it.
    pub fn restore(&mut self, interest: &Interest, last: Option<Position>) -> EdgeId {
        self.restored(&interest.topics(), last)
    }

    /// As [`Bus::restore`], from the texts of [`Bus::kept`] and the changes that [`Received::Adjusted`] told since.
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

    fn restored(&mut self, topics: &Topics, last: Option<Position>) -> EdgeId {
        let edge = self.connect();
        self.edges.enter(edge, topics, last, false);
        edge
    }
}
