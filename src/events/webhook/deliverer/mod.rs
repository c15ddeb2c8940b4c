//! The delivery of occurrences to the webhooks of some subscribers, beside its store.

mod calls;
mod flights;
mod matches;
mod options;
mod output;
mod pages;
mod roster;
mod turn;

pub use matches::Matches;
pub use options::Options;
pub use output::{MessageKind, Output, Post};

use alloc::{
    boxed::Box,
    collections::VecDeque,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    clock::Millis,
    events::{
        error::EventError,
        matching::Verdict,
        name::EventName,
        page::{Page, Question},
    },
    vocabulary::position::{Mark, Position},
};

use super::{
    Subscription,
    envelope::{self, is_echo},
    outcome::{self, Failure, Outcome},
    progress::Failed,
    schedule::{CONSENT, PATIENCE, spread},
    store::Store,
    subscribe::{DeliveryStatus, Granted, Subscribe},
};
use calls::{Call, Calls, exhausted};
use flights::{Flights, What};
use pages::{Of, Pages, Read};
use roster::Roster;

/// Delivers occurrences to webhooks: at least once, started in order, from the log of a bus.
///
/// Times are in milliseconds since 1970. `random` is drawn from [0, 1). After each call, carry out
/// what [`Deliverer::poll_output`] returns until it returns `None`. If a call fails, the store
/// failed: begin again with a new deliverer. All that this forgets is delivered again.
#[derive(Debug)]
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
    matches: Matches,
    alarm: Option<Millis>,
    /// When the host has to be woken if it forgets what is under way.
    guard: Option<Millis>,
    /// Whether something may have been under way before this deliverer was made.
    is_unchecked: bool,
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
    /// Reads the subscriptions of a store. `alarm` is when the alarm of the host is set to; while it
    /// is being handled, when that began.
    ///
    /// # Errors
    /// The errors of the store, as for all functions below.
    pub fn new(
        store: S,
        options: Options,
        matches: Matches,
        alarm: Option<Millis>,
    ) -> Result<Self, S::Error> {
        Ok(Self {
            roster: Roster::load(store, &matches)?,
            pages: Pages::default(),
            flights: Flights::default(),
            calls: Calls::default(),
            queue: VecDeque::new(),
            outputs: VecDeque::new(),
            posts: Vec::new(),
            options,
            matches,
            alarm,
            guard: None,
            is_unchecked: alarm.is_some(),
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

    /// Handles a call that makes or renews a subscription. An [`Output::Answer`] follows, perhaps
    /// after an endpoint was asked for its consent.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_subscribe(
        &mut self,
        call: u32,
        subscribe: Subscribe,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_burst(now);
        let checked = self
            .check_quota(&subscribe, now)
            .and_then(|()| self.consent(&subscribe, now));
        match checked {
            Err(error) => self.answer(call, Err(error)),
            Ok(Some(verified_until)) => {
                let verified_until = verified_until.filter(|_| !subscribe.is_allowed);
                let waiting = Call {
                    subscribe,
                    verified_until,
                };
                self.open(call, waiting, now)?;
            }
            Ok(None) => self.verify(call, subscribe, now),
        }
        self.advance(now)
    }

    /// Removes a subscription. Returns whether there was one.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_unsubscribe(&mut self, id: &str, now: Millis) -> Result<bool, S::Error> {
        let is_live = self.live(id, now).is_some();
        self.remove(id)?;
        self.advance(now)?;
        Ok(is_live)
    }

    /// Handles that the bus has an occurrence of a name, and ends at `head`. Confirm that to the bus
    /// once the outputs are carried out: then the alarm is set.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_wake(
        &mut self,
        name: &EventName,
        head: Mark,
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
        self.alarm = None;
        self.guard = None;
        self.flights.begin_burst(now);
        for post in self.flights.overdue(now) {
            self.settle(post, &Outcome::Failure(Failure::Timeout), now, random)?;
        }
        for read in self.pages.overdue(now) {
            self.fail_read(read, now, random);
        }
        if core::mem::take(&mut self.is_unchecked) {
            self.roster.read_again();
        }
        self.queue_all();
        self.advance(now)
    }

    /// Handles what came of a message.
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
    pub fn handle_verdicts(
        &mut self,
        read: u32,
        verdicts: &[Verdict],
        now: Millis,
    ) -> Result<(), S::Error> {
        if let Some(read) = self.pages.end(read)
            && let Of::Judgement(id) = &read.of
            && let Some(member) = self.roster.get(id)
        {
            self.pages.judge(&read, &member.reader(id), verdicts);
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
        let grant = self.options.grant_ms;
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
        self.end_all(|row| *row.principal == *principal, &error, now)
    }

    /// Ends the subscriptions to an event type: it was removed, or its schema has changed.
    #[expect(clippy::missing_errors_doc, reason = "as of new")]
    pub fn handle_ended(
        &mut self,
        name: &EventName,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.end_all(|row| row.name == *name, error, now)
    }

    fn end_all(
        &mut self,
        is_one: impl Fn(&Subscription) -> bool,
        error: &EventError,
        now: Millis,
    ) -> Result<(), S::Error> {
        self.begin_burst(now);
        let members = self.roster.iter().filter(|(_, one)| is_one(&one.row));
        let ids: Vec<String> = members.map(|(id, _)| id.to_string()).collect();
        for id in ids {
            self.end(&id, error, now)?;
        }
        self.advance(now)
    }

    /// Checks that a subscription may be added.
    fn check_quota(&self, subscribe: &Subscribe, now: Millis) -> Result<(), EventError> {
        if self.live(&subscribe.id, now).is_some() {
            return Ok(());
        }
        let principal = &subscribe.principal;
        let own = self
            .roster
            .iter()
            .filter(|(_, one)| one.row.principal == *principal && one.row.is_live(now));
        let own = own.count() + self.calls.count(principal);
        for (count, max) in [
            (own, self.options.max_per_principal),
            (subscribe.total, self.options.max_total),
        ] {
            if count >= max {
                return Err(exhausted("subscriptions", max));
            }
        }
        Ok(())
    }

    /// Returns until when the consent of an endpoint holds; `None` if it has to be asked.
    #[expect(clippy::option_option, reason = "allowed endpoints need no consent")]
    fn consent(
        &mut self,
        subscribe: &Subscribe,
        now: Millis,
    ) -> Result<Option<Option<Millis>>, EventError> {
        if subscribe.is_allowed {
            return Ok(Some(None));
        }
        let rows = self.roster.iter().map(|(_, member)| &member.row);
        let vouching = rows.filter(|row| row.vouches(&subscribe.principal, &subscribe.url, now));
        let until = vouching.filter_map(|row| row.verified_until).max();
        if until.is_none() {
            self.calls.challenge(subscribe, now)?;
        }
        Ok(until.map(Some))
    }

    /// Asks an endpoint for its consent.
    fn verify(&mut self, call: u32, subscribe: Subscribe, now: Millis) {
        let of = (&*subscribe.id, &*subscribe.host);
        let post = Post {
            post: self.flights.start(of, What::Verification(call), now),
            kind: MessageKind::Verification,
            subscription: subscribe.id.clone(),
            message: message_id(MessageKind::Verification, &subscribe.id, now),
            url: subscribe.url.clone(),
            body: envelope::verification(&subscribe.challenge),
            secrets: vec![subscribe.secret.clone()],
        };
        self.posts.push(Output::Post(post));
        let waiting = Call {
            subscribe,
            verified_until: None,
        };
        self.calls.insert(call, waiting);
    }

    /// Handles the response of an endpoint to a challenge.
    fn verified(&mut self, call: u32, outcome: &Outcome, now: Millis) -> Result<(), S::Error> {
        let Some(mut waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let challenge = &waiting.subscribe.challenge;
        let failure = match outcome {
            Outcome::Failure(failure) => *failure,
            Outcome::Response(_) => Failure::ChallengeFailed,
        };
        if !outcome.body().is_some_and(|body| is_echo(body, challenge)) {
            let error = EventError::CallbackEndpoint(failure.name().into());
            self.answer(call, Err(error));
            return Ok(());
        }
        waiting.verified_until = Some(now + CONSENT);
        self.open(call, waiting, now)
    }

    /// Renews a subscription, or finds out where a new one begins.
    fn open(&mut self, call: u32, waiting: Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        if self.live(&subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        let nowhere = Mark {
            epoch: "".into(),
            position: Position(0),
        };
        let of = Of::Call(call);
        let read = self.pages.begin(&subscribe.name, &nowhere, of, now);
        let question = Question {
            name: subscribe.name.clone(),
            cursor: subscribe.cursor.clone(),
            max_age_ms: subscribe.max_age_ms,
            groups: subscribe.groups.clone(),
            max_events: 1,
            max_bytes: 1,
            max_scan: 1,
        };
        self.outputs.push_back(Output::Read { read, question });
        self.calls.insert(call, waiting);
        Ok(())
    }

    /// Makes a subscription that begins with a page.
    fn opened(&mut self, call: u32, page: &Page, now: Millis) -> Result<(), S::Error> {
        let Some(waiting) = self.calls.take(call) else {
            return Ok(());
        };
        let subscribe = &waiting.subscribe;
        if self.live(&subscribe.id, now).is_some() {
            return self.renew(call, &waiting, now);
        }
        self.remove(&subscribe.id)?;
        let row = Subscription::new(subscribe, page.mark_at(page.from));
        let expected = self.matches.expected(&row.name, &row.arguments);
        if self.roster.add(&subscribe.id, row, expected) {
            let follow = Output::Follow(subscribe.name.clone());
            self.outputs.push_back(follow);
        }
        if let Some(named) = self.roster.named_mut(&subscribe.name) {
            named.note_head(page.mark_at(page.head));
        }
        self.grant(&waiting, now)?;
        let granted = self.granted(&subscribe.id, page.is_truncated(), false);
        self.answer(call, Ok(granted));
        Ok(())
    }

    fn renew(&mut self, call: u32, waiting: &Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let cursor = subscribe.cursor.as_deref();
        let cursor = cursor.and_then(crate::events::cursor::from_text);
        let mut is_truncated = false;
        if let Some(member) = self.roster.get_mut(&subscribe.id) {
            let progress = &mut member.row.progress;
            if let Some(mark) = cursor.filter(|mark| *mark.epoch == *progress.epoch()) {
                progress.skip(mark.position);
            }
            is_truncated = progress.tell_truncated(now);
        }
        self.grant(waiting, now)?;
        let granted = self.granted(&subscribe.id, is_truncated, true);
        self.answer(call, Ok(granted));
        Ok(())
    }

    /// Applies the terms of a call, and stores the subscription.
    fn grant(&mut self, waiting: &Call, now: Millis) -> Result<(), S::Error> {
        let subscribe = &waiting.subscribe;
        let until = self.options.terms.until(subscribe.ttl, now);
        let authorize_at = self.options.grant_ms.map(|grant| now + grant);
        let former = self.roster.groups(&subscribe.name);
        if let Some(member) = self.roster.get_mut(&subscribe.id) {
            member.row.grant(subscribe, until, now);
            member.row.verified_until = waiting.verified_until;
            member.row.authorize_at = authorize_at;
            member.asked_at = None;
        }
        self.pages.forget_reader(&subscribe.id);
        if former != self.roster.groups(&subscribe.name) {
            self.pages.forget_name(&subscribe.name);
        }
        self.roster.put(&subscribe.id)
    }

    fn granted(&self, id: &str, is_truncated: bool, is_renewed: bool) -> String {
        let Some(member) = self.roster.get(id) else {
            return String::from("{}");
        };
        let progress = &member.row.progress;
        let granted = Granted {
            id,
            until: member.row.until,
            watermark: progress.watermark(),
            is_truncated,
            status: is_renewed.then(|| DeliveryStatus {
                is_throttled: progress.is_throttled(),
                failing_since: progress.failing_since(),
                last_failure: progress.last_failure(),
            }),
        };
        granted.to_json()
    }

    /// Removes a message that was sent, and handles what came of it.
    fn settle(
        &mut self,
        post: u32,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(flight) = self.flights.end(post) else {
            return Ok(());
        };
        let id = flight.subscription;
        match flight.what {
            What::Event(mark) => self.settle_event(&id, &mark, outcome, now, random)?,
            What::Gap(at) => self.settle_gap(&id, at, outcome, now, random),
            What::Terminated => self.settle_end(&id, outcome, now, random)?,
            What::Verification(call) => self.verified(call, outcome, now)?,
        }
        self.queue(&id);
        Ok(())
    }

    fn settle_event(
        &mut self,
        id: &str,
        mark: &Mark,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let Some(member) = self.roster.get_mut(id) else {
            return Ok(());
        };
        let row = &mut member.row;
        if *row.progress.epoch() != *mark.epoch {
            return Ok(());
        }
        match outcome.verdict() {
            outcome::Verdict::Accepted => row.progress.succeed(mark.position, now),
            outcome::Verdict::Declined(failure) => row.progress.decline(mark.position, failure),
            outcome::Verdict::Failed {
                failure,
                status,
                retry_after,
            } => {
                let failed = Failed {
                    failure,
                    retry_after,
                    is_excused: row.excuses(status, now),
                };
                row.progress.fail(mark.position, failed, now, random);
            }
        }
        let failing = row.progress.failing_since().filter(|_| row.until.is_none());
        match (failing, row.progress.last_failure()) {
            (Some(since), Some(failure)) if since + PATIENCE <= now => {
                let error = EventError::CallbackEndpoint(failure.name().into());
                self.end(id, &error, now)
            }
            _ => Ok(()),
        }
    }

    fn settle_gap(&mut self, id: &str, at: Millis, outcome: &Outcome, now: Millis, random: f64) {
        if let Some(member) = self.roster.get_mut(id) {
            let progress = &mut member.row.progress;
            match outcome.verdict() {
                outcome::Verdict::Failed { .. } => progress.fail_gap(at, now, random),
                _ => progress.settle_gap(at),
            }
        }
    }

    fn settle_end(
        &mut self,
        id: &str,
        outcome: &Outcome,
        now: Millis,
        random: f64,
    ) -> Result<(), S::Error> {
        let member = self.roster.get_mut(id);
        let Some(ending) = member.and_then(|member| member.row.ending.as_mut()) else {
            return Ok(());
        };
        let is_sent_again = match outcome.verdict() {
            outcome::Verdict::Failed { retry_after, .. } => ending.fail(retry_after, now, random),
            _ => false,
        };
        if is_sent_again {
            self.roster.put(id)
        } else {
            self.remove(id)
        }
    }

    /// Takes a page for the subscriptions to its name.
    fn take_page(&mut self, read: Read, page: Page, now: Millis) {
        let Read { name, after, .. } = read;
        let end = page.mark_at(page.head);
        for id in self.roster.ids(&name) {
            if let Some(member) = self.roster.get_mut(&id) {
                member.row.progress.meet(&after, &page, now);
            }
        }
        if let Some(named) = self.roster.named_mut(&name) {
            named.note_head(end);
            named.is_unread = false;
            named.failures = 0;
        }
        self.pages
            .keep(name.clone(), page, self.roster.readers(&name));
        self.queue_name(&name);
    }

    fn fail_read(&mut self, read: u32, now: Millis, random: f64) {
        let Some(read) = self.pages.end(read) else {
            return;
        };
        if let Of::Call(call) = read.of {
            if self.calls.take(call).is_some() {
                self.answer(call, Err(EventError::Internal("bus".into())));
            }
            return;
        }
        if let Some(named) = self.roster.named_mut(&read.name) {
            let wait = SHORTEST.0 << named.failures.min(MAX_DOUBLINGS);
            named.failures = named.failures.saturating_add(1);
            named.not_before = now + spread(Millis(wait), random);
        }
    }

    /// Ends a subscription: its last message is sent next.
    fn end(&mut self, id: &str, error: &EventError, now: Millis) -> Result<(), S::Error> {
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

    fn remove(&mut self, id: &str) -> Result<(), S::Error> {
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
    fn live(&self, id: &str, now: Millis) -> Option<&Subscription> {
        let row = self.roster.get(id).map(|member| &member.row);
        row.filter(|row| row.is_live(now))
    }

    fn answer(&mut self, call: u32, reply: Result<String, EventError>) {
        self.outputs.push_back(Output::Answer { call, reply });
    }

    fn begin_burst(&mut self, now: Millis) {
        if self.is_idle() {
            self.flights.begin_burst(now);
        }
    }
}

fn message_id(kind: MessageKind, subscription: &str, at: Millis) -> Box<str> {
    let of = subscription.trim_start_matches("sub_");
    format!("msg_{}_{of}_{}", kind.name(), at.0).into_boxed_str()
}

/// The wait before the log is read again, if reading it failed: doubled up to a minute.
const SHORTEST: Millis = Millis(1_000);
const MAX_DOUBLINGS: u32 = 6;
