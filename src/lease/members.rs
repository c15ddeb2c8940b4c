use alloc::{collections::BTreeMap, vec::Vec};

use crate::clock::Millis;

use super::ownership::Sign;

/// What the timer of a member is set for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    /// The timer is not set.
    Nothing,
    /// The time at which the member checks the owner.
    Look(Millis),
    /// The time until which it waits for a proof other than this one.
    Proof { at: Millis, asked: Sign },
}

/// The members, and which of them may own the socket.
#[derive(Debug)]
pub(super) struct Members<Id> {
    by_id: BTreeMap<Id, Member>,
    /// The members, oldest first; some may have left.
    entered: Vec<Id>,
    /// The number of requests that are not spent.
    fresh: usize,
}

#[derive(Debug)]
struct Member {
    /// The number of writes of its request, over all of its terms.
    writes: usize,
    is_fresh: bool,
    check: Check,
    /// The sign that has not changed since its last check, and how often in a row.
    silence: Option<(Sign, u32)>,
}

impl<Id: Copy + Ord> Members<Id> {
    pub(super) fn enter(&mut self, id: Id) {
        let member = Member {
            writes: 0,
            is_fresh: true,
            check: Check::Nothing,
            silence: None,
        };
        self.by_id.insert(id, member);
        self.entered.push(id);
        self.fresh += 1;
    }

    /// Removes a member; returns whether it was one.
    pub(super) fn leave(&mut self, id: Id) -> bool {
        let Some(Member { is_fresh, .. }) = self.by_id.remove(&id) else {
            return false;
        };
        self.fresh -= usize::from(is_fresh);
        if self.entered.len() > 2 * self.len() + MAX_GONE {
            let by_id = &self.by_id;
            self.entered.retain(|id| by_id.contains_key(id));
        }
        true
    }

    /// Counts the writes of a member. It is spent at `max_writes` writes.
    pub(super) fn count(&mut self, id: Id, writes: usize, max_writes: usize) {
        if let Some(member) = self.by_id.get_mut(&id) {
            member.writes = member.writes.saturating_add(writes);
            if member.is_fresh && member.writes >= max_writes {
                member.is_fresh = false;
                self.fresh -= 1;
            }
        }
    }

    /// Applies another limit of writes.
    pub(super) fn apply_limit(&mut self, max_writes: usize) {
        self.fresh = 0;
        for member in self.by_id.values_mut() {
            member.is_fresh = member.writes < max_writes;
            self.fresh += usize::from(member.is_fresh);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn oldest(&self) -> impl Iterator<Item = Id> {
        let entered = self.entered.iter().copied();
        entered.filter(|id| self.by_id.contains_key(id))
    }

    pub(super) fn has_fresh(&self) -> bool {
        self.fresh > 0
    }

    pub(super) fn is_fresh(&self, id: Id) -> bool {
        self.by_id.get(&id).is_some_and(|member| member.is_fresh)
    }

    fn is_alone(&self, id: Id) -> bool {
        self.len() == 1 && self.by_id.contains_key(&id)
    }

    /// Whether a member may own the socket. A single member writes only to itself.
    pub(super) fn may_own(&self, id: Id) -> bool {
        self.is_fresh(id) || self.is_alone(id)
    }

    /// Returns one of the members that may own the socket.
    pub(super) fn choose(&self, random: f64) -> Option<Id> {
        let count = if self.len() == 1 { 1 } else { self.fresh };
        let mut may_own = self.oldest().filter(|id| self.may_own(*id));
        may_own.nth(pick(random, count))
    }

    pub(super) fn check_of(&self, id: Id) -> Option<Check> {
        self.by_id.get(&id).map(|member| member.check)
    }

    pub(super) fn check(&mut self, id: Id, check: Check) {
        if let Some(member) = self.by_id.get_mut(&id) {
            member.check = check;
        }
    }

    /// Records that a member found an unchanged sign. Returns how often in a row it did.
    pub(super) fn count_silence(&mut self, id: Id, sign: Sign) -> u32 {
        let Some(member) = self.by_id.get_mut(&id) else {
            return 0;
        };
        let former = member.silence.filter(|(former, _)| *former == sign);
        let count = former.map_or(1, |(_, count)| count.saturating_add(1));
        member.silence = Some((sign, count));
        count
    }

    /// Returns how long a member waits before it checks the owner.
    pub(super) fn turn(&self, random: f64) -> Millis {
        let turns = u32::try_from(self.len()).map_or(MAX_TURNS, |len| len.min(MAX_TURNS));
        Millis::from_f64(CHECK_MS * f64::from(turns) * (0.5 + random))
    }
}

impl<Id> Default for Members<Id> {
    fn default() -> Self {
        Self {
            by_id: BTreeMap::new(),
            entered: Vec::new(),
            fresh: 0,
        }
    }
}

/// Returns the index below `len` for a number from [0, 1).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the product is below the length, and the cast saturates"
)]
fn pick(random: f64, len: usize) -> usize {
    ((random * len as f64) as usize).min(len.saturating_sub(1))
}

/// Maximum number of previous members that are kept, in addition to as many as there are members.
const MAX_GONE: usize = 16;
/// Milliseconds between two checks of the owner by any of the members.
const CHECK_MS: f64 = 1_000.0;
/// Maximum number of these intervals between two checks by the same member.
const MAX_TURNS: u32 = 15;
