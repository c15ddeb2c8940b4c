use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::{
    clock::Millis,
    vocabulary::position::{Mark, Position},
};

use super::{change::BatchCall, outbox::Outbox, placement::ShardId};

/// What all shards have yet to take. What is done for one event costs what that goes to, however
/// many shards there are.
#[derive(Debug, Default)]
pub(super) struct Post {
    /// In the order of the shards' numbers.
    outboxes: Vec<(ShardId, Outbox)>,
    /// How many of them are not settled.
    busy: usize,
    /// The shards that may be called now.
    ready: VecDeque<ShardId>,
    /// Nothing is to be done by itself before.
    timeout: Option<Millis>,
    next_call: u32,
}

impl Post {
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

    /// Gives a shard something to take.
    pub(super) fn owe(&mut self, shard: ShardId, give: impl FnOnce(&mut Outbox)) {
        let was_settled = self.change(shard, |outbox| {
            let was_settled = outbox.is_settled();
            give(outbox);
            was_settled
        });
        if was_settled == Some(true) {
            self.ready.push_back(shard);
        }
    }

    /// All shards have missed what the log has lost up to `position`.
    pub(super) fn leave_out(&mut self, position: Position) {
        let shards: Vec<ShardId> = self.outboxes.iter().map(|(shard, _)| *shard).collect();
        for shard in shards {
            self.owe(shard, |outbox| outbox.leave_out(position));
        }
    }

    /// A shard has begun anew and needs nothing that was published until now.
    pub(super) fn clear(&mut self, shard: ShardId) {
        self.change(shard, Outbox::clear);
    }

    /// The next call to make, if it is time for one.
    pub(super) fn poll(&mut self, mark: &Mark, now: Millis) -> Option<BatchCall> {
        while let Some(shard) = self.ready.pop_front() {
            let call = self.next_call;
            let polled = self.change(shard, |outbox| {
                let text = outbox.poll(mark, call, now);
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

    /// A call was answered; `false` where it is not the one that is waited for.
    pub(super) fn handle_taken(&mut self, shard: ShardId, call: u32) -> bool {
        let handled = self.change(shard, |outbox| {
            (outbox.handle_taken(call), outbox.is_settled())
        });
        let (is_taken, is_settled) = handled.unwrap_or_default();
        if is_taken && !is_settled {
            self.ready.push_back(shard);
        }
        is_taken
    }

    /// A call failed.
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

    /// When to call [`Post::handle_timeout`]; there may be nothing to do then.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.timeout.filter(|_| self.busy > 0)
    }

    /// That moment has come.
    pub(super) fn handle_timeout(&mut self, now: Millis, random: f64) {
        self.timeout = None;
        let mut next = None;
        for (shard, outbox) in &mut self.outboxes {
            if !outbox.is_settled() {
                if outbox.handle_timeout(now, random) {
                    self.ready.push_back(*shard);
                }
                // The shard may have begun anew, and need nothing of a call that failed.
                self.busy -= usize::from(outbox.is_settled());
            }
            next = earlier(next, outbox.poll_timeout());
        }
        self.timeout = next;
    }

    /// Whether every shard has taken everything.
    pub(super) fn is_settled(&self) -> bool {
        self.busy == 0
    }

    /// Whether this shard has.
    pub(super) fn has_settled(&self, shard: ShardId) -> bool {
        let outbox = self.place(shard).and_then(|place| self.outboxes.get(place));
        outbox.is_some_and(|(_, outbox)| outbox.is_settled())
    }

    /// Every change of an outbox goes through here, so that the busy ones are counted.
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
