use alloc::{collections::VecDeque, sync::Arc};
use alloc::{string::String, vec::Vec};

use crate::{
    backoff,
    clock::Millis,
    vocabulary::position::{Mark, Position},
    wire::Batch,
};

/// What one shard has yet to take: one batch is on its way at a time, so that batches form by
/// themselves where events come faster than answers.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Where the last batch ended; `None` where that was forgotten and nothing is left out.
    previous: Option<Position>,
    waiting: VecDeque<(Position, Arc<str>)>,
    /// When the first of what waits, and was not on its way yet, was published.
    oldest: Option<Millis>,
    flight: Option<Flight>,
    /// A batch is owed even without an event.
    is_owed: bool,
    is_last: bool,
    failures: u32,
    not_before: Millis,
}

#[derive(Debug)]
struct Flight {
    call: u32,
    through: Position,
    was_owed: bool,
    deadline: Millis,
}

impl Outbox {
    /// An event for this shard. Where too many wait, the oldest are left out: the shard finds
    /// out by `previous`, and reads the log.
    pub(super) fn push(&mut self, position: Position, at: Option<Millis>, event: Arc<str>) {
        self.oldest = self.oldest.or(at);
        if self.waiting.len() >= MAX_WAITING
            && let Some((left_out, _)) = self.waiting.pop_front()
        {
            self.previous = Some(left_out);
        }
        self.waiting.push_back((position, event));
    }

    /// The log has lost what this shard may have missed up to `position`.
    pub(super) fn leave_out(&mut self, position: Position) {
        self.previous = Some(position);
        self.is_owed = true;
    }

    /// The shard is to hear of this bus, and to tell how many edges it holds.
    pub(super) fn ask(&mut self) {
        self.is_owed = true;
    }

    /// The next batch is the last one.
    pub(super) fn end(&mut self) {
        self.is_last = true;
        self.is_owed = true;
    }

    /// The shard has begun anew and needs nothing that was published until now.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.oldest = None;
        self.previous = None;
    }

    /// The next batch, as text, if it is time for one; `call` is its number.
    pub(super) fn poll(&mut self, mark: &Mark, call: u32, now: Millis) -> Option<String> {
        let is_idle = self.waiting.is_empty() && !self.is_owed;
        if self.flight.is_some() || is_idle || now < self.not_before {
            return None;
        }
        let events = self.next_events();
        let is_whole = events.len() == self.waiting.len();
        let last = events.last().filter(|_| !is_whole);
        let through = last.map_or(mark.position, |(position, _)| *position);
        let deadline = now + PATIENCE;
        self.flight = Some(Flight {
            call,
            through,
            was_owed: core::mem::take(&mut self.is_owed),
            deadline,
        });
        let epoch = mark.epoch.clone();
        let end = Mark {
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

    /// The call was answered; `false` where it is not the one that is waited for.
    pub(super) fn handle_taken(&mut self, call: u32) -> bool {
        let Some(flight) = self.flight.take_if(|flight| flight.call == call) else {
            return false;
        };
        let taken = self
            .waiting
            .partition_point(|(position, _)| *position <= flight.through);
        self.waiting.drain(..taken);
        self.previous = self.previous.max(Some(flight.through));
        self.failures = 0;
        true
    }

    /// The call failed.
    pub(super) fn handle_failure(
        &mut self,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        if let Some(flight) = self.flight.take_if(|flight| flight.call == call) {
            self.is_owed |= flight.was_owed;
            self.failures = self.failures.saturating_add(1);
            self.not_before = now + backoff::after_failures(self.failures, is_overloaded, random);
        }
    }

    /// A call that is not answered in time counts as failed; the answer says whether it is time for another.
    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64) -> bool {
        let late = self.flight.as_ref().filter(|flight| flight.deadline <= now);
        if let Some(call) = late.map(|flight| flight.call) {
            self.handle_failure(call, false, now, random);
        }
        self.flight.is_none() && self.not_before <= now
    }

    /// When something is to be done by itself.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        match &self.flight {
            Some(flight) => Some(flight.deadline),
            None if self.is_settled() => None,
            None => Some(self.not_before),
        }
    }

    /// Whether the shard has taken everything.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.flight.is_none() && !self.is_owed
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

/// Events kept for a shard that does not answer: beyond them it reads the log.
const MAX_WAITING: usize = 1_000;
/// Of one batch: well below what a call may carry (32 MiB).
const MAX_BYTES: usize = 1 << 20;
/// What a position and the members around an event take.
const WRAPPING: usize = 48;
const PATIENCE: Millis = Millis(10_000);
