use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use crate::{
    clock::Millis,
    event::ServerEvent,
    position::{Mark, Position},
};

use super::{
    change::{BatchCall, Change},
    key::Key,
    outbox::Outbox,
    placement::{Home, Placement, ShardId},
    protocol::ProtocolError,
    shard_protocol::{Follow, Taken},
};

/// The root's side of the shards: where edges go, what each shard follows, and what it has yet to take.
///
/// Whoever drives it makes durable what [`Root::poll_change`] gives before it answers anybody, and
/// makes the calls that [`Root::poll_batch`] gives. After a restart, [`Root::new`] and the
/// `restore` functions bring back what was durable, the log after `settled` among it.
#[derive(Debug)]
pub struct Root {
    pub(super) mark: Mark,
    settled: Position,
    pub(super) placement: Placement,
    pub(super) interests: BTreeMap<Key, Vec<ShardId>>,
    pub(super) shards: BTreeMap<ShardId, Member>,
    /// Those that have not taken everything: so that a publish costs what it goes to.
    busy: BTreeSet<ShardId>,
    /// Those of them that may be called now.
    ready: VecDeque<ShardId>,
    changes: VecDeque<Change>,
    next_call: u32,
}

#[derive(Debug, Default)]
pub(super) struct Member {
    pub(super) seq: u64,
    pub(super) outbox: Outbox,
    is_leaving: bool,
}

impl Root {
    /// A root whose log ends at `mark` and whose shards have taken everything up to `settled`.
    /// The highest number of a shard that ever was is `last`; each takes `per_shard` edges.
    pub fn new(mark: Mark, settled: Position, last: u32, per_shard: u32) -> Self {
        Self {
            mark,
            settled,
            placement: Placement::new(per_shard, last),
            interests: BTreeMap::new(),
            shards: BTreeMap::new(),
            busy: BTreeSet::new(),
            ready: VecDeque::new(),
            changes: VecDeque::new(),
            next_call: 0,
        }
    }

    /// A shard that was there before a restart.
    pub fn restore_shard(&mut self, shard: ShardId, continent: &str, seq: u64, is_leaving: bool) {
        self.placement.restore(shard, continent, is_leaving);
        let member = Member {
            seq,
            is_leaving,
            ..Member::default()
        };
        self.shards.insert(shard, member);
        if is_leaving {
            self.owe(shard, Outbox::end);
        }
    }

    /// What a shard followed before a restart.
    pub fn restore_key(&mut self, shard: ShardId, key: Key) {
        self.insert(shard, key);
    }

    /// An event of the log after `settled`: shards may not have taken it.
    pub fn restore_event(&mut self, position: Position, event: &ServerEvent, text: &str) {
        self.post(position, event, text);
    }

    /// The log does not reach back to `settled` any more: it holds what comes after `floor`.
    pub fn restore_floor(&mut self, floor: Position) {
        if self.settled < floor {
            for shard in self.shards.keys().copied().collect::<Vec<_>>() {
                self.owe(shard, |outbox| outbox.leave_out(floor));
            }
        }
    }

    /// Where the next edge of a continent goes; the root holds `own` edges, and the shard `full`
    /// has refused this one. Opens a shard where it needs one.
    pub fn place(&mut self, continent: &str, own: u32, full: Option<ShardId>) -> Home {
        if let Some(full) = full {
            self.placement.fill(full);
        }
        let place = self.placement.find(continent, own);
        place.unwrap_or_else(|| Home::Shard(self.open(continent)))
    }

    /// An event was published.
    pub fn publish(&mut self, position: Position, event: &ServerEvent, text: &str) {
        self.mark.position = position;
        self.post(position, event, text);
    }

    /// Events up to here were published while there was no shard to tell.
    pub fn advance(&mut self, position: Position) {
        self.mark.position = position;
    }

    /// The next call to make, if it is time for one.
    pub fn poll_batch(&mut self, now: Millis) -> Option<BatchCall> {
        while let Some(shard) = self.ready.pop_front() {
            let (call, mark) = (self.next_call, &self.mark);
            let member = self.shards.get_mut(&shard);
            let batch = member.and_then(|member| member.outbox.poll(mark, call, now));
            if let Some(text) = batch {
                self.next_call = call.wrapping_add(1);
                return Some(BatchCall { shard, call, text });
            }
        }
        None
    }

    /// A shard answered a call.
    ///
    /// # Errors
    /// A [`ProtocolError`]; the call counts as failed then.
    pub fn handle_taken(
        &mut self,
        shard: ShardId,
        call: u32,
        answer: &str,
        now: Millis,
        random: f64,
    ) -> Result<(), ProtocolError> {
        let taken = Taken::from_json(answer);
        let taken = taken.inspect_err(|_| self.handle_failure(shard, call, false, now, random))?;
        self.placement.report(shard, taken.edges);
        let Some(member) = self.shards.get_mut(&shard) else {
            return Ok(());
        };
        if !member.outbox.handle_taken(call) {
            return Ok(());
        }
        if taken.is_retired && member.is_leaving {
            self.close(shard);
        } else if member.outbox.is_settled() {
            self.busy.remove(&shard);
        } else {
            self.ready.push_back(shard);
        }
        Ok(())
    }

    /// A call failed; it will be made again.
    pub fn handle_failure(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        if let Some(member) = self.shards.get_mut(&shard) {
            let outbox = &mut member.outbox;
            outbox.handle_failure(call, is_overloaded, now, random);
        }
    }

    /// When to call [`Root::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        let busy = self.busy.iter().filter_map(|shard| self.shards.get(shard));
        busy.filter_map(|member| member.outbox.poll_timeout()).min()
    }

    /// That moment has come.
    pub fn handle_timeout(&mut self, now: Millis, random: f64) {
        for shard in &self.busy {
            if let Some(member) = self.shards.get_mut(shard)
                && member.outbox.handle_timeout(now, random)
            {
                self.ready.push_back(*shard);
            }
        }
    }

    /// Whether every shard has taken everything.
    pub fn is_settled(&self) -> bool {
        self.busy.is_empty()
    }

    /// A burst is over: what is settled by now is to be made durable.
    pub fn settle(&mut self) {
        if self.is_settled() && self.settled < self.mark.position && !self.shards.is_empty() {
            self.set_settled();
        }
    }

    /// The next thing to make durable.
    pub fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Whether there is any shard.
    pub fn has_shards(&self) -> bool {
        !self.shards.is_empty()
    }

    /// The shards, each with the continent that it was opened for and how many edges it is known to hold.
    pub fn shards(&self) -> impl Iterator<Item = (ShardId, &str, Option<u32>)> {
        self.placement.shards()
    }

    /// What each shard follows.
    pub fn rows(&self) -> impl Iterator<Item = (ShardId, &Key)> {
        let keys = self.interests.iter();
        keys.flat_map(|(key, shards)| shards.iter().map(move |shard| (*shard, key)))
    }

    /// The shards that follow what `event` is about.
    pub fn interested(&self, event: &ServerEvent) -> Vec<ShardId> {
        let followers = |key: &Key| self.interests.get(key).map_or(&[][..], |shards| shards);
        let everything = followers(&Key::Everything);
        let mut shards = followers(&Key::of(event)).to_vec();
        if !everything.is_empty() {
            shards.extend(everything);
            shards.sort_unstable();
            shards.dedup();
        }
        shards
    }

    pub(super) fn has_taken_everything(&self, shard: ShardId) -> bool {
        !self.busy.contains(&shard)
    }

    /// One call has changed what a shard follows, and told how many edges it holds.
    pub(super) fn apply(&mut self, shard: ShardId, follow: &Follow) {
        if follow.is_fresh {
            self.forget(shard);
        }
        let drop: Vec<Key> = follow.drop.clone();
        for key in &drop {
            self.remove(shard, key);
        }
        let add = follow.add.iter();
        let add = add.filter(|key| self.insert(shard, (*key).clone()));
        let add = add.cloned().collect();
        if let Some(member) = self.shards.get_mut(&shard) {
            member.seq = follow.seq;
            if follow.is_fresh {
                member.outbox.clear();
            }
            if member.outbox.is_settled() {
                self.busy.remove(&shard);
            }
        }
        self.changes.push_back(Change::Follows {
            shard,
            seq: follow.seq,
            is_fresh: follow.is_fresh,
            add,
            drop,
        });
        self.placement.report(shard, follow.edges);
        if follow.is_low {
            self.shrink();
        }
    }

    /// More that a shard follows from now on.
    pub(super) fn add(&mut self, shard: ShardId, keys: Vec<Key>) {
        let keys = keys.into_iter();
        let add: Vec<Key> = keys.filter(|key| self.insert(shard, key.clone())).collect();
        let seq = self.shards.get(&shard).map(|member| member.seq);
        if let Some(seq) = seq.filter(|_| !add.is_empty()) {
            self.changes.push_back(Change::Follows {
                shard,
                seq,
                is_fresh: false,
                add,
                drop: Vec::new(),
            });
        }
    }

    fn open(&mut self, continent: &str) -> ShardId {
        if self.shards.is_empty() {
            self.set_settled();
        }
        let shard = self.placement.open(continent);
        self.shards.insert(shard, Member::default());
        self.changes.push_back(Change::Opened {
            shard,
            continent: continent.into(),
        });
        shard
    }

    fn shrink(&mut self) {
        for shard in self.placement.surplus() {
            self.placement.leave(shard);
            if let Some(member) = self.shards.get_mut(&shard) {
                member.is_leaving = true;
            }
            self.owe(shard, Outbox::end);
            self.changes.push_back(Change::Leaving(shard));
        }
    }

    fn close(&mut self, shard: ShardId) {
        self.forget(shard);
        self.shards.remove(&shard);
        self.busy.remove(&shard);
        self.placement.close(shard);
        self.changes.push_back(Change::Closed(shard));
    }

    fn set_settled(&mut self) {
        self.settled = self.mark.position;
        self.changes.push_back(Change::Settled(self.settled));
    }

    fn post(&mut self, position: Position, event: &ServerEvent, text: &str) {
        let interested = self.interested(event);
        if interested.is_empty() {
            return;
        }
        let text: Arc<str> = text.into();
        for shard in interested {
            self.owe(shard, |outbox| outbox.push(position, text.clone()));
        }
    }

    /// Gives a shard something to take.
    fn owe(&mut self, shard: ShardId, give: impl FnOnce(&mut Outbox)) {
        if let Some(member) = self.shards.get_mut(&shard) {
            give(&mut member.outbox);
            if self.busy.insert(shard) {
                self.ready.push_back(shard);
            }
        }
    }

    /// Whether that is new.
    fn insert(&mut self, shard: ShardId, key: Key) -> bool {
        let shards = self.interests.entry(key).or_default();
        let place = shards.binary_search(&shard);
        if let Err(place) = place {
            shards.insert(place, shard);
        }
        place.is_err()
    }

    fn remove(&mut self, shard: ShardId, key: &Key) {
        if let Some(shards) = self.interests.get_mut(key) {
            shards.retain(|other| *other != shard);
            if shards.is_empty() {
                self.interests.remove(key);
            }
        }
    }

    fn forget(&mut self, shard: ShardId) {
        self.interests.retain(|_, shards| {
            shards.retain(|other| *other != shard);
            !shards.is_empty()
        });
    }
}
