use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        filter::SubscriptionFilter,
        position::{Cursor, Position},
        topic::Topic,
    },
    wire::{Batch, BusMessage, Follow, FollowResponse, Followed, ProtocolError},
};

use super::{
    counts::OutageCounts,
    early_states::EarlyStates,
    link::{BusCall, Link, Timeouts, WaitLimits},
    resume_point::ResumePoint,
    settling::Settling,
    update::BusFrame,
};

/// Follows the log of a bus over one connection at a time: tracks the position up to which it has
/// every event, detects gaps, and decides when to attach again.
///
/// After each `handle_*` call, and when [`Follower::poll_timeout`] says, call
/// [`Follower::handle_timeout`] and poll [`Follower::poll_call`] until it returns `None`.
#[derive(Debug)]
pub struct Follower {
    link: Link,
    cursor: Option<Cursor>,
    /// What the pending attach states as received before.
    past: ResumePoint,
    /// The cursor at the time when more was wanted than the bus had confirmed.
    before: Option<Cursor>,
    /// The number of the last follow.
    seq: u64,
    /// The number of the last attach.
    attach_seq: u64,
    /// Whether a reply to an attach is ignored unless it names a session.
    needs_session: bool,
    early: EarlyStates,
    /// The batch for which the bus was last asked because it has an unwanted event.
    unwanted: Option<Position>,
    settling: Settling,
    counts: OutageCounts,
}

impl Follower {
    /// Creates a follower that calls for its first attach as for every other one.
    pub fn unattached() -> Self {
        Self {
            link: Link::unattached(),
            cursor: None,
            past: ResumePoint::None,
            before: None,
            seq: 0,
            attach_seq: 0,
            needs_session: false,
            early: EarlyStates::default(),
            unwanted: None,
            settling: Settling::Over,
            counts: OutageCounts::default(),
        }
    }

    /// Sets what its first attach states as received before.
    pub(crate) fn resuming(self, past: ResumePoint) -> Self {
        Self { past, ..self }
    }

    /// Requires the subscriptions of a session in the reply to an attach.
    pub(crate) fn expect_session(&mut self) {
        self.needs_session = true;
    }

    /// Sets the timeouts.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.set_limits(timeouts.into());
    }

    pub(super) fn set_limits(&mut self, limits: WaitLimits) {
        self.link.set_limits(limits);
    }

    /// Handles a frame of the bus. `wanted` is the requested filter; `None`: everything.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the frame has to be dropped.
    pub fn handle_message(
        &mut self,
        text: &str,
        wanted: Option<&SubscriptionFilter>,
        now: Millis,
    ) -> Result<BusFrame, ProtocolError> {
        if self.link.is_lost() {
            return Err(ProtocolError::OutOfPlace);
        }
        let message = BusMessage::from_json(text);
        let message = message.inspect_err(|error| self.handle_unreadable(*error, now))?;
        match message {
            BusMessage::Response(response) => Ok(self.handle_response(response, now)),
            BusMessage::SessionInterest { uris, is_paused } => {
                Ok(BusFrame::SessionInterest(uris, is_paused))
            }
            BusMessage::Batch(batch) => self.handle_batch(batch, wanted, now),
        }
    }

    /// Handles a connection that was lost or could not be opened. `random` is drawn from [0, 1).
    pub fn handle_lost(&mut self, now: Millis, random: f64, is_overloaded: bool) {
        let is_news = self.link.handle_lost(now, random, is_overloaded);
        self.counts.outages += u32::from(is_news && self.cursor.is_some());
    }

    /// Handles the end of a connection together with its owner: calls for another one at once.
    pub fn handle_moved(&mut self, now: Millis) {
        self.link.handle_moved(now);
    }

    /// Handles the move away from another follower's connection, which has delivered every event up
    /// to `since`: calls for a new attach within two seconds. `random` is drawn from [0, 1).
    pub fn resume_from(&mut self, since: Cursor, now: Millis, random: f64) {
        self.cursor = Some(since);
        self.before = None;
        self.past = ResumePoint::None;
        self.early.clear();
        self.link.reconnect_soon(now, random);
    }

    /// Asks the bus at once; if it is lost, tries to reach it at once.
    pub fn retry_now(&mut self, now: Millis) {
        self.link.retry_now(now);
    }

    /// Handles a larger filter: the next attach requests every event from now on that it accepts.
    pub fn handle_scope(&mut self, now: Millis) {
        if self.before.is_none() {
            self.before.clone_from(&self.cursor);
        }
        self.link.request_probe(now);
    }

    /// Asks the bus soon whether events were missed.
    pub fn request_probe(&mut self, now: Millis) {
        self.link.request_probe(now);
    }

    /// Handles the timeouts that are due. `random` is drawn from [0, 1).
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        let may_probe = self.may_probe();
        let is_news = self.link.handle_timeout(now, random, may_probe);
        self.counts.outages += u32::from(is_news && self.cursor.is_some());
    }

    /// Returns the next call to the bus, if any. An attach sends [`Follower::follow`].
    pub fn poll_call(&mut self, now: Millis) -> Option<BusCall> {
        let call = self.link.poll_call(now)?;
        if call != BusCall::Leave {
            self.attach_seq = self.next_seq();
        }
        if call == BusCall::Attach {
            self.settling.handle_connecting();
        }
        self.early.handle_call(call);
        if call != BusCall::Leave
            && let Some(cursor) = &self.cursor
        {
            let cursor = self.resume().unwrap_or_else(|| cursor.clone());
            self.before = None;
            self.past = ResumePoint::of(cursor);
        }
        Some(call)
    }

    /// Returns the content of an attach: all topics, and what was received before.
    pub fn follow(&self, topics: Vec<Topic>) -> Follow {
        let follow = Follow::fresh(self.attach_seq, topics);
        match self.since() {
            Some(cursor) => follow.since(cursor),
            None => follow,
        }
    }

    /// Returns the number of the next follow.
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Returns when to call [`Follower::handle_timeout`]; `None`: not until something is handled.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.link.poll_timeout(self.may_probe())
    }

    /// Returns the cursor in the pending attach.
    pub fn since(&self) -> Option<&Cursor> {
        self.past.since()
    }

    /// Returns the cursor from which to follow the log without a gap: the current cursor, or an
    /// earlier one while the bus has not confirmed what was wanted since. `None` before the first
    /// cursor.
    pub fn resume(&self) -> Option<Cursor> {
        let cursor = self.cursor.as_ref()?;
        let earlier = [self.before.as_ref(), self.since()].into_iter().flatten();
        let earlier = earlier.filter(|earlier| earlier.epoch == cursor.epoch);
        let resume = earlier.chain([cursor]).min_by_key(|cursor| cursor.position);
        resume.cloned()
    }

    /// Returns the cursor up to which every event was received; `None` before the first attach.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }

    /// Requests from the bus everything published before this call: see [`Follower::is_settled`]. A
    /// bus without an epoch cannot be asked.
    pub fn settle(&mut self, now: Millis) {
        if self.may_probe() {
            self.settling = Settling::begun(self.link.awaits());
            self.link.retry_now(now);
        }
    }

    /// Whether everything published before [`Follower::settle`] was received.
    pub fn is_settled(&self) -> bool {
        self.settling == Settling::Over && self.is_certain()
    }

    /// Whether there is no connection.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    /// Whether every event is received, as far as is known.
    pub fn is_certain(&self) -> bool {
        self.link.is_certain()
    }

    /// Whether the bus was lost and has not confirmed since.
    pub fn is_away(&self) -> bool {
        self.link.is_away()
    }

    /// Returns the counters of outages and gaps.
    pub fn counts(&self) -> OutageCounts {
        self.counts
    }

    fn handle_response(&mut self, response: FollowResponse, now: Millis) -> BusFrame {
        match response {
            FollowResponse::Followed(followed) if followed.missed.is_some() => {
                self.handle_attached(followed, now)
            }
            FollowResponse::Followed(Followed {
                seq, cursor, room, ..
            }) => BusFrame::Followed {
                seq,
                head: cursor.position,
                room,
            },
            FollowResponse::Full { seq, room } => BusFrame::Refused { seq, room },
            // The reply may be lost; the follow is then repeated.
            FollowResponse::Stale { seq } => {
                self.seq = self.seq.max(seq);
                BusFrame::Nothing
            }
            FollowResponse::Unknown => BusFrame::Nothing,
        }
    }

    /// Handles the confirmation of an attach, from its position or a later one if the log is short.
    fn handle_attached(&mut self, followed: Followed, now: Millis) -> BusFrame {
        // The reply to an earlier attach may arrive twice, or late.
        let is_awaited = self.link.awaits() && followed.seq == self.attach_seq;
        let Some(missed) = followed.missed.filter(|_| is_awaited) else {
            return BusFrame::Nothing;
        };
        let interest = followed.interests.into_iter().next();
        if self.needs_session && interest.is_none() {
            self.counts.gaps += 1;
            return BusFrame::Nothing;
        }
        let head = followed.cursor.position;
        let cursor = Cursor {
            position: missed.after,
            ..followed.cursor
        };
        let past = core::mem::replace(&mut self.past, ResumePoint::None);
        let is_whole = past.is_whole_from(&cursor);
        self.counts.resyncs += u32::from(!is_whole);
        self.counts.healed += u32::from(self.link.handle_attached(now));
        if self.cursor.as_ref().map(|former| &former.epoch) != Some(&cursor.epoch) {
            self.early.clear();
        }
        self.early.handle_head(head);
        self.cursor = Some(cursor);
        // What the reply replays is at or before the head.
        if self.settling.handle_response(head > missed.after) {
            self.link.retry_now(now);
        }
        BusFrame::Attached {
            is_whole,
            head,
            room: followed.room,
            interest: interest.map(|interest| (interest.uris, interest.is_paused)),
        }
    }

    /// Handles a batch. Delivers a batch out of order too, and asks the bus for what is missing.
    fn handle_batch(
        &mut self,
        batch: Batch,
        wanted: Option<&SubscriptionFilter>,
        now: Millis,
    ) -> Result<BusFrame, ProtocolError> {
        let is_wanted = |event: &ServerEvent| wanted.is_none_or(|filter| filter.accepts(event));
        let are_wanted = batch.events.iter().all(|(_, event)| is_wanted(event));
        let reached = self.cursor.as_ref().map(|cursor| cursor.position);
        let is_meant = self
            .take(batch.previous, batch.through, are_wanted, now)
            .ok_or(ProtocolError::OutOfPlace)?;
        let is_new = |at: Position| batch.previous.is_none() || Some(at) > reached;
        let mut events = batch.events;
        events.retain(|(at, event)| is_new(*at) && (is_meant || is_wanted(event)));
        let cursor = self.cursor.as_ref().map(|cursor| cursor.position);
        events.retain(|(at, event)| self.early.is_latest(event, *at, cursor));
        if events.is_empty() {
            return Ok(BusFrame::Nothing);
        }
        let at = batch.at;
        Ok(BusFrame::Events { at, events })
    }

    /// Moves the cursor over a batch if nothing is missing before it. Returns whether all of its
    /// events are meant for this node; `None` before the first attach is confirmed.
    fn take(
        &mut self,
        previous: Option<Position>,
        through: Position,
        are_wanted: bool,
        now: Millis,
    ) -> Option<bool> {
        let Some(cursor) = &mut self.cursor else {
            self.report_gap(now);
            return None;
        };
        let Some(previous) = previous else {
            // While events may be missing, the cursor stays before the gap.
            if self.link.is_certain() {
                cursor.position = through;
            }
            return Some(true);
        };
        if through <= cursor.position {
            return Some(true);
        }
        if previous != cursor.position {
            // If the bus is being asked already, its reply covers this batch.
            if self.link.is_attached() {
                self.report_gap(now);
            }
            return Some(true);
        }
        // A changed request must have been lost. Sent again after a reply, the event is meant.
        let is_meant = self.unwanted == Some(through) && self.link.is_certain();
        if !are_wanted && !is_meant {
            self.unwanted = Some(through);
            self.report_gap(now);
            return Some(false);
        }
        cursor.position = through;
        self.link.handle_certain(now);
        Some(true)
    }

    /// Handles an unreadable frame: ignores one of a newer bus; any other may have been an event.
    fn handle_unreadable(&mut self, error: ProtocolError, now: Millis) {
        let is_newer = matches!(
            error,
            ProtocolError::UnknownVersion | ProtocolError::UnknownType
        );
        if !is_newer {
            self.report_gap(now);
        }
    }

    /// Records that events may be missing, so that the bus is asked.
    pub(crate) fn report_gap(&mut self, now: Millis) {
        self.counts.gaps += u32::from(self.link.request_probe(now));
    }

    /// Whether the bus can be asked for missed events, which needs an epoch.
    fn may_probe(&self) -> bool {
        self.cursor
            .as_ref()
            .is_some_and(|cursor| !cursor.epoch.is_empty())
    }
}
