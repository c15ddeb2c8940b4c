//! Whose turn it is.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use crate::{clock::Millis, events::name::EventName};

use super::{
    super::{
        schedule::{PAUSE, RECHECK},
        store::Store,
    },
    Deliverer, Output,
    flights::Room,
    roster::{Member, Named},
    turn::Turn,
};

impl<S: Store> Deliverer<S> {
    /// Does what is due: gives each subscription its turn, stores what has changed, and sets the
    /// alarm before anything is sent.
    pub(super) fn advance(&mut self, now: Millis) -> Result<(), S::Error> {
        self.queue_due(now);
        let mut waiting = VecDeque::new();
        while let Some(id) = self.queue.pop_front() {
            match self.turn(&id, now)? {
                Turn::Again => self.queue.push_back(id),
                Turn::Blocked(Room::HostFull) => waiting.push_back(id),
                Turn::Blocked(_) => {
                    self.queue.push_front(id);
                    break;
                }
                Turn::Done => {
                    if let Some(member) = self.roster.get_mut(&id) {
                        member.is_queued = false;
                    }
                }
            }
        }
        waiting.append(&mut self.queue);
        self.queue = waiting;
        if self.is_idle() || self.flights.is_burst_over(now) {
            self.roster.flush()?;
        }
        self.set_alarm(now);
        self.outputs.extend(self.posts.drain(..));
        Ok(())
    }

    pub(super) fn queue(&mut self, id: &str) {
        if let Some(member) = self.roster.get_mut(id)
            && !core::mem::replace(&mut member.is_queued, true)
        {
            self.queue.push_back(id.into());
        }
    }

    pub(super) fn queue_name(&mut self, name: &EventName) {
        for id in self.roster.ids(name) {
            self.queue(&id);
        }
    }

    pub(super) fn queue_all(&mut self) {
        self.queue_if(|_, _| true);
    }

    /// Gives those a turn that wait because too much was being read.
    pub(super) fn feed(&mut self) {
        if core::mem::take(&mut self.is_starved) {
            self.queue_all();
        }
    }

    fn queue_due(&mut self, now: Millis) {
        let is_due = self.next_due.is_some_and(|at| at <= now);
        // Since the last look other times may have come and passed.
        let is_unknown = self.is_look_skipped && self.looks(now);
        if is_due || is_unknown {
            self.is_look_skipped = false;
            self.queue_if(|member, named| timeout(member, named, now).is_some_and(|at| at <= now));
        }
    }

    fn queue_if(&mut self, is_one: impl Fn(&Member, Option<&Named>) -> bool) {
        let members = self.roster.iter().filter(|(_, member)| !member.is_queued);
        let ones = members.filter(|(_, one)| is_one(one, self.roster.named(&one.row.name)));
        let ids: Vec<Box<str>> = ones.map(|(id, _)| id.into()).collect();
        for id in ids {
            self.queue(&id);
        }
    }

    fn set_alarm(&mut self, now: Millis) {
        let is_busy = self.is_busy();
        if self.looks(now) {
            self.looked_at = now;
            let is_skipped = core::mem::take(&mut self.is_look_skipped);
            self.next_due = self.look(now, is_skipped);
        } else {
            self.is_look_skipped = true;
        }
        // What is due and not done waits for an answer, or for the end of a rest.
        let rests = !self.queue.is_empty() && self.flights.is_burst_over(now);
        let due = self.next_due.into_iter().chain(rests.then_some(now));
        if let Some(at) = self.alarm.set(due.min(), is_busy, now) {
            self.outputs.push_back(Output::SetAlarm(at));
        }
    }

    fn is_busy(&self) -> bool {
        !self.flights.is_empty() || !self.pages.is_idle()
    }

    /// Whether to look at all subscriptions. While much is under way, doing it each time would be
    /// most of the work.
    fn looks(&self, now: Millis) -> bool {
        !self.is_busy() || self.looked_at + GLANCE <= now
    }

    /// Returns when a subscription has something to do that has nothing to do now. With `or_now`
    /// those that have count too: they had no turn.
    fn look(&self, now: Millis, or_now: bool) -> Option<Millis> {
        let members = self.roster.iter();
        let times =
            members.filter_map(|(_, one)| timeout(one, self.roster.named(&one.row.name), now));
        times.filter(|at| or_now || *at > now).min()
    }
}

/// Returns when a subscription has something to do.
fn timeout(member: &Member, named: Option<&Named>, now: Millis) -> Option<Millis> {
    let row = &member.row;
    if let Some(ending) = &row.ending {
        return ending.timeout();
    }
    let messages = if row.is_lapsed(now) {
        Some(member.asked_at.map_or(now, |at| at + RECHECK))
    } else {
        let progress = &row.progress;
        let has_more = named.is_some_and(|one| one.has_more(&progress.read()));
        let more = has_more.then_some(now).filter(|_| progress.room(now) > 0);
        let due = progress.timeout().into_iter().chain(more).min();
        let not_before = named.map_or(Millis(0), |named| named.not_before);
        due.map(|due| due.max(row.granted_at + PAUSE).max(not_before))
    };
    messages.into_iter().chain(row.timeout(now)).min()
}

/// How long what is due may be taken from the last look.
const GLANCE: Millis = Millis(100);
