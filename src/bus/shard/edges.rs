use alloc::vec::Vec;

use crate::{
    bus::{follow_reply::Persist, registry::EdgeId, replay::Replay},
    clock::Millis,
    vocabulary::{
        position::Cursor,
        topic::{Delta, Topic, Topics},
    },
    wire::{Backlog, Claim, Follow, ProtocolError, SessionInterest},
};

use super::{
    EdgeCloseReason, Shard, ShardOutput, ShardReceived,
    session::Interests,
    waiting_follows::{Asked, Waiting},
};

/// The follows of edges, and the replies to them.
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

    /// Changes the topics of an edge. Drops take effect at once, even if the additions are refused;
    /// additions are confirmed once the root follows them.
    pub(super) fn change_edge(
        &mut self,
        edge: EdgeId,
        follow: &Follow,
        now: Millis,
    ) -> Result<ShardReceived, ProtocolError> {
        let seq = follow.seq;
        let delta = self.edges.delta(edge, follow)?;
        let is_admitted =
            self.edges.admits_change(edge, &delta) && self.root_admits(delta.add.iter(), now);
        let delta = self.edges.count_change(edge, seq, delta, is_admitted);
        self.release(delta.drop.iter().map(Topic::followed));
        for topic in &delta.add {
            self.interest.want(topic.followed());
        }
        if is_admitted {
            self.confirm_or_wait(edge, seq, &delta);
        } else {
            self.refuse_more(edge, seq);
        }
        Ok(ShardReceived::Followed {
            persist: Persist::of(delta),
            session: None,
        })
    }

    /// Whether a cursor is one of the log that this shard follows.
    fn knows(&self, since: &Cursor) -> bool {
        let is_before = |own: &Cursor| own.epoch == since.epoch && since.position <= own.position;
        self.cursor.as_ref().is_some_and(is_before)
    }

    /// Whether an edge can get its reply without a call to the root.
    fn is_current(&self, topics: &[Topic], since: Option<&Cursor>) -> bool {
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
    fn call_that_serves(
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
        let mut joined = Interests::new(joined);
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
            let interest = session.map(|session| joined.of(&session).cloned());
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

    /// Confirms the additions of an edge; the log ended at `cursor` when they took effect.
    fn confirm(&mut self, edge: EdgeId, seq: u64, cursor: &Cursor) {
        let response = self.edges.confirmed(edge, seq, cursor.clone());
        self.send(edge, response.to_json());
    }

    /// Refuses the additions of an edge, which have no room.
    fn refuse_more(&mut self, edge: EdgeId, seq: u64) {
        let response = self.edges.refused(edge, seq);
        self.send(edge, response.to_json());
    }

    /// Whether the root has room for these topics, as far as is known.
    fn root_admits<'k>(&mut self, topics: impl Iterator<Item = &'k Topic>, now: Millis) -> bool {
        let new = self.edges.new_name_bytes(topics);
        self.interest
            .admits(self.edges.followed_name_bytes(), new, now)
    }

    /// Refuses the edges that wait for topics of a call for which the root has no room.
    pub(super) fn refuse_waiting(&mut self, seq: u64) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let refused = waiting.take(seq, |edge| self.lacks(edge));
        self.waiting = waiting;
        for waiting in refused {
            match waiting.what {
                Asked::All { .. } => self.close(waiting.edge, EdgeCloseReason::Full),
                Asked::More(added) => self.undo_additions(waiting.edge, waiting.seq, added),
            }
        }
    }

    fn confirm_or_wait(&mut self, edge: EdgeId, seq: u64, delta: &Delta) {
        let topics: Vec<Topic> = delta.add.iter().map(Topic::followed).collect();
        let is_current = self.is_current(&topics, None);
        if let Some(cursor) = self.cursor.clone().filter(|_| is_current) {
            return self.confirm(edge, seq, &cursor);
        }
        self.waiting.push(Waiting {
            edge,
            seq,
            call: self.call_that_serves(&topics, None, None),
            what: Asked::More(delta.add.clone()),
        });
    }

    /// Whether some topics of an edge are not followed.
    fn lacks(&self, edge: EdgeId) -> bool {
        let attached = self.edges.get(edge);
        attached.is_some_and(|attached| {
            let mut topics = attached.followed();
            topics.any(|topic| !self.interest.is_followed(&topic))
        })
    }

    fn undo_additions(&mut self, edge: EdgeId, seq: u64, drop: Vec<Topic>) {
        let delta = Delta {
            add: Vec::new(),
            drop,
        };
        self.edges.change(edge, &delta);
        self.release(delta.drop.iter().map(Topic::followed));
        self.outputs
            .push_back(ShardOutput::PersistChange(edge, delta));
        self.refuse_more(edge, seq);
    }
}
