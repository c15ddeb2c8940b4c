use alloc::{string::String, vec::Vec};

use crate::{
    bus::registry::EdgeId,
    clock::Millis,
    vocabulary::{
        event::ServerEvent,
        position::{Cursor, Position},
        topic::{Delta, Topic},
    },
    wire::{Backlog, Batch, BatchAck, Claim, Follow, FollowResponse, Followed, ProtocolError},
};

use super::{EdgeCloseReason, FollowCall, Sent, Shard, ShardOutput};

/// The calls to the root and their replies, and the batches of the root.
impl Shard {
    /// Returns the next call if one is due; store its number before you make it.
    pub fn poll_call(&mut self, now: Millis) -> Option<FollowCall> {
        if !self.is_call_due() || !self.flight.is_free(now) {
            return None;
        }
        self.seq = self.seq.saturating_add(1);
        let seq = self.seq;
        let mut joined = self.waiting.assign(seq);
        let left = self.sessions.assign(seq, &mut joined);
        self.arrived.clear();
        let Delta { add, drop } = self.interest.begin();
        let follow = Follow {
            seq,
            is_fresh: self.is_fresh,
            edges: self.count(),
            is_low: self.low.is_due(),
            add,
            drop,
            since: self.oldest_since(),
            epoch: None,
            joined,
            left: left.clone(),
        };
        let sent = Sent {
            left,
            is_low: follow.is_low,
            was_behind: self.is_behind,
            is_passed: false,
        };
        self.flight.begin(seq, sent, now + CALL_TIMEOUT);
        let text = follow.to_json();
        Some(FollowCall { seq, text })
    }

    /// Handles the reply of the root to a call.
    pub fn handle_response(&mut self, seq: u64, text: &str, now: Millis, random: f64) {
        if !self.flight.has(seq) {
            return;
        }
        match FollowResponse::from_json(text) {
            Ok(FollowResponse::Followed(followed)) => self.handle_followed(followed, now),
            Ok(FollowResponse::Stale { seq: seen }) => {
                self.seq = self.seq.max(seen);
                self.undo();
            }
            Ok(FollowResponse::Full { room, .. }) => {
                self.interest.room().set(room);
                self.refuse();
            }
            Ok(FollowResponse::Unknown) => self.retire(),
            Err(_) => self.handle_failure(seq, false, now, random),
        }
    }

    /// Handles the failure of a call, which will be repeated.
    pub fn handle_failure(&mut self, seq: u64, is_overloaded: bool, now: Millis, random: f64) {
        if self.flight.has(seq) {
            self.undo();
            self.flight.handle_failure(is_overloaded, now, random);
        }
    }

    /// Handles a batch of the root and returns the reply. Carry out the outputs before you send the
    /// reply.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call fails and changes nothing.
    pub fn handle_batch(&mut self, text: &str, now: Millis) -> Result<String, ProtocolError> {
        let batch = Batch::from_json(text)?;
        if batch.is_last {
            self.retire();
        } else if !self.is_retired {
            self.take(batch);
            self.low.handle_count(self.edges.attached(), now);
        }
        let ack = BatchAck {
            edges: self.count(),
            is_retired: self.is_retired,
        };
        Ok(ack.to_json())
    }

    pub(super) fn is_call_due(&self) -> bool {
        let is_asked = self.waiting.is_due() || self.sessions.is_due();
        let is_due = self.is_behind || self.interest.is_due() || self.low.is_due();
        !self.is_retired && (is_asked || is_due)
    }

    fn oldest_since(&self) -> Option<Position> {
        let own = self.cursor.as_ref().filter(|_| self.is_behind);
        let own = own.map(|own| own.position);
        own.into_iter().chain(self.waiting.oldest_since()).min()
    }

    fn undo(&mut self) {
        if let Some(call) = self.flight.take() {
            self.interest.undo(|topic| self.edges.is_wanted(topic));
            self.ask_again(call.sent.left);
        }
    }

    /// Handles a refusal: the root has no room for what the call adds, and has ignored the rest of
    /// it.
    fn refuse(&mut self) {
        let Some(call) = self.flight.take() else {
            return;
        };
        self.refuse_waiting(call.number);
        self.interest.refuse(|topic| self.edges.is_wanted(topic));
        self.ask_again(call.sent.left);
    }

    fn ask_again(&mut self, left: Vec<Claim>) {
        self.waiting.ask_again();
        self.sessions.ask_again(left);
    }

    fn handle_followed(&mut self, followed: Followed, now: Millis) {
        let Some(call) = self.flight.take() else {
            return;
        };
        self.flight.handle_success();
        let is_first = core::mem::replace(&mut self.is_fresh, false);
        if call.sent.is_low {
            self.low.handle_reported(self.edges.attached());
        }
        let has_added = self.interest.finish(|topic| self.edges.is_wanted(topic));
        let Followed {
            cursor,
            is_settled,
            missed,
            interests,
            room,
            ..
        } = followed;
        self.interest.room().set(room);
        if self
            .cursor
            .as_ref()
            .is_some_and(|own| own.epoch != cursor.epoch)
        {
            return self.start_over();
        }
        if is_first {
            self.begin_at(&cursor);
        } else {
            self.catch_up(&call.sent, &cursor, is_settled, missed.as_ref());
        }
        self.is_behind = call.sent.is_passed;
        self.count_from(&cursor, has_added);
        self.respond_to_waiting(call.number, &cursor, missed.as_ref(), &interests);
        self.respond_to_interest_changes(call.number, &interests);
        self.low.handle_count(self.edges.attached(), now);
    }

    /// Records from where topics are followed: what was added, from the cursor of the reply on. If
    /// this shard has reached that cursor, this holds for all topics.
    fn count_from(&mut self, cursor: &Cursor, has_added: bool) {
        let own = self.cursor.as_ref().map(|own| own.position);
        if own >= Some(cursor.position) {
            self.whole_from = cursor.position;
        } else if has_added {
            self.whole_from = self.whole_from.max(cursor.position);
        }
    }

    /// Starts at the cursor of the first reply. A batch that the root sent to an earlier instance
    /// of this shard may have arrived before, and says nothing about the events in between.
    fn begin_at(&mut self, cursor: &Cursor) {
        let own = self.cursor.as_ref();
        if own.is_none_or(|own| own.position < cursor.position) {
            self.cursor = Some(cursor.clone());
        }
    }

    /// Delivers the missing events, if there are any.
    fn catch_up(
        &mut self,
        sent: &Sent,
        cursor: &Cursor,
        is_settled: bool,
        missed: Option<&Backlog>,
    ) {
        let Some(own) = &self.cursor else {
            self.cursor = Some(cursor.clone());
            return;
        };
        let reached = own.position;
        match missed {
            Some(missed) if missed.after <= reached => {
                for (position, event) in &missed.events {
                    if reached < *position {
                        self.deliver(*position, None, event.clone());
                    }
                }
            }
            _ if sent.was_behind => self.lose_attached(),
            // The next call requests what a rejected batch has left out.
            _ if is_settled && !sent.is_passed => {}
            _ => return,
        }
        if reached < cursor.position {
            self.cursor = Some(cursor.clone());
        }
    }

    /// Closes the attached edges, because the missing events are no longer available. They
    /// reconnect and learn that they may have missed events.
    fn lose_attached(&mut self) {
        let edges: Vec<EdgeId> = self.edges.ids().collect();
        for edge in edges {
            if !self.edges.is_waiting(edge) {
                self.close(edge, EdgeCloseReason::Lost);
            }
        }
    }

    /// Delivers the events of a batch. If events before it are missing, requests them from the
    /// root, which then sends these again.
    fn take(&mut self, batch: Batch) {
        let end = Cursor {
            epoch: batch.epoch.unwrap_or_default(),
            position: batch.through,
        };
        if self
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.epoch != end.epoch)
        {
            self.start_over();
        }
        let reached = self.cursor.as_ref().map(|cursor| cursor.position);
        // This holds before the first reply too: the omitted events may be after the cursor of that
        // reply.
        self.is_behind |= batch.previous > reached;
        if self.is_behind {
            if let Some(call) = self.flight.call_mut() {
                call.sent.is_passed = true;
            }
            return;
        }
        for (position, event) in batch.events {
            if reached.is_none_or(|reached| reached < position) {
                self.deliver(position, batch.at, event);
            }
        }
        if reached.is_none_or(|reached| reached < end.position) {
            self.cursor = Some(end);
        }
    }

    fn deliver(&mut self, position: Position, at: Option<Millis>, event: ServerEvent) {
        let deliveries = self.edges.deliveries(position, at, &event);
        let sends = deliveries.into_iter().map(ShardOutput::Send);
        self.outputs.extend(sends);
        self.interest
            .handle_event(&event, |topic| self.edges.is_wanted(topic));
        if !self.flight.is_empty() {
            let subject = Topic::subject_of(&event);
            self.arrived.insert(subject, (position, event));
        }
    }
}

/// How long a reply of the root may take; an edge waits about as long for its own.
const CALL_TIMEOUT: Millis = Millis(4_000);
