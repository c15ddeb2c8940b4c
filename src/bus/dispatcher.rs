use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::position::{Cursor, Position},
};

use super::{journal::BatchCall, outbox::Outbox, placement::ShardId};

/// The outboxes of all shards. The cost of an event depends on the shards that receive it, not on
/// how many there are.
#[derive(Debug, Default)]
pub(super) struct Dispatcher {
    /// The outboxes in the order of the shards' numbers.
    outboxes: Vec<(ShardId, Outbox)>,
    /// The number of outboxes that are not settled.
    busy: usize,
    /// The shards that may be called now.
    ready: VecDeque<ShardId>,
    /// No timeout is due before this.
    timeout: Option<Millis>,
    next_call: u32,
}

impl Dispatcher {
    pub(super) fn insert(&mut self, shard: ShardId) {
        let place = self.outboxes.partition_point(|(other, _)| *other < shard);
        self.outboxes.insert(place, (shard, Outbox::default()));
    }

    pub(super) fn remove(&mut self, shard: ShardId) {
        if let Some(place) = self.place(shard) {
            let (_, outbox) = self.outboxes.remove(place);
            self.busy -= usize::from(!outbox.is_settled());
        }
    }

    /// Changes the outbox of a shard by `give`, and schedules a call if it was settled.
    pub(super) fn enqueue(&mut self, shard: ShardId, give: impl FnOnce(&mut Outbox)) {
        let was_settled = self.change(shard, |outbox| {
            let was_settled = outbox.is_settled();
            give(outbox);
            was_settled
        });
        if was_settled == Some(true) {
            self.ready.push_back(shard);
        }
    }

    /// Records for all shards that the log no longer holds events up to `position`.
    pub(super) fn leave_out(&mut self, position: Position) {
        let shards: Vec<ShardId> = self.outboxes.iter().map(|(shard, _)| *shard).collect();
        for shard in shards {
            self.enqueue(shard, |outbox| outbox.leave_out(position));
        }
    }

    /// Drops the waiting events of a shard that has restarted.
    pub(super) fn clear(&mut self, shard: ShardId) {
        self.change(shard, Outbox::clear);
    }

    /// Returns the next call if one is due.
    pub(super) fn poll(&mut self, cursor: &Cursor, now: Millis) -> Option<BatchCall> {
        while let Some(shard) = self.ready.pop_front() {
            let call = self.next_call;
            let polled = self.change(shard, |outbox| {
                let text = outbox.poll(cursor, call, now);
                (text, outbox.poll_timeout())
            });
            let (text, timeout) = polled.unwrap_or_default();
            self.wake_at(timeout);
            if let Some(text) = text {
                self.next_call = call.wrapping_add(1);
                return Some(BatchCall { shard, call, text });
            }
        }
        None
    }

    /// Handles the reply to a call; returns `false` if it is not the pending one.
    pub(super) fn handle_ack(&mut self, shard: ShardId, call: u32) -> bool {
        let handled = self.change(shard, |outbox| {
            (outbox.handle_ack(call), outbox.is_settled())
        });
        let (is_taken, is_settled) = handled.unwrap_or_default();
        if is_taken && !is_settled {
            self.ready.push_back(shard);
        }
        is_taken
    }

    /// Handles the failure of a call.
    pub(super) fn handle_failure(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        let timeout = self.change(shard, |outbox| {
            outbox.handle_failure(call, is_overloaded, now, random);
            outbox.poll_timeout()
        });
        self.wake_at(timeout.flatten());
    }

    /// Returns when to call [`Dispatcher::handle_timeout`]; nothing may be due by then.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.timeout.filter(|_| self.busy > 0)
    }

    /// Handles the timeouts that are due.
    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.timeout = None;
        let mut next = None;
        for (shard, outbox) in &mut self.outboxes {
            if !outbox.is_settled() {
                if outbox.handle_timeout(now, random) {
                    self.ready.push_back(*shard);
                }
                // The shard may have restarted, and need nothing of a call that failed.
                self.busy -= usize::from(outbox.is_settled());
            }
            next = earlier(next, outbox.poll_timeout());
        }
        self.timeout = next;
    }

    /// Whether every shard has confirmed everything.
    pub(super) fn is_settled(&self) -> bool {
        self.busy == 0
    }

    /// Whether this shard has confirmed everything.
    pub(super) fn has_settled(&self, shard: ShardId) -> bool {
        let outbox = self.place(shard).and_then(|place| self.outboxes.get(place));
        outbox.is_some_and(|(_, outbox)| outbox.is_settled())
    }

    /// Changes an outbox. Every change goes through here, so that the count of busy ones is right.
    fn change<T>(&mut self, shard: ShardId, change: impl FnOnce(&mut Outbox) -> T) -> Option<T> {
        let place = self.place(shard)?;
        let (_, outbox) = self.outboxes.get_mut(place)?;
        let was_busy = usize::from(!outbox.is_settled());
        let result = change(outbox);
        self.busy = self.busy + usize::from(!outbox.is_settled()) - was_busy;
        Some(result)
    }

    fn wake_at(&mut self, timeout: Option<Millis>) {
        self.timeout = earlier(self.timeout, timeout);
    }

    fn place(&self, shard: ShardId) -> Option<usize> {
        let place = self
            .outboxes
            .binary_search_by_key(&shard, |(shard, _)| *shard);
        place.ok()
    }
}

fn earlier(one: Option<Millis>, other: Option<Millis>) -> Option<Millis> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
