//! Which subscription has its turn, and when one has something to do.

use alloc::{boxed::Box, vec::Vec};

use crate::{
    clock::Millis,
    sorted::{Map, Set},
};

use super::{
    super::{
        schedule::{AUTHORIZE_RETRY, FIRST_MESSAGE_DELAY},
        store::WebhookStore,
    },
    in_flight::Pace,
    subscriptions::{SubscribedType, SubscriptionEntry, WebhookSubscriptions},
};

/// The subscriptions that have something to do, and when others have.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Those that may have their turn, by its number.
    queue: Map<u64, Box<str>>,
    /// Those that a limit has kept from their step since the last call.
    postponed: Map<u64, Box<str>>,
    /// Those that a limit keeps from their step that is the same for a whole line.
    lines: Vec<Line>,
    /// All of these.
    queued: Set<Box<str>>,
    /// The number of the next turn.
    next: u64,
    /// The turns that were taken.
    taken: u64,
    /// The number of late messages when the lines were last sorted.
    late: usize,
    /// When a subscription has something to do next, as of the last scan and the steps since.
    next_due: Option<Millis>,
    /// When all subscriptions were last scanned.
    scanned_at: Millis,
    /// Whether something has changed since then.
    is_scan_outdated: bool,
}

/// What keeps a subscription from its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// That of all messages.
    Total,
    /// That of the messages to a host.
    Host(Box<str>),
    /// That of the messages to hosts of this pace, for a subscriber that has no message.
    Pace(Pace),
    /// That of a subscriber with messages, for those to hosts of this pace.
    Caller(Box<str>, Pace),
    /// That of the pages that the server matches, for a subscriber for which it matches none.
    Matches,
    /// That of a subscriber for which the server matches pages.
    CallerMatches(Box<str>),
    /// Another one, which keeps only this subscription.
    Other,
}

/// The turn of a subscription.
pub(super) struct Turn {
    pub(super) id: Box<str>,
    number: u64,
    /// The place of the line from which it comes.
    line: Option<usize>,
}

/// The subscriptions that wait for the same limit.
#[derive(Debug)]
struct Line {
    limit: Limit,
    waiting: Map<u64, Box<str>>,
    /// Whether the limit is reached, or was when the line was last looked at since the last call.
    is_closed: bool,
    /// The hosts of this pace have to have a free place, too.
    behind: Option<Pace>,
}

impl Schedule {
    pub(super) fn new() -> Self {
        Self {
            queue: Map::new(),
            postponed: Map::new(),
            lines: Vec::new(),
            queued: Set::default(),
            next: 0,
            taken: 0,
            late: 0,
            next_due: None,
            scanned_at: Millis(0),
            is_scan_outdated: true,
        }
    }

    /// Whether no subscription waits for its turn.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Returns the number of turns that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Gives a subscription the last turn, unless it waits for one.
    pub(super) fn queue(&mut self, id: &str) {
        if self.queued.insert(id.into()) {
            self.queue.insert(self.next, id.into());
            self.next += 1;
        }
    }

    /// Forgets a subscription.
    pub(super) fn forget(&mut self, id: &str) {
        if self.queued.remove(id) {
            let lines = self.lines.iter_mut().map(|line| &mut line.waiting);
            for turns in lines.chain([&mut self.queue, &mut self.postponed]) {
                turns.retain(|_, own| **own != *id);
            }
        }
    }

    /// Begins to take turns. `late` is the number of messages that take long.
    pub(super) fn begin(&mut self, late: usize) {
        if core::mem::replace(&mut self.late, late) != late {
            self.handle_pace();
        }
        self.reopen();
    }

    /// Handles that limits may no longer be reached.
    pub(super) fn reopen(&mut self) {
        for line in &mut self.lines {
            line.is_closed = false;
        }
        let postponed = core::mem::take(&mut self.postponed);
        self.enqueue(postponed);
    }

    /// Handles that the pace of a host has changed, and with it the limits that apply.
    pub(super) fn handle_pace(&mut self) {
        for mut line in core::mem::take(&mut self.lines) {
            if matches!(line.limit, Limit::Pace(_) | Limit::Caller(..)) {
                self.enqueue(line.waiting);
            } else {
                line.behind = None;
                self.lines.push(line);
            }
        }
    }

    /// Gives a turn to whatever waits.
    pub(super) fn queue_waiting(&mut self) {
        for line in core::mem::take(&mut self.lines) {
            self.enqueue(line.waiting);
        }
    }

    fn enqueue(&mut self, turns: Map<u64, Box<str>>) {
        for (number, id) in turns.into_entries() {
            self.queue.insert(number, id);
        }
    }

    /// Takes the first turn that no limit prevents which is known to be reached.
    pub(super) fn take(&mut self) -> Option<Turn> {
        let is_full = |pace: Pace| {
            let mut lines = self.lines.iter();
            lines.any(|line| line.is_closed && line.limit == Limit::Pace(pace))
        };
        let (is_late_full, is_slow_full) = (is_full(Pace::Late), is_full(Pace::Slow));
        let mut first = self.queue.keys().next().map(|number| (*number, None));
        for (place, line) in self.lines.iter().enumerate() {
            let is_behind = match line.behind {
                Some(Pace::Late) => is_late_full,
                Some(Pace::Slow) => is_slow_full,
                Some(Pace::Prompt) | None => false,
            };
            let number = line.waiting.keys().next().filter(|_| !line.is_closed);
            if let Some(number) = number.filter(|_| !is_behind)
                && first.is_none_or(|(least, _)| *number < least)
            {
                first = Some((*number, Some(place)));
            }
        }
        let (number, place) = first?;
        let turns = match place.and_then(|place| self.lines.get_mut(place)) {
            Some(line) => &mut line.waiting,
            None => &mut self.queue,
        };
        let id = turns.remove(&number)?;
        self.queued.remove(&id);
        self.taken += 1;
        Some(Turn {
            id,
            number,
            line: place,
        })
    }

    /// Keeps a turn until a limit is no longer reached.
    pub(super) fn keep(&mut self, turn: Turn, limit: Limit) {
        self.queued.insert(turn.id.clone());
        let turns = match limit {
            Limit::Total => &mut self.queue,
            Limit::Other => &mut self.postponed,
            limit => match self.close(turn.line, limit) {
                Some(waiting) => waiting,
                None => return,
            },
        };
        turns.insert(turn.number, turn.id);
    }

    /// Returns the line for a subscription that comes from another one. Those that wait for a host
    /// stay together: a place for hosts of its pace is none for another pace.
    fn close(&mut self, from: Option<usize>, limit: Limit) -> Option<&mut Map<u64, Box<str>>> {
        let behind = match (&limit, from.and_then(|place| self.lines.get(place))) {
            (Limit::Pace(pace), Some(line)) if matches!(line.limit, Limit::Host(_)) => Some(*pace),
            _ => None,
        };
        let place = self.place_of(limit);
        let place = from.filter(|_| behind.is_some()).unwrap_or(place);
        let line = self.lines.get_mut(place)?;
        line.is_closed = true;
        line.behind = behind;
        Some(&mut line.waiting)
    }

    /// Closes the line of a limit. Returns its place.
    fn place_of(&mut self, limit: Limit) -> usize {
        let mut lines = self.lines.iter_mut();
        if let Some(place) = lines.position(|line| line.limit == limit) {
            if let Some(line) = self.lines.get_mut(place) {
                line.is_closed = true;
            }
            return place;
        }
        self.lines.push(Line {
            limit,
            waiting: Map::new(),
            is_closed: true,
            behind: None,
        });
        self.lines.len() - 1
    }

    /// Ends taking turns.
    pub(super) fn end(&mut self) {
        let postponed = core::mem::take(&mut self.postponed);
        self.enqueue(postponed);
        self.lines.retain(|line| !line.waiting.is_empty());
    }

    /// Queues the subscriptions that have something to do, if one may have.
    pub(super) fn queue_due<S: WebhookStore>(
        &mut self,
        subscriptions: &WebhookSubscriptions<S>,
        is_busy: bool,
        now: Millis,
    ) {
        let is_due = self.next_due.is_some_and(|at| at <= now);
        // Since the last scan other times may have come and passed.
        let is_unknown = self.is_scan_outdated && self.may_scan(is_busy, now);
        if is_due || is_unknown {
            self.is_scan_outdated = false;
            for (id, entry) in subscriptions.iter() {
                let event_type = subscriptions.event_type(&entry.row.name);
                if due_at(entry, event_type, now).is_some_and(|at| at <= now) {
                    self.queue(id);
                }
            }
        }
        if is_due {
            // A time that has passed would set the alarm again at once.
            self.next_due = scan(subscriptions, false, now);
        }
    }

    /// Handles that a subscription has nothing more to do now. Notes when it has next: while much
    /// is under way, the next scan may come later.
    pub(super) fn handle_done(
        &mut self,
        entry: &SubscriptionEntry,
        event_type: Option<&SubscribedType>,
        now: Millis,
    ) {
        let due = due_at(entry, event_type, now).filter(|at| *at > now);
        self.next_due = self.next_due.into_iter().chain(due).min();
    }

    /// Returns when a subscription has something to do next, as far as it is known. Those that have
    /// something to do now have been queued.
    pub(super) fn next_due<S: WebhookStore>(
        &mut self,
        subscriptions: &WebhookSubscriptions<S>,
        is_busy: bool,
        now: Millis,
    ) -> Option<Millis> {
        if self.may_scan(is_busy, now) {
            self.scanned_at = now;
            let is_outdated = core::mem::take(&mut self.is_scan_outdated);
            self.next_due = scan(subscriptions, is_outdated, now);
        } else {
            self.is_scan_outdated = true;
        }
        self.next_due
    }

    /// Whether to scan all subscriptions. While much is under way, doing it each time would be most
    /// of the work.
    fn may_scan(&self, is_busy: bool, now: Millis) -> bool {
        !is_busy || self.scanned_at + SCAN_INTERVAL <= now
    }
}

/// Returns when a subscription has something to do that has nothing to do now. With `includes_now`
/// those that have something to do now count too: they have not been queued.
fn scan<S: WebhookStore>(
    subscriptions: &WebhookSubscriptions<S>,
    includes_now: bool,
    now: Millis,
) -> Option<Millis> {
    let entries = subscriptions.iter();
    let times = entries
        .filter_map(|(_, entry)| due_at(entry, subscriptions.event_type(&entry.row.name), now));
    times.filter(|at| includes_now || *at > now).min()
}

/// Returns when a subscription has something to do.
fn due_at(
    entry: &SubscriptionEntry,
    event_type: Option<&SubscribedType>,
    now: Millis,
) -> Option<Millis> {
    let row = &entry.row;
    if let Some(ending) = &row.ending {
        return ending.timeout();
    }
    let messages = if row.needs_authorization(now) {
        let asked_at = entry.authorization_asked_at;
        Some(asked_at.map_or(now, |at| at + AUTHORIZE_RETRY))
    } else {
        let progress = &row.progress;
        let has_more = event_type.is_some_and(|known| known.has_more(&progress.read()));
        let more = has_more.then_some(now).filter(|_| progress.room(now) > 0);
        let due = progress.timeout().into_iter().chain(more).min();
        let not_before = event_type.map_or(Millis(0), |known| known.reads.until());
        due.map(|due| {
            due.max(row.granted_at + FIRST_MESSAGE_DELAY)
                .max(not_before)
                .max(entry.matches.until())
                .max(entry.send_after)
        })
    };
    messages.into_iter().chain(row.timeout(now)).min()
}

/// While messages are being sent, subscriptions are scanned at most once in this time.
const SCAN_INTERVAL: Millis = Millis(100);
