use alloc::vec::Vec;

use crate::{
    bus::{registry::EdgeId, replay::Replay},
    clock::Millis,
    vocabulary::{
        position::Cursor,
        topic::{Topic, Topics},
    },
    wire::{Backlog, Claim, Follow, SessionInterest},
};

use super::{
    EdgeCloseReason, Shard,
    waiting_follows::{Asked, Waiting},
};

impl Shard {
    /// Handles a fresh follow of an edge, and replies once the root follows its topics.
    pub(super) fn begin_edge(&mut self, edge: EdgeId, follow: Follow, now: Millis) {
        if self.is_retired {
            return self.close(edge, EdgeCloseReason::Redirected);
        }
        let since = follow.received();
        let Follow {
            seq, add, joined, ..
        } = follow;
        let session = joined.into_iter().next();
        if session.as_ref().is_some_and(|it| self.has_newer(it)) {
            return self.close(edge, EdgeCloseReason::Over);
        }
        let wanted: Topics = add.into_iter().collect();
        let is_back = since.as_ref().is_some_and(|since| self.knows(since));
        let is_admitted =
            self.edges.admits(edge, &wanted) || (is_back && self.edges.admits_back(edge, &wanted));
        if !is_admitted || !self.root_admits(wanted.iter(), now) {
            return self.close(edge, EdgeCloseReason::Full);
        }
        if let Some(former) = self.edges.leave(edge) {
            self.release(former.followed());
        }
        self.edges.enter(edge, &wanted, seq, None, true);
        self.low.handle_count(self.edges.attached(), now);
        let topics: Vec<Topic> = wanted.iter().map(Topic::followed).collect();
        for topic in &topics {
            self.interest.want(topic.clone());
        }
        if let Some(session) = &session {
            self.take_over(session, edge);
        }
        self.waiting.remove(edge);
        let is_current = session.is_none() && self.is_current(&topics, since.as_ref());
        let call = self.call_that_serves(&topics, session.as_ref(), since.as_ref());
        if is_current {
            self.respond(edge, seq, since, None, Vec::new());
        } else {
            let what = Asked::All { since, session };
            self.waiting.push(Waiting {
                edge,
                seq,
                what,
                call,
            });
        }
    }

    /// Whether a cursor is one of the log that this shard follows.
    fn knows(&self, since: &Cursor) -> bool {
        let is_before = |own: &Cursor| own.epoch == since.epoch && since.position <= own.position;
        self.cursor.as_ref().is_some_and(is_before)
    }

    /// Whether an edge can get its reply without a call to the root.
    pub(super) fn is_current(&self, topics: &[Topic], since: Option<&Cursor>) -> bool {
        let is_whole = |since: &Cursor| {
            Some(since) == self.cursor.as_ref() && self.whole_from <= since.position
        };
        let is_here = since.is_none_or(is_whole);
        self.cursor.is_some()
            && is_here
            && topics.iter().all(|topic| self.interest.is_followed(topic))
    }

    /// Returns the pending call if it serves an edge: one whose topics that call adds or that are
    /// followed, and that needs no earlier events.
    pub(super) fn call_that_serves(
        &self,
        topics: &[Topic],
        session: Option<&Claim>,
        since: Option<&Cursor>,
    ) -> Option<u64> {
        let call = self.flight.call()?;
        let is_added = |topic| self.interest.is_followed(topic) || self.interest.is_asked(topic);
        let is_served = session.is_none() && since.is_none() && topics.iter().all(is_added);
        is_served.then_some(call.number)
    }

    pub(super) fn respond_to_waiting(
        &mut self,
        call: u64,
        cursor: &Cursor,
        missed: Option<&Backlog>,
        joined: &[SessionInterest],
    ) {
        for waiting in self.waiting.take(call, |_| true) {
            let Waiting {
                edge, seq, what, ..
            } = waiting;
            let (since, session) = match what {
                Asked::More(_) => {
                    self.confirm(edge, seq, cursor);
                    continue;
                }
                Asked::All { since, session } => (since, session),
            };
            let interest = session.as_ref().map(|session| {
                let mut joined = joined.iter();
                joined
                    .find(|interest| interest.session == *session)
                    .cloned()
            });
            match interest {
                Some(None) => self.close(edge, EdgeCloseReason::Over),
                interest => {
                    let interest: Vec<_> = interest.flatten().into_iter().collect();
                    for interest in &interest {
                        self.set_interest(edge, interest);
                    }
                    self.respond(edge, seq, since, Some((cursor, missed)), interest);
                }
            }
        }
    }

    /// Replies to a fresh follow, at the shard's cursor or at the root's.
    fn respond(
        &mut self,
        edge: EdgeId,
        seq: u64,
        since: Option<Cursor>,
        from: Option<(&Cursor, Option<&Backlog>)>,
        interests: Vec<SessionInterest>,
    ) {
        let own = self.cursor.clone();
        let Some(end) = from.map(|(cursor, _)| cursor.clone()).or(own) else {
            return;
        };
        let missed = from.and_then(|(_, missed)| missed);
        let since = since.filter(|since| {
            let after = missed.map_or(end.position, |missed| missed.after);
            since.epoch == end.epoch && (after..=end.position).contains(&since.position)
        });
        let is_replayed = since.is_some();
        let after = since.map_or(end.position, |since| since.position);
        let Some(topics) = self.edges.topics(edge) else {
            return;
        };
        let mut replay = Replay::new(after);
        let missed_events = missed.map_or(&[][..], |missed| &missed.events);
        let missed_events = missed_events
            .iter()
            .filter(|_| is_replayed)
            .map(|(at, event)| (*at, event));
        let arrived = self.arrived.values().map(|(at, event)| (*at, event));
        let arrived = arrived.filter(|(at, _)| from.is_some() && *at > end.position);
        for (position, event) in missed_events.chain(arrived).filter(|(at, _)| *at > after) {
            if topics.accepts(event) {
                replay.push(position, event);
            }
        }
        for message in self.edges.begun(edge, seq, end, replay, interests) {
            self.send(edge, message);
        }
    }
}
