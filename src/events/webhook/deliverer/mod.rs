//! The delivery of occurrences to the webhooks of some subscribers, beside its store.

mod alarm;
mod calls;
mod disconnect;
mod ending;
mod in_flight;
mod options;
mod outcomes;
mod output;
mod pages;
mod queue;
mod schedule;
mod step;
mod subscriptions;

pub use disconnect::Disconnect;
pub use options::DelivererOptions;
pub use output::{Authorization, DelivererOutput, MessageKind, Post};

use alloc::{boxed::Box, collections::VecDeque, string::String, vec::Vec};

use core::fmt;

use crate::{
    clock::Millis,
    events::{
        error::EventError,
        matching::{MatchResult, MatchRules},
        name::EventName,
        page::Page,
    },
    vocabulary::{position::Cursor, scope::Name},
};

use super::{
    WebhookSubscription,
    outcome::{Failure, Outcome},
    store::WebhookStore,
};
use alarm::Alarm;
use calls::Calls;
use in_flight::InFlight;
use pages::{Pages, Purpose};
use schedule::Schedule;
use subscriptions::{SubscriptionEntry, WebhookSubscriptions};

/// Delivers occurrences to webhooks: at least once, started in order, from the log of a bus.
///
/// Times are in milliseconds since 1970. `random` is drawn from [0, 1). After each call, carry out
/// what [`Deliverer::poll_output`] returns until it returns `None`. If a call fails, the store
/// failed: create a new deliverer. Whatever was in memory is delivered again.
pub struct Deliverer<S> {
    subscriptions: WebhookSubscriptions<S>,
    pages: Pages,
    in_flight: InFlight,
    calls: Calls,
    schedule: Schedule,
    outputs: VecDeque<DelivererOutput>,
    /// The messages that are sent once the alarm is set.
    posts: Vec<DelivererOutput>,
    options: DelivererOptions,
    match_rules: MatchRules,
    alarm: Alarm,
}

/// What a deliverer has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelivererCounts {
    /// The subscriptions, except those that have ended.
    pub subscriptions: usize,
    /// Those of them whose endpoint is down.
    pub throttled: usize,
    /// The occurrences that are being sent or wait for another attempt.
    pub waiting: usize,
    /// The messages that are being sent.
    pub in_flight: usize,
    /// The turns that subscriptions have had: the work of the deliverer since it was made.
    pub turns: u64,
}

impl<S: WebhookStore> Deliverer<S> {
    /// Reads the subscriptions of a store. `alarm` is when the alarm of the host is set to; while
    /// it is being handled, when that began. The first call does what is due, whatever it is
    /// about; without an alarm it also has the log read, since nothing else would.
    ///
    /// # Errors
    /// The errors of the store, as for all functions below.
    pub fn new(
        store: S,
        options: DelivererOptions,
        match_rules: MatchRules,
        alarm: Option<Millis>,
    ) -> Result<Self, S::Error> {
        let mut subscriptions = WebhookSubscriptions::load(store, &match_rules)?;
        if alarm.is_none() {
            subscriptions.read_again();
        }
        Ok(Self {
            subscriptions,
            pages: Pages::default(),
            in_flight: InFlight::default(),
            calls: Calls::default(),
            schedule: Schedule::new(),
            outputs: VecDeque::new(),
            posts: Vec::new(),
            options,
            match_rules,
            alarm: Alarm::inherit(alarm),
        })
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<DelivererOutput> {
        self.outputs.pop_front()
    }

    /// Returns the names of the event types that have subscriptions. Have the bus follow them when
    /// the deliverer is made: a [`DelivererOutput::Follow`] may have been lost.
    pub fn names(&self) -> impl Iterator<Item = &EventName> {
        self.subscriptions.names()
    }

    /// Returns what there is to do.
    pub fn counts(&self) -> DelivererCounts {
        let mut counts = DelivererCounts {
            in_flight: self.in_flight.len(),
            turns: self.schedule.taken(),
            ..DelivererCounts::default()
        };
        for (_, entry) in self.subscriptions.iter() {
            if entry.row.ending.is_none() {
                counts.subscriptions += 1;
                counts.throttled += usize::from(entry.row.progress.is_throttled());
                counts.waiting += entry.row.progress.len();
            }
        }
        counts
    }

    /// Whether nothing is being sent or read, and nothing is due now.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.pages.is_idle() && self.schedule.is_empty()
    }

    /// Whether there is a subscription with this id that has neither ended nor expired.
    pub fn is_live(&self, id: &str, now: Millis) -> bool {
        self.live(id, now).is_some()
    }

    /// Handles that the bus has an occurrence of an event type, and ends at `head`: reads that have
    /// failed are repeated now. Confirm that to the bus once the outputs are carried out: then the
    /// alarm is set.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_wake(
        &mut self,
        name: &EventName,
        head: Cursor,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_invocation(now);
        match self
            .subscriptions
            .event_type_mut(name)
            .filter(|event_type| !event_type.ids.is_empty())
        {
            Some(event_type) => {
                event_type.note_head(head);
                event_type.reads.end_wait();
            }
            None => self
                .outputs
                .push_back(DelivererOutput::Unfollow(name.clone())),
        }
        self.queue_type(name);
        self.advance(now)
    }

    /// Handles that the alarm went off.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_alarm(&mut self, now: Millis, random: f64) -> Result<(), S::Error> {
        if self.alarm.handle_fired() {
            self.subscriptions.read_again();
        }
        self.in_flight.begin_invocation(now);
        for post in self.in_flight.overdue(now) {
            self.handle_outcome(post, &Outcome::Failure(Failure::Timeout), now, random)?;
        }
        for read in self.pages.overdue(now) {
            self.read_failed(read, now, random)?;
        }
        self.queue_all();
        self.advance(now)
    }

    /// Handles the outcome of a message.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_sent(
        &mut self,
        post: u32,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        self.handle_outcome(post, outcome, now, random)?;
        self.advance(now)
    }

    /// Handles a page of the log.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_page(&mut self, read: u32, page: Page, now: Millis) -> Result<(), S::Error> {
        if let Some(read) = self.pages.end(read) {
            match read.purpose {
                Purpose::Call(call) => self.log_read(call, &page, now)?,
                Purpose::Type => self.page_read(read, page, now),
                Purpose::Match(..) => {}
            }
        }
        self.advance(now)
    }

    /// Handles that a page could not be read or matched.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_read_failed(
        &mut self,
        read: u32,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        self.read_failed(read, now, random)?;
        self.advance(now)
    }

    /// Handles the match results of the occurrences of a page, in order; a missing one is a
    /// failure, and the occurrence is skipped.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_match_results(
        &mut self,
        read: u32,
        results: &[MatchResult],
        now: Millis,
    ) -> Result<(), S::Error> {
        if let Some(read) = self.pages.end(read)
            && let Purpose::Match(id, _) = &read.purpose
            && let Some(entry) = self.subscriptions.get_mut(id)
        {
            entry.matches.succeed();
            self.pages.keep_results(&read, &entry.reader(id), results);
            self.queue(id);
        }
        self.advance(now)
    }

    /// Handles whether a subscriber may still receive the events of a subscription.
    #[expect(clippy::missing_errors_doc, reason = "the errors are those of new")]
    pub fn handle_authorized(
        &mut self,
        id: &str,
        authorization: Authorization,
        now: Millis,
    ) -> Result<(), S::Error> {
        let entry = self.subscriptions.get(id);
        // The caller may have renewed the subscription since the question.
        let is_open = |entry: &SubscriptionEntry| {
            entry.authorization_asked_at.is_some() && entry.row.ending.is_none()
        };
        if entry.is_some_and(is_open) {
            match authorization {
                Authorization::Allowed(groups) => self.allow(id, groups, now)?,
                Authorization::Denied => {
                    self.end(id, &EventError::Forbidden { reason: None }, now)?;
                }
                Authorization::Unknown => {}
            }
        }
        self.advance(now)
    }

    fn allow(&mut self, id: &str, groups: Option<Vec<Name>>, now: Millis) -> Result<(), S::Error> {
        let authorize_at = self.options.authorize_at(now);
        if let Some(entry) = self.subscriptions.get_mut(id) {
            entry.row.authorize_at = authorize_at;
            entry.authorization_asked_at = None;
        }
        if let Some(groups) = groups {
            self.regroup(id, groups);
        }
        self.subscriptions.put(id)?;
        self.queue(id);
        Ok(())
    }

    fn regroup(&mut self, id: &str, groups: Vec<Name>) {
        let row = self.subscriptions.get(id).map(|entry| &entry.row);
        let Some(name) = row.filter(|row| row.groups != groups).map(|row| &row.name) else {
            return;
        };
        let name = name.clone();
        let former = self.subscriptions.groups(&name);
        if let Some(entry) = self.subscriptions.get_mut(id) {
            entry.row.groups = groups;
        }
        self.forget_selections(id, &name, &former);
    }

    /// Returns a subscription that has neither ended nor expired.
    pub(super) fn live(&self, id: &str, now: Millis) -> Option<&WebhookSubscription> {
        let row = self.subscriptions.get(id).map(|entry| &entry.row);
        row.filter(|row| row.is_live(now))
    }

    pub(super) fn respond(&mut self, call: u32, response: Result<String, EventError>) {
        self.outputs
            .push_back(DelivererOutput::Respond { call, response });
    }

    pub(super) fn begin_invocation(&mut self, now: Millis) {
        if self.is_idle() {
            self.in_flight.begin_invocation(now);
        }
    }
}

fn message_id(kind: MessageKind, subscription: &str, at: Millis) -> Box<str> {
    let of = subscription.strip_prefix("sub_").unwrap_or(subscription);
    format!("msg_{}_{of}_{}", kind.name(), at.0).into_boxed_str()
}

/// Shows nothing that identifies subscribers or opens their endpoints.
impl<S: WebhookStore> fmt::Debug for Deliverer<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut deliverer = formatter.debug_struct("Deliverer");
        deliverer
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
