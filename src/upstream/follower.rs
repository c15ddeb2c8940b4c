use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        position::{Mark, Position},
        task::TaskId,
        topic::Topic,
    },
    wire::{Batch, BusMessage, Follow, FollowAnswer, Followed, ProtocolError},
};

use super::{
    counts::Counts,
    heard::Heard,
    link::{BusCall, Link, Patience},
    past::Past,
    settling::Settling,
};

/// Follows the log of a bus over one connection after another: knows up to where everything was heard, notices
/// what is missing, and says when to attach again.
///
/// After each `handle_*` call, and when [`Follower::poll_timeout`] says, call [`Follower::handle_timeout`]
/// and poll [`Follower::poll_call`] until it answers `None`.
#[derive(Debug)]
pub struct Follower {
    pub(super) link: Link,
    pub(super) mark: Option<Mark>,
    /// What the attach said that is on its way.
    past: Past,
    /// Up to where everything was heard when more was wanted than the bus was told.
    before: Option<Mark>,
    /// The number of the last follow, and of the last one that said all.
    seq: u64,
    asked: u64,
    /// An answer that tells of no session is none.
    needs_watch: bool,
    /// Of the tasks whose state was told of before its turn, where that state stands: what comes to light before it is older.
    early: Vec<(TaskId, Position)>,
    /// The batch for which the bus was last asked because nobody wants an event of it.
    unwanted: Option<Position>,
    pub(super) settling: Settling,
    counts: Counts,
}

impl Follower {
    /// A follower that calls for its first attach like for every other one.
    pub fn unattached() -> Self {
        Self {
            link: Link::unattached(),
            mark: None,
            past: Past::None,
            before: None,
            seq: 0,
            asked: 0,
            needs_watch: false,
            early: Vec::new(),
            unwanted: None,
            settling: Settling::Over,
            counts: Counts::default(),
        }
    }

    /// What its first attach says that was heard before.
    pub(crate) fn resuming(self, past: Past) -> Self {
        Self { past, ..self }
    }

    /// Takes no attach for confirmed where what its session watches is not told.
    pub(crate) fn expect_watch(&mut self) {
        self.needs_watch = true;
    }

    /// How patient it is.
    pub fn set_patience(&mut self, patience: Patience) {
        self.link.set_patience(patience);
    }

    /// A frame came from the bus. `wanted` is what was asked for; `None`: everything.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame is then to be dropped.
    pub fn handle_message(
        &mut self,
        text: &str,
        wanted: Option<&SubscriptionFilter>,
        now: Millis,
    ) -> Result<Heard, ProtocolError> {
        if self.link.is_lost() {
            return Err(ProtocolError::OutOfPlace);
        }
        let message = BusMessage::from_json(text);
        let message = message.inspect_err(|error| self.handle_unreadable(*error, now))?;
        match message {
            BusMessage::Answer(answer) => Ok(self.handle_answer(answer, now)),
            BusMessage::Watched { uris, is_held } => Ok(Heard::Watched(uris, is_held)),
            BusMessage::Batch(batch) => self.handle_batch(batch, wanted, now),
        }
    }

    /// The connection is gone, or could not be made. `random` is drawn from [0, 1).
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = self.mark.is_some() && !self.link.is_away();
        self.counts.outages += u32::from(is_news);
        self.link.handle_lost(now, random, is_overloaded);
    }

    /// The connection went away with whoever held it: another one is called for at once.
    pub fn handle_moved(&mut self, now: Millis) {
        self.link.handle_moved(now);
    }

    /// Its connection was another follower's, which has heard everything up to `since` and serves it
    /// no longer: an attach of its own is called for within two seconds. `random` is drawn from [0, 1).
    pub fn handle_parted(&mut self, since: Mark, now: Millis, random: f64) {
        self.mark = Some(since);
        self.before = None;
        self.past = Past::None;
        self.early.clear();
        self.link.handle_parted(now, random);
    }

    /// The bus is to be asked at once; where it is lost, another attempt to reach it is made at once.
    pub fn handle_wish(&mut self, now: Millis) {
        self.link.handle_wish(now);
    }

    /// More is wanted: the next attach says it, and has replayed what comes from now on.
    pub fn handle_scope(&mut self, now: Millis) {
        if self.before.is_none() {
            self.before.clone_from(&self.mark);
        }
        self.link.handle_doubt(now);
    }

    /// The bus is to be asked soon whether nothing was missed.
    pub fn handle_question(&mut self, now: Millis) {
        self.link.handle_doubt(now);
    }

    /// The moment of [`Follower::poll_timeout`] has come. `random` is drawn from [0, 1).
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        let may_verify = self.may_verify();
        self.link.handle_timeout(now, random, may_verify);
    }

    /// What is to be done about the bus, or `None` until something is handled again. An attach says [`Follower::follow`].
    pub fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        let call = self.link.poll_call(now)?;
        if call != BusCall::Leave {
            self.asked = self.next_seq();
        }
        if call == BusCall::Attach {
            self.settling.handle_connecting();
        }
        if call != BusCall::Leave
            && let Some(mark) = &self.mark
        {
            let mark = self.resume().unwrap_or_else(|| mark.clone());
            self.before = None;
            // A log without an epoch is none that could be replayed.
            self.past = if mark.epoch.is_empty() {
                Past::Unknown
            } else {
                Past::Since(mark)
            };
        }
        Some(call)
    }

    /// What an attach says: all that is wanted, and what was heard.
    pub fn follow(&self, topics: Vec<Topic>) -> Follow {
        let follow = Follow::fresh(self.asked, topics);
        match self.since() {
            Some(mark) => follow.since(mark),
            None => follow,
        }
    }

    /// The number of the next follow.
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// When to call [`Follower::handle_timeout`]; `None`: not until something is handled.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.link.poll_timeout(self.may_verify())
    }

    /// The mark that the attach says which is on its way.
    pub fn since(&self) -> Option<&Mark> {
        match &self.past {
            Past::Since(mark) => Some(mark),
            Past::None | Past::Unknown => None,
        }
    }

    /// Where the log has to be followed from so that nothing is missed: the mark, or an earlier one
    /// while the bus has not confirmed what was wanted since. `None` before the first mark.
    pub fn resume(&self) -> Option<Mark> {
        let mark = self.mark.as_ref()?;
        let earlier = [self.before.as_ref(), self.since()].into_iter().flatten();
        let earlier = earlier.filter(|earlier| earlier.epoch == mark.epoch);
        let resume = earlier.chain([mark]).min_by_key(|mark| mark.position);
        resume.cloned()
    }

    /// Up to where everything was heard; `None` until the first attach is confirmed.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Whether there is no connection.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    /// Whether everything comes, as far as is known.
    pub fn is_certain(&self) -> bool {
        self.link.is_certain()
    }

    /// Whether the bus was lost, and has not confirmed again yet.
    pub fn is_away(&self) -> bool {
        self.link.is_away()
    }

    /// How often the bus had to be followed anew.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn handle_answer(&mut self, answer: FollowAnswer, now: Millis) -> Heard {
        match answer {
            FollowAnswer::Followed(followed) if followed.missed.is_some() => {
                self.handle_attached(followed, now)
            }
            FollowAnswer::Followed(Followed {
                seq, mark, room, ..
            }) => Heard::Followed {
                seq,
                head: mark.position,
                room,
            },
            FollowAnswer::Full { seq, room } => Heard::Refused { seq, room },
            // The answer to what was said then may be lost: then nothing comes, and it is said again.
            FollowAnswer::Stale { seq } => {
                self.seq = self.seq.max(seq);
                Heard::Nothing
            }
            FollowAnswer::Unknown => Heard::Nothing,
        }
    }

    /// All that was asked for is followed, after the place that was named: or after another one, where the log does not reach back so far.
    fn handle_attached(&mut self, followed: Followed, now: Millis) -> Heard {
        // The answer to an earlier attach may come twice, or late.
        let is_awaited = self.link.awaits() && followed.seq == self.asked;
        let Some(missed) = followed.missed.filter(|_| is_awaited) else {
            return Heard::Nothing;
        };
        let watched = followed.watches.into_iter().next();
        if self.needs_watch && watched.is_none() {
            self.counts.gaps += 1;
            return Heard::Nothing;
        }
        let head = followed.mark.position;
        let mark = Mark {
            position: missed.after,
            ..followed.mark
        };
        let is_whole = match core::mem::replace(&mut self.past, Past::None) {
            Past::None => true,
            Past::Since(since) => since == mark,
            Past::Unknown => false,
        };
        self.counts.resyncs += u32::from(!is_whole);
        self.counts.healed += u32::from(self.link.handle_attached(now));
        if self.mark.as_ref().map(|former| &former.epoch) != Some(&mark.epoch) {
            self.early.clear();
        }
        self.mark = Some(mark);
        self.handle_head(head, now);
        Heard::Attached {
            is_whole,
            head,
            room: followed.room,
            watched: watched.map(|watched| (watched.uris, watched.is_held)),
        }
    }

    /// Takes a batch in at its place. Of one that does not follow what was heard before it is told, too, and the bus is asked.
    fn handle_batch(
        &mut self,
        batch: Batch,
        wanted: Option<&SubscriptionFilter>,
        now: Millis,
    ) -> Result<Heard, ProtocolError> {
        let is_wanted = |event: &ServerEvent| wanted.is_none_or(|filter| filter.accepts(event));
        let are_wanted = batch.events.iter().all(|(_, event)| is_wanted(event));
        let reached = self.mark.as_ref().map(|mark| mark.position);
        let is_meant = self
            .take(batch.previous, batch.through, are_wanted, now)
            .ok_or(ProtocolError::OutOfPlace)?;
        let is_new = |at: Position| batch.previous.is_none() || Some(at) > reached;
        let mut events = batch.events;
        events.retain(|(at, event)| is_new(*at) && (is_meant || is_wanted(event)));
        events.retain(|(at, event)| self.is_latest(event, *at));
        if events.is_empty() {
            return Ok(Heard::Nothing);
        }
        let at = batch.at;
        Ok(Heard::Events { at, events })
    }

    /// Moves the mark over a batch, where nothing is missing before it. Returns whether all of its events are meant for this node; `None` before
    /// any attach was confirmed.
    fn take(
        &mut self,
        previous: Option<Position>,
        through: Position,
        are_wanted: bool,
        now: Millis,
    ) -> Option<bool> {
        let Some(mark) = &mut self.mark else {
            self.doubt(now);
            return None;
        };
        let Some(previous) = previous else {
            // What is in doubt is asked for from before the doubt.
            if self.link.is_certain() {
                mark.position = through;
            }
            return Some(true);
        };
        if through <= mark.position {
            return Some(true);
        }
        if previous != mark.position {
            // Once the bus is asked, its answer goes back to the mark: what comes before that is no news.
            if self.link.is_attached() {
                self.doubt(now);
            }
            return Some(true);
        }
        // A bus sends what it was asked for: a change of that must have been missed. Once it has answered, it means it.
        let is_meant = self.unwanted == Some(through) && self.link.is_certain();
        if !are_wanted && !is_meant {
            self.unwanted = Some(through);
            self.doubt(now);
            return Some(false);
        }
        mark.position = through;
        self.link.handle_certain(now);
        Some(true)
    }

    /// Whether no later state of its task was told of. A frame that was overtaken may come after the answer to what the
    /// bus was asked, where it stands as if it were a part of that.
    fn is_latest(&mut self, event: &ServerEvent, position: Position) -> bool {
        let reached = self.mark.as_ref().map(|mark| mark.position);
        if let ServerEvent::TaskStatus { task } = event.change() {
            let is_told = |(id, told): &(TaskId, Position)| id == task.id() && position < *told;
            if self.early.iter().any(is_told) {
                return false;
            }
            self.early.retain(|(id, _)| id != task.id());
            self.early.push((task.id().clone(), position));
        }
        self.early.retain(|(_, told)| Some(*told) > reached);
        true
    }

    /// A message of a newer bus is none for us, and anything else may have been an event.
    fn handle_unreadable(&mut self, error: ProtocolError, now: Millis) {
        let is_newer = matches!(
            error,
            ProtocolError::UnknownVersion | ProtocolError::UnknownType
        );
        if !is_newer {
            self.doubt(now);
        }
    }

    /// Something may be missing: the bus is to be asked.
    pub(crate) fn doubt(&mut self, now: Millis) {
        self.counts.gaps += u32::from(self.link.handle_doubt(now));
    }

    /// A log without an epoch has nothing to ask for.
    pub(super) fn may_verify(&self) -> bool {
        self.mark
            .as_ref()
            .is_some_and(|mark| !mark.epoch.is_empty())
    }
}
