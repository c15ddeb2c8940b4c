use crate::{
    bus::{
        edges::EdgeId,
        frames::attached_frame,
        protocol::Attach,
        replay::Replay,
        shard_protocol::{Missed, Watched},
    },
    clock::Millis,
    position::Mark,
    seeded::{self, Bug},
    topic::Topic,
};

use super::{Asked, Parting, Shard, Waiting};

impl Shard {
    pub(super) fn attach(&mut self, edge: EdgeId, attach: Attach, now: Millis) {
        if self.is_retired {
            return self.close(edge, Parting::Moved);
        }
        let Attach {
            interest,
            session,
            since,
        } = attach;
        let wanted = interest.topics();
        let is_back = since.as_ref().is_some_and(|since| self.knows(since));
        let is_admitted =
            self.edges.admits(edge, &wanted) || (is_back && self.edges.admits_back(edge, &wanted));
        if !is_admitted || !self.root_admits(wanted.iter(), now) {
            return self.close(edge, Parting::Full);
        }
        if let Some(former) = self.edges.leave(edge) {
            self.release(former.followed());
        }
        self.edges.enter(edge, &wanted, None, true);
        self.low.handle_count(self.edges.attached(), now);
        let topics: Vec<Topic> = wanted.iter().map(Topic::followed).collect();
        for topic in &topics {
            self.wants.want(topic.clone());
        }
        if let Some(session) = &session {
            self.take_over(session, edge);
        }
        self.waiting.retain(|waiting| waiting.edge != edge);
        let is_current = session.is_none() && self.is_current(&topics, since.as_ref());
        let call = self.call_that_serves(&topics, session.as_deref(), since.as_ref());
        if is_current {
            self.answer(edge, since, None);
        } else {
            let what = Asked::Attach { since, session };
            self.waiting.push(Waiting { edge, what, call });
        }
    }

    /// Whether a mark is one of the log that this shard follows.
    fn knows(&self, since: &Mark) -> bool {
        let is_before = |own: &Mark| own.epoch == since.epoch && since.position <= own.position;
        self.mark.as_ref().is_some_and(is_before)
    }

    /// Whether an edge can be answered without asking the root.
    pub(super) fn is_current(&self, topics: &[Topic], since: Option<&Mark>) -> bool {
        let is_whole =
            |since: &Mark| Some(since) == self.mark.as_ref() && self.whole_from <= since.position;
        let is_here = since.is_none_or(is_whole);
        if seeded::has(Bug::AnswersTooSoon) {
            return self.mark.is_some();
        }
        self.mark.is_some() && is_here && topics.iter().all(|topic| self.wants.is_followed(topic))
    }

    /// The call on its way serves whoever wants no more than it follows, and has no past.
    pub(super) fn call_that_serves(
        &self,
        topics: &[Topic],
        session: Option<&str>,
        since: Option<&Mark>,
    ) -> Option<u64> {
        let flight = self.flight.as_ref()?;
        let is_added = |topic| self.wants.is_followed(topic) || flight.turn.add.contains(topic);
        let is_served = session.is_none() && since.is_none() && topics.iter().all(is_added);
        is_served.then_some(flight.seq)
    }

    pub(super) fn answer_waiting(
        &mut self,
        seq: u64,
        mark: &Mark,
        missed: Option<&Missed>,
        watches: &[Watched],
    ) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (answered, waiting): (Vec<_>, Vec<_>) =
            waiting.partition(|waiting| waiting.call == Some(seq));
        self.waiting = waiting;
        for Waiting { edge, what, .. } in answered {
            match what {
                Asked::Adjust { seq, .. } => self.answer_adjust(edge, seq, mark.position),
                Asked::Attach {
                    session: Some(session),
                    ..
                } if !self.watch(edge, &session, watches) => self.close(edge, Parting::Over),
                Asked::Attach { since, .. } => self.answer(edge, since, Some((mark, missed))),
            }
        }
    }

    pub(super) fn is_waiting(&self, edge: EdgeId) -> bool {
        self.edges
            .get(edge)
            .is_some_and(|attached| attached.is_waiting)
    }

    /// Answers an attach, here where the shard is or there where the root was.
    pub(super) fn answer(
        &mut self,
        edge: EdgeId,
        since: Option<Mark>,
        from: Option<(&Mark, Option<&Missed>)>,
    ) {
        let own = self.mark.clone();
        let Some(end) = from.map(|(mark, _)| mark.clone()).or(own) else {
            return;
        };
        let missed = from.and_then(|(_, missed)| missed);
        let asked = since.as_ref().map(|since| since.position);
        let since = since.filter(|since| {
            let after = missed.map_or(end.position, |missed| missed.after);
            since.epoch == end.epoch && (after..=end.position).contains(&since.position)
        });
        let is_told = since.is_some();
        let begin = since.unwrap_or_else(|| end.clone());
        let room = self.edges.room_of(edge);
        let Some(attached) = self.edges.get_mut(edge) else {
            return;
        };
        let mut replay = Replay::of(attached.topics().clone(), begin.position);
        let told = missed.map_or(&[][..], |missed| &missed.events);
        let told = told
            .iter()
            .filter(|_| is_told)
            .map(|(at, event)| (*at, event));
        let kept = self.kept.values().map(|(at, event)| (*at, event));
        let kept = kept.filter(|(at, _)| from.is_some() && *at > end.position);
        for (position, event) in told.chain(kept).filter(|(at, _)| *at > begin.position) {
            replay.push(position, event);
        }
        let (frames, heard) = replay.frames();
        attached.last = Some(heard);
        attached.is_waiting = false;
        let attached = attached_frame(&begin, heard.max(end.position), asked, room);
        for message in [attached].into_iter().chain(frames) {
            self.send(edge, message);
        }
    }
}
