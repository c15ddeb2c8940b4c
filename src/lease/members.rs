use alloc::collections::BTreeMap;

use crate::clock::Millis;

use super::seat::Sign;

/// What a member waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Watch {
    /// Its timer is not set.
    Nothing,
    /// Its turn to look at the holder.
    Look(Millis),
    /// A sign of life of the holder, other than this one.
    Proof { at: Millis, asked: Sign },
}

/// The members, the oldest first, and which of them may have the socket.
#[derive(Debug)]
pub(super) struct Members<Id> {
    held: BTreeMap<Id, Member>,
    /// By when they entered.
    oldest: BTreeMap<u64, Id>,
    /// Those of them whose requests are not spent.
    fresh: BTreeMap<u64, Id>,
    entered: u64,
}

#[derive(Debug)]
struct Member {
    /// Its place among all that ever entered.
    place: u64,
    /// How many writes its request has done, whenever it had the socket.
    writes: usize,
    watch: Watch,
    /// The sign of life that stayed the same when it looked last, and how often in a row.
    silence: Option<(Sign, u32)>,
}

impl<Id: Copy + Ord> Members<Id> {
    pub(super) fn enter(&mut self, id: Id) {
        let place = self.entered;
        self.entered += 1;
        let member = Member {
            place,
            writes: 0,
            watch: Watch::Nothing,
            silence: None,
        };
        self.held.insert(id, member);
        self.oldest.insert(place, id);
        self.fresh.insert(place, id);
    }

    /// Returns whether it was a member.
    pub(super) fn leave(&mut self, id: Id) -> bool {
        let Some(Member { place, .. }) = self.held.remove(&id) else {
            return false;
        };
        self.oldest.remove(&place);
        self.fresh.remove(&place);
        true
    }

    /// A request that has done so many writes is spent.
    pub(super) fn count(&mut self, id: Id, writes: usize, most: usize) {
        if let Some(member) = self.held.get_mut(&id) {
            member.writes = member.writes.saturating_add(writes);
            if member.writes >= most {
                self.fresh.remove(&member.place);
            }
        }
    }

    /// Another bound applies.
    pub(super) fn judge(&mut self, most: usize) {
        let fresh = self.held.iter().filter(|(_, member)| member.writes < most);
        self.fresh = fresh.map(|(id, member)| (member.place, *id)).collect();
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn oldest(&self) -> impl Iterator<Item = Id> {
        self.oldest.values().copied()
    }

    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    pub(super) fn is_fresh(&self, id: Id) -> bool {
        let member = self.held.get(&id);
        member.is_some_and(|member| self.fresh.contains_key(&member.place))
    }

    pub(super) fn is_alone(&self, id: Id) -> bool {
        self.len() == 1 && self.held.contains_key(&id)
    }

    /// One of those that may have the socket: the fresh ones, or the one that is alone.
    pub(super) fn choose(&self, random: f64) -> Option<Id> {
        let may_hold = if self.len() == 1 {
            &self.oldest
        } else {
            &self.fresh
        };
        may_hold.values().nth(part(random, may_hold.len())).copied()
    }

    pub(super) fn watch_of(&self, id: Id) -> Option<Watch> {
        self.held.get(&id).map(|member| member.watch)
    }

    pub(super) fn watch(&mut self, id: Id, watch: Watch) {
        if let Some(member) = self.held.get_mut(&id) {
            member.watch = watch;
        }
    }

    /// A member has found the same sign of life after a while. Returns how often in a row it did.
    pub(super) fn count_silence(&mut self, id: Id, sign: Sign) -> u32 {
        let Some(member) = self.held.get_mut(&id) else {
            return 0;
        };
        let former = member.silence.filter(|(former, _)| *former == sign);
        let count = former.map_or(1, |(_, count)| count.saturating_add(1));
        member.silence = Some((sign, count));
        count
    }

    /// How long a member waits before it looks at the holder.
    pub(super) fn turn(&self, random: f64) -> Millis {
        let turns = u32::try_from(self.len()).map_or(MOST_TURNS, |len| len.min(MOST_TURNS));
        Millis::from_f64(WATCH_MS * f64::from(turns) * (0.5 + random))
    }
}

impl<Id> Default for Members<Id> {
    fn default() -> Self {
        Self {
            held: BTreeMap::new(),
            oldest: BTreeMap::new(),
            fresh: BTreeMap::new(),
            entered: 0,
        }
    }
}

/// The index below `len` that a number from [0, 1) stands for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the product is below the length, and the cast saturates"
)]
fn part(random: f64, len: usize) -> usize {
    ((random * len as f64) as usize).min(len.saturating_sub(1))
}

/// Milliseconds from one look at the holder to the next, of all members together.
const WATCH_MS: f64 = 1_000.0;
/// However many members there are, each looks once in so many turns.
const MOST_TURNS: u32 = 15;
