use alloc::{boxed::Box, string::String};

use crate::{
    vocabulary::{
        position::{Mark, Position},
        topic::{Delta, Topics},
        uri::Uri,
    },
    wire::{BusMessage, Follow, FollowAnswer, ProtocolError},
};

use super::{
    Bus,
    follow_reply::{FollowReply, Keeps},
    registry::{EdgeId, Frame},
};

/// What an edge's frame led to.
#[derive(Debug)]
pub enum Received {
    /// The edge follows something else from now on, or was refused that: the reply has to be completed, and sent before anything
    /// else is published.
    Followed(Box<FollowReply>),
    /// There is no room for what the edge wants: it is no longer known, and its connection is to be closed.
    Full,
    /// The edge asked to be let go; it is no longer known.
    Detached,
}

/// The edges that follow the bus itself, and go.
impl Bus {
    /// A connection came up; it gets nothing until it follows something.
    pub fn connect(&mut self) -> EdgeId {
        self.edges.connect()
    }

    /// An edge of before a restart, with what [`Bus::registry`] said of it.
    pub fn restore(&mut self, topics: &Topics, last: Option<Position>, seq: u64) -> EdgeId {
        self.edges.restore(topics, last, seq)
    }

    /// A frame came from an edge.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped, and nothing has changed.
    pub fn handle_message(&mut self, edge: EdgeId, text: &str) -> Result<Received, ProtocolError> {
        match self.edges.read(edge, text)? {
            Frame::Detach => {
                self.disconnect(edge);
                Ok(Received::Detached)
            }
            Frame::Stale(answer) => Ok(refused(edge, answer, Delta::default())),
            Frame::All(follow) => Ok(self.begin(edge, follow)),
            Frame::More(follow) => self.change(edge, follow),
        }
    }

    /// A connection went away.
    pub fn disconnect(&mut self, edge: EdgeId) {
        self.edges.disconnect(edge);
    }

    /// The session of an edge watches these URIs now, and while it `is_held` its client is not ready to hear of them; the frame tells
    /// the edge so.
    pub fn watch(&mut self, edge: EdgeId, uris: &[Uri], is_held: bool) -> Option<String> {
        self.edges.watch(edge, uris)?;
        Some(BusMessage::watched(uris, is_held))
    }

    /// This is all that an edge follows; what it was sent before counts no more.
    fn begin(&mut self, edge: EdgeId, follow: Follow) -> Received {
        let topics: Topics = follow.add.iter().cloned().collect();
        let since = follow.heard();
        let since = since.filter(|since| self.reaches(since));
        let is_admitted = self.edges.admits(edge, &topics)
            || (since.is_some() && self.edges.admits_back(edge, &topics));
        if !is_admitted {
            self.disconnect(edge);
            return Received::Full;
        }
        let after = since.map_or(self.mark.position, |since| since.position);
        self.edges
            .enter(edge, &topics, follow.seq, Some(after), false);
        Received::Followed(Box::new(FollowReply::to_edge(
            edge,
            follow,
            self.mark.clone(),
            Some(after),
            Keeps::Anew,
        )))
    }

    /// What was sent before stays sent: the edge goes on from where it is. What is dropped is dropped in any case.
    fn change(&mut self, edge: EdgeId, mut follow: Follow) -> Result<Received, ProtocolError> {
        // The stream of a session joins with all that it follows.
        follow.joined.clear();
        let delta = self.edges.delta(edge, &follow)?;
        let is_admitted = self.edges.admits_change(edge, &delta);
        let delta = self
            .edges
            .count_change(edge, follow.seq, delta, is_admitted);
        if !is_admitted {
            let answer = self.edges.refused(edge, follow.seq);
            return Ok(refused(edge, answer, delta));
        }
        let mark = self.mark.clone();
        let keeps = Keeps::of(delta);
        Ok(Received::Followed(Box::new(FollowReply::to_edge(
            edge, follow, mark, None, keeps,
        ))))
    }

    /// Whether the log still holds everything after `since`.
    pub(super) fn reaches(&self, since: &Mark) -> bool {
        since.epoch == self.mark.epoch
            && (self.floor..=self.mark.position).contains(&since.position)
    }
}

fn refused(edge: EdgeId, answer: FollowAnswer, delta: Delta) -> Received {
    Received::Followed(Box::new(FollowReply::refused_to_edge(
        edge,
        answer,
        Keeps::of(delta),
    )))
}
