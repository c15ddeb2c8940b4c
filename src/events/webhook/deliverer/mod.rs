//! The delivery of occurrences to the webhooks of some subscribers, beside its store.

mod alarm;
mod calls;
mod flights;
mod granting;
mod options;
mod output;
mod pages;
mod roster;
mod round;
mod settling;
mod turn;

pub use options::Options;
pub use output::{MessageKind, Output, Post};

use alloc::{
    boxed::Box,
    collections::VecDeque,
    string::{String, ToString},
    vec::Vec,
};

use core::fmt;

use crate::{
    clock::Millis,
    events::{
        error::EventError,
        matching::{MatchResult, MatchRules},
        name::EventName,
        page::Page,
    },
    vocabulary::position::Cursor,
};

use super::{
    Subscription,
    outcome::{Failure, Outcome},
    store::Store,
};
use alarm::Alarm;
use calls::Calls;
use flights::Flights;
use pages::{Of, Pages};
use roster::Roster;

/// Delivers occurrences to webhooks: at least once, started in order, from the log of a bus.
///
/// Times are in milliseconds since 1970. `random` is drawn from [0, 1). After each call, carry out
/// what [`Deliverer::poll_output`] returns until it returns `None`. If a call fails, the store
/// failed: create a new deliverer. Whatever was in memory is delivered again.
pub struct Deliverer<S> {
    roster: Roster<S>,
    pages: Pages,
    flights: Flights,
    calls: Calls,
    /// The subscriptions that have something to do, in turns.
    queue: VecDeque<Box<str>>,
    outputs: VecDeque<Output>,
    /// The messages that are sent once the alarm is set.
    posts: Vec<Output>,
    options: Options,
    match_rules: MatchRules,
    alarm: Alarm,
    /// When a subscription has something to do next, as of `looked_at`.
    next_due: Option<Millis>,
    looked_at: Millis,
    /// Whether something has changed since then.
    is_look_skipped: bool,
    /// Whether a subscription waits because too much is being read.
    is_starved: bool,
}

/// What a deliverer has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The subscriptions, except those that have ended.
    pub subscriptions: usize,
    /// Those of them whose endpoint is down.
    pub throttled: usize,
    /// The occurrences that are being sent or wait for another attempt.
    pub waiting: usize,
    /// The messages that are being sent.
    pub in_flight: usize,
}

impl<S: Store> Deliverer<S> {
    /// Reads the subscriptions of a store. `alarm` is when the alarm of the host is set to; while
    /// it is being handled, when that began.
    ///
    /// # Errors
    /// The errors of the store, as for all functions below.
    pub fn new(
        store: S,
        options: Options,
        match_rules: MatchRules,
        alarm: Option<Millis>,
    ) -> Result<Self, S::Error> {
        Ok(Self {
            roster: Roster::load(store, &match_rules)?,
            pages: Pages::default(),
            flights: Flights::default(),
            calls: Calls::default(),
            queue: VecDeque::new(),
            outputs: VecDeque::new(),
            posts: Vec::new(),
            options,
            match_rules,
            alarm: Alarm::inherit(alarm),
            next_due: None,
            looked_at: Millis(0),
            is_look_skipped: false,
            is_starved: false,
        })
    }

    /// Returns the store.
    pub fn store(&self) -> &S {
        self.roster.store()
    }

    /// Consumes the deliverer and returns the store.
    pub fn into_store(self) -> S {
        self.roster.into_store()
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns the names of the event types that have subscriptions. Have the bus follow them when
    /// the deliverer is made: an [`Output::Follow`] may have been lost.
    pub fn names(&self) -> impl Iterator<Item = &EventName> {
        self.roster.names().map(|(name, _)| name)
    }

    /// Returns what there is to do.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            in_flight: self.flights.len(),
            ..Counts::default()
        };
        for (_, member) in self.roster.iter() {
            if member.row.ending.is_none() {
                counts.subscriptions += 1;
                counts.throttled += usize::from(member.row.progress.is_throttled());
                counts.waiting += member.row.progress.len();
            }
        }
        counts
    }

    /// Whether nothing is being sent or read, and nothing is due now.
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty() && self.pages.is_idle() && self.queue.is_empty()
    }

    /// Removes a subscription. Returns whether there was one.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_unsubscribe(&mut self, id: &str, now: Millis) -> Result<bool, S::Error> {
        let is_live = self.live(id, now).is_some();
        self.remove(id)?;
        self.advance(now)?;
        Ok(is_live)
    }

    /// Handles that the bus has an occurrence of a name, and ends at `head`. Confirm that to the
    /// bus once the outputs are carried out: then the alarm is set.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_wake(
        &mut self,
        name: &EventName,
        head: Cursor,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_burst(now);
        match self
            .roster
            .named_mut(name)
            .filter(|named| !named.ids.is_empty())
        {
            Some(named) => named.note_head(head),
            None => self.outputs.push_back(Output::Unfollow(name.clone())),
        }
        self.queue_name(name);
        self.advance(now)
    }

    /// Handles that the alarm went off.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_alarm(&mut self, now: Millis, random: f64) -> Result<(), S::Error> {
        if self.alarm.ring() {
            self.roster.read_again();
        }
        self.flights.begin_burst(now);
        for post in self.flights.overdue(now) {
            self.settle(post, &Outcome::Failure(Failure::Timeout), now, random)?;
        }
        for read in self.pages.overdue(now) {
            self.fail_read(read, now, random);
        }
        self.queue_all();
        self.advance(now)
    }

    /// Handles the outcome of a message.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_sent(
        &mut self,
        post: u32,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        self.settle(post, outcome, now, random)?;
        self.advance(now)
    }

    /// Handles a page of the log.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_page(&mut self, read: u32, page: Page, now: Millis) -> Result<(), S::Error> {
        if let Some(read) = self.pages.end(read) {
            match read.of {
                Of::Call(call) => self.opened(call, &page, now)?,
                Of::Name => self.take_page(read, page, now),
                Of::Judgement(_) => {}
            }
        }
        self.feed();
        self.advance(now)
    }

    /// Handles that a page could not be read, or not be decided about.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_read_failed(
        &mut self,
        read: u32,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        self.fail_read(read, now, random);
        self.feed();
        self.advance(now)
    }

    /// Handles the decisions about the occurrences of a page, in order; a missing one is a failure,
    /// and the occurrence is passed over.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_match_results(
        &mut self,
        read: u32,
        results: &[MatchResult],
        now: Millis,
    ) -> Result<(), S::Error> {
        if let Some(read) = self.pages.end(read)
            && let Of::Judgement(id) = &read.of
            && let Some(member) = self.roster.get(id)
        {
            self.pages.judge(&read, &member.reader(id), results);
            self.queue(id);
        }
        self.advance(now)
    }

    /// Handles whether a subscriber may still receive the events of a subscription; `None` if that
    /// could not be found out: it is asked again later, and nothing is sent meanwhile.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_authorized(
        &mut self,
        id: &str,
        is_allowed: Option<bool>,
        now: Millis,
    ) -> Result<(), S::Error> {
        let grant = self.options.authorization_ttl_ms;
        if let Some(member) = self
            .roster
            .get_mut(id)
            .filter(|one| one.row.ending.is_none())
        {
            match is_allowed {
                Some(true) => {
                    member.row.authorize_at = grant.map(|grant| now + grant);
                    member.asked_at = None;
                    self.roster.put(id)?;
                    self.queue(id);
                }
                Some(false) => self.end(id, &EventError::Forbidden { reason: None }, now)?,
                None => {}
            }
        }
        self.advance(now)
    }

    /// Ends the subscriptions of a subscriber whose access was revoked.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_disconnected(&mut self, principal: &str, now: Millis) -> Result<(), S::Error> {
        let error = EventError::Forbidden { reason: None };
        self.end_all(|own, _| *own == *principal, &error, now)
    }

    /// Ends the subscriptions to an event type: it was removed, or its schema has changed.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_ended(
        &mut self,
        name: &EventName,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.end_all(|_, own| *own == *name, error, now)
    }

    /// Ends the subscriptions, and refuses the calls, whose principal and name `is_one` picks.
    fn end_all(
        &mut self,
        is_one: impl Fn(&str, &EventName) -> bool,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_burst(now);
        for call in self.calls.take_all(|one| is_one(&one.principal, &one.name)) {
            self.answer(call, Err(error.clone()));
        }
        let rows = self.roster.iter().map(|(id, one)| (id, &one.row));
        let picked = rows.filter(|(_, row)| is_one(&row.principal, &row.name));
        let ids: Vec<String> = picked.map(|(id, _)| id.to_string()).collect();
        for id in ids {
            self.end(&id, error, now)?;
        }
        self.advance(now)
    }

    /// Ends a subscription: its last message is sent next.
    pub(super) fn end(
        &mut self,
        id: &str,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        let Some(member) = self.roster.get_mut(id) else {
            return Ok(());
        };
        let name = member.row.name.clone();
        member.row.end(error.clone(), now);
        self.roster.put(id)?;
        self.detach(id, &name)?;
        self.queue(id);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &str) -> Result<(), S::Error> {
        match self.roster.remove(id)? {
            Some(member) => self.detach(id, &member.row.name),
            None => Ok(()),
        }
    }

    fn detach(&mut self, id: &str, name: &EventName) -> Result<(), S::Error> {
        self.pages.forget_reader(id);
        if self.roster.detach(id, name)? {
            self.pages.forget_name(name);
            self.outputs.push_back(Output::Unfollow(name.clone()));
        }
        Ok(())
    }

    /// Returns a subscription that has neither ended nor expired.
    pub(super) fn live(&self, id: &str, now: Millis) -> Option<&Subscription> {
        let row = self.roster.get(id).map(|member| &member.row);
        row.filter(|row| row.is_live(now))
    }

    pub(super) fn answer(&mut self, call: u32, reply: Result<String, EventError>) {
        self.outputs.push_back(Output::Answer { call, reply });
    }

    pub(super) fn begin_burst(&mut self, now: Millis) {
        if self.is_idle() {
            self.flights.begin_burst(now);
        }
    }
}

fn message_id(kind: MessageKind, subscription: &str, at: Millis) -> Box<str> {
    let of = subscription.trim_start_matches("sub_");
    format!("msg_{}_{of}_{}", kind.name(), at.0).into_boxed_str()
}

/// Shows nothing that identifies subscribers or opens their endpoints.
impl<S: Store> fmt::Debug for Deliverer<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut deliverer = formatter.debug_struct("Deliverer");
        deliverer
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
