use alloc::{collections::VecDeque, sync::Arc};
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    vocabulary::position::{Cursor, Position},
    wire::Batch,
};

use super::flight::Flight;

/// The events that one shard has not confirmed. Sends one batch at a time, so that batches grow
/// when events arrive faster than replies.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Where the last batch ended; `None` if this is unknown and nothing is left out.
    previous: Option<Position>,
    waiting: VecDeque<(Position, Arc<str>)>,
    /// When the oldest waiting event that is not in flight was published.
    oldest: Option<Millis>,
    flight: Flight<Sent>,
    /// Whether a batch is due even without an event.
    has_control: bool,
    is_last: bool,
}

/// A batch in flight.
#[derive(Debug)]
struct Sent {
    through: Position,
    had_control: bool,
}

impl Outbox {
    /// Adds an event. If too many wait, drops the oldest: the shard detects this by `previous` and
    /// reads the log.
    pub(super) fn push(&mut self, position: Position, at: Option<Millis>, event: Arc<str>) {
        self.oldest = self.oldest.or(at);
        if self.waiting.len() >= MAX_WAITING
            && let Some((left_out, _)) = self.waiting.pop_front()
        {
            self.previous = Some(left_out);
        }
        self.waiting.push_back((position, event));
    }

    /// Records that the log no longer holds events up to `position` that the shard may have missed.
    pub(super) fn leave_out(&mut self, position: Position) {
        self.previous = Some(position);
        self.has_control = true;
    }

    /// Schedules a batch even without events, so that the shard learns of this bus and reports its
    /// number of edges.
    pub(super) fn ask(&mut self) {
        self.has_control = true;
    }

    /// Makes the next batch the last one.
    pub(super) fn end(&mut self) {
        self.is_last = true;
        self.has_control = true;
    }

    /// Drops all waiting events: the shard has restarted and needs nothing published before.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.oldest = None;
        self.previous = None;
    }

    /// Returns the next batch as text if one is due; `call` is its number.
    pub(super) fn poll(&mut self, cursor: &Cursor, call: u32, now: Millis) -> Option<String> {
        let is_idle = self.waiting.is_empty() && !self.has_control;
        if is_idle || !self.flight.is_free(now) {
            return None;
        }
        let events = self.next_events();
        let is_whole = events.len() == self.waiting.len();
        let last = events.last().filter(|_| !is_whole);
        let through = last.map_or(cursor.position, |(position, _)| *position);
        let sent = Sent {
            through,
            had_control: core::mem::take(&mut self.has_control),
        };
        self.flight.begin(call.into(), sent, now + CALL_TIMEOUT);
        let epoch = cursor.epoch.clone();
        let end = Cursor {
            epoch,
            position: through,
        };
        let at = self.oldest;
        if is_whole {
            self.oldest = None;
        }
        let events = events.iter().map(|(at, event)| (*at, event));
        Some(Batch::for_shard(
            &end,
            self.previous,
            at,
            events,
            self.is_last,
        ))
    }

    /// Handles the reply to a call; returns `false` if it is not the pending one.
    pub(super) fn handle_ack(&mut self, call: u32) -> bool {
        let Some(Sent { through, .. }) = self.flight.take_if(call.into()) else {
            return false;
        };
        let count = self
            .waiting
            .partition_point(|(position, _)| *position <= through);
        self.waiting.drain(..count);
        self.previous = self.previous.max(Some(through));
        self.flight.handle_success();
        true
    }

    /// Handles the failure of a call.
    pub(super) fn handle_failure(
        &mut self,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        self.fail(call.into(), is_overloaded, now, random);
    }

    /// Treats an overdue call as failed; returns whether another call may be made.
    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64) -> bool {
        if let Some(call) = self.flight.overdue(now) {
            self.fail(call, false, now, random);
        }
        self.flight.is_free(now)
    }

    /// Returns when to call [`Outbox::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.flight.poll_timeout(!self.is_settled())
    }

    /// Whether the shard has confirmed everything.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.flight.is_empty() && !self.has_control
    }

    fn fail(&mut self, call: u64, is_overloaded: bool, now: Millis, random: f64) {
        if let Some(sent) = self.flight.take_if(call) {
            self.has_control |= sent.had_control;
            self.flight.handle_failure(is_overloaded, now, random);
        }
    }

    fn next_events(&self) -> Vec<(Position, Arc<str>)> {
        let mut bytes = 0;
        let fitting = self.waiting.iter().take_while(|(_, event)| {
            let is_first = bytes == 0;
            bytes += event.len() + WRAPPING;
            is_first || bytes <= MAX_BYTES
        });
        fitting.cloned().collect()
    }
}

/// Maximum number of events that wait for a shard; beyond them it reads the log.
const MAX_WAITING: usize = 1_000;
/// Maximum bytes of one batch, well below the limit of a call (32 MiB).
const MAX_BYTES: usize = 1 << 20;
/// Bytes of the position and members around an event.
const WRAPPING: usize = 48;
/// After this time without a reply the next call may begin.
const CALL_TIMEOUT: Millis = Millis(10_000);
