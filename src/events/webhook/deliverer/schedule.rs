//! Which subscription has its turn, and when one has something to do.

use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, sorted::Map};

use super::{
    super::{
        schedule::{AUTHORIZE_RETRY, FIRST_MESSAGE_DELAY},
        store::WebhookStore,
    },
    in_flight::{Limit, Pace},
    subscriptions::{SubscribedType, SubscriptionEntry, WebhookSubscriptions},
};

/// The subscriptions that have something to do, and when others have.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Those that wait for their turn. The first line is the queue: no other limit is known to
    /// keep these.
    lines: Vec<Line>,
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

/// The turn of a subscription.
pub(super) struct Turn {
    pub(super) id: Box<str>,
    pub(super) number: u64,
    /// The place of the line from which it comes.
    line: usize,
}

/// The subscriptions that wait for the same limit.
#[derive(Debug)]
struct Line {
    limit: Limit,
    waiting: Map<u64, Box<str>>,
    /// Whether the limit was found to be reached since turns were last begun.
    is_closed: bool,
    /// The hosts of this pace have to have a free place, too.
    behind: Option<Pace>,
}

impl Schedule {
    pub(super) fn new() -> Self {
        Self {
            lines: vec![Line::new(Limit::Total)],
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
        self.lines.iter().all(|line| line.waiting.is_empty())
    }

    /// Returns the number of turns that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Gives a subscription the last turn. Returns its number.
    pub(super) fn queue(&mut self, id: &str) -> u64 {
        let number = self.next;
        self.next += 1;
        if let Some(queue) = self.lines.first_mut() {
            queue.waiting.insert(number, id.into());
        }
        number
    }

    /// Gives a subscription its turn that waits for a match: it may have something to send.
    pub(super) fn recall(&mut self, number: u64) {
        if let Some((queue, lines)) = self.lines.split_first_mut() {
            for line in lines {
                if matches!(line.limit, Limit::Matches | Limit::CallerMatches(_))
                    && let Some(id) = line.waiting.remove(&number)
                {
                    queue.waiting.insert(number, id);
                }
            }
        }
    }

    /// Forgets a turn.
    pub(super) fn forget(&mut self, number: u64) {
        for line in &mut self.lines {
            line.waiting.remove(&number);
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
        self.requeue(|limit| *limit == Limit::Other);
    }

    /// Handles that the pace of a host has changed, and with it the limits that apply.
    pub(super) fn handle_pace(&mut self) {
        for line in &mut self.lines {
            line.behind = None;
        }
        self.requeue(|limit| matches!(limit, Limit::Pace(_) | Limit::Caller(..)));
    }

    /// Moves all that wait for some limits into the queue.
    pub(super) fn requeue(&mut self, is_lifted: fn(&Limit) -> bool) {
        if let Some((queue, lines)) = self.lines.split_first_mut() {
            for line in lines.iter_mut().filter(|line| is_lifted(&line.limit)) {
                for (number, id) in core::mem::take(&mut line.waiting).into_entries() {
                    queue.waiting.insert(number, id);
                }
            }
        }
    }

    /// Takes the first turn, leaving out lines that are closed.
    pub(super) fn take(&mut self) -> Option<Turn> {
        let is_full = |pace: Pace| {
            let mut lines = self.lines.iter();
            lines.any(|line| line.is_closed && line.limit == Limit::Pace(pace))
        };
        let (is_late_full, is_slow_full) = (is_full(Pace::Late), is_full(Pace::Slow));
        let mut first = None;
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
                first = Some((*number, place));
            }
        }
        let (number, line) = first?;
        let id = self.lines.get_mut(line)?.waiting.remove(&number)?;
        self.taken += 1;
        Some(Turn { id, number, line })
    }

    /// Keeps a turn until a limit is no longer reached.
    pub(super) fn keep(&mut self, turn: Turn, limit: Limit) {
        if let Some(waiting) = self.close(turn.line, limit) {
            waiting.insert(turn.number, turn.id);
        }
    }

    /// Closes the line of a limit. Returns the turns of the line that is to keep a subscription:
    /// one that comes from the line of its host stays there if hosts of that pace have no place,
    /// since the rest of that line would follow it.
    fn close(&mut self, from: usize, limit: Limit) -> Option<&mut Map<u64, Box<str>>> {
        let is_of_host = |line: &Line| matches!(line.limit, Limit::Host(_));
        let behind = match limit {
            Limit::Pace(pace) if self.lines.get(from).is_some_and(is_of_host) => Some(pace),
            _ => None,
        };
        let place = self.lines.iter().position(|line| line.limit == limit);
        let place = place.unwrap_or_else(|| {
            self.lines.push(Line::new(limit));
            self.lines.len() - 1
        });
        self.lines.get_mut(place)?.is_closed = true;
        let line = self.lines.get_mut(behind.map_or(place, |_| from))?;
        line.is_closed = true;
        line.behind = behind;
        Some(&mut line.waiting)
    }

    /// Ends taking turns.
    pub(super) fn end(&mut self) {
        self.requeue(|limit| *limit == Limit::Other);
        self.lines
            .retain(|line| line.limit == Limit::Total || !line.waiting.is_empty());
    }

    /// Returns the subscriptions without a turn that have something to do, if one may have.
    pub(super) fn due<S: WebhookStore>(
        &mut self,
        subscriptions: &WebhookSubscriptions<S>,
        is_busy: bool,
        now: Millis,
    ) -> Vec<Box<str>> {
        let is_due = self.next_due.is_some_and(|at| at <= now);
        // Since the last scan other times may have come and passed.
        let is_unknown = self.is_scan_outdated && self.may_scan(is_busy, now);
        if !is_due && !is_unknown {
            return Vec::new();
        }
        self.is_scan_outdated = false;
        let (due, next) = scan(subscriptions, now);
        self.next_due = next;
        due
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
            let (due, next) = scan(subscriptions, now);
            // Those that are due have become so since the last scan, and have no turn yet.
            self.next_due = if is_outdated && !due.is_empty() {
                Some(now)
            } else {
                next
            };
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

impl Line {
    fn new(limit: Limit) -> Self {
        Self {
            limit,
            waiting: Map::new(),
            is_closed: false,
            behind: None,
        }
    }
}

/// Returns the subscriptions without a turn that have something to do now, and when another has
/// next.
fn scan<S: WebhookStore>(
    subscriptions: &WebhookSubscriptions<S>,
    now: Millis,
) -> (Vec<Box<str>>, Option<Millis>) {
    let (mut due, mut next) = (Vec::new(), None);
    for (id, entry) in subscriptions.iter() {
        match due_at(entry, subscriptions.event_type(&entry.row.name), now) {
            Some(at) if at > now => next = next.into_iter().chain([at]).min(),
            Some(_) if entry.turn.is_none() => due.push(id.into()),
            _ => {}
        }
    }
    (due, next)
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
