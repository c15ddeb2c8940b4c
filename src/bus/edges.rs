use alloc::{boxed::Box, string::String};

use crate::{
    vocabulary::{
        position::{Cursor, Position},
        topic::{Delta, Topics},
        uri::Uri,
    },
    wire::{BusMessage, Follow, FollowResponse, ProtocolError},
};

use super::{
    Bus,
    follow_reply::{FollowReply, Persist},
    registry::{EdgeFrame, EdgeId},
};

/// The result of an edge's frame.
#[derive(Debug)]
#[non_exhaustive]
pub enum Received {
    /// The edge now follows other topics, or was refused: complete the reply and send it before the
    /// next publish.
    Followed(Box<FollowReply>),
    /// There is no room for the topics of the edge. It was removed; close its connection.
    Full,
    /// The edge has detached and was removed.
    Detached,
}

/// The edges that the bus itself holds.
impl Bus {
    /// Adds a connection; it receives nothing until it follows something.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// Restores an edge after a restart, with what [`Bus::registry`] returned about it.
    pub fn restore(&mut self, topics: &Topics, last: Option<Position>, seq: u64) -> EdgeId {
        self.edges.restore(topics, last, seq)
    }

    /// Handles a frame of an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped, and changes nothing.
    pub fn handle_message(&mut self, edge: EdgeId, text: &str) -> Result<Received, ProtocolError> {
        match self.edges.read(edge, text)? {
            EdgeFrame::Detach => {
                self.disconnect(edge);
                Ok(Received::Detached)
            }
            EdgeFrame::Stale(response) => Ok(refused(edge, response, Delta::default())),
            EdgeFrame::All(follow) => Ok(self.begin(edge, follow)),
            EdgeFrame::More(follow) => self.change(edge, follow),
        }
    }

    /// Removes a connection.
    pub fn disconnect(&mut self, edge: EdgeId) {
        self.edges.disconnect(edge);
    }

    /// Sets the resources that the session of an edge is subscribed to, and returns the frame for
    /// the edge. While it `is_paused`, its client must receive no notifications.
    pub fn set_interest(&mut self, edge: EdgeId, uris: &[Uri], is_paused: bool) -> Option<String> {
        self.edges.set_resources(edge, uris)?;
        Some(BusMessage::session_interest(uris, is_paused))
    }

    /// Replaces all topics of an edge, regardless of what it was sent before.
    fn begin(&mut self, edge: EdgeId, follow: Follow) -> Received {
        let topics: Topics = follow.add.iter().cloned().collect();
        let since = follow.received();
        let since = since.filter(|since| self.reaches(since));
        let is_admitted = self.edges.admits(edge, &topics)
            || (since.is_some() && self.edges.admits_back(edge, &topics));
        if !is_admitted {
            self.disconnect(edge);
            return Received::Full;
        }
        let after = since.map_or(self.cursor.position, |since| since.position);
        self.edges
            .enter(edge, &topics, follow.seq, Some(after), false);
        Received::Followed(Box::new(FollowReply::to_edge(
            edge,
            follow,
            self.cursor.clone(),
            Some(after),
            Persist::All,
        )))
    }

    /// Changes the topics of an edge without a new start: its last sent position stays. Drops take
    /// effect even if additions are refused.
    fn change(&mut self, edge: EdgeId, mut follow: Follow) -> Result<Received, ProtocolError> {
        // A session's stream joins only with a fresh follow.
        follow.joined.clear();
        let delta = self.edges.delta(edge, &follow)?;
        let is_admitted = self.edges.admits_change(edge, &delta);
        let delta = self
            .edges
            .count_change(edge, follow.seq, delta, is_admitted);
        if !is_admitted {
            let response = self.edges.refused(edge, follow.seq);
            return Ok(refused(edge, response, delta));
        }
        let cursor = self.cursor.clone();
        let persist = Persist::of(delta);
        Ok(Received::Followed(Box::new(FollowReply::to_edge(
            edge, follow, cursor, None, persist,
        ))))
    }

    /// Whether the log still holds every event after `since`.
    pub(super) fn reaches(&self, since: &Cursor) -> bool {
        since.epoch == self.cursor.epoch
            && (self.floor..=self.cursor.position).contains(&since.position)
    }
}

fn refused(edge: EdgeId, response: FollowResponse, delta: Delta) -> Received {
    Received::Followed(Box::new(FollowReply::refused_to_edge(
        edge,
        response,
        Persist::of(delta),
    )))
}
