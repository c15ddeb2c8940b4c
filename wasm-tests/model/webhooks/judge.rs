use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    clock::Millis,
    events::{
        cursor,
        webhook::{Failure, MessageKind, Outcome, Post},
    },
};

use super::{log::Log, subscriber::Subscriber};

/// Knows what was sent and accepted, and panics if a promise is broken.
#[derive(Debug, Default)]
pub(super) struct Judge {
    subscriptions: BTreeMap<Box<str>, Judged>,
    consents: BTreeSet<Box<str>>,
    /// The messages that are being sent.
    in_flight: BTreeMap<u32, InFlight>,
    /// The subscriptions whose last message has timed out, since the deliverer has begun, and their
    /// hosts: no later message to the host has had a response.
    slow: BTreeMap<Box<str>, usize>,
    pub(super) tally: Tally,
}

/// A message that is being sent.
#[derive(Debug)]
struct InFlight {
    subscription: Box<str>,
    host: usize,
    is_challenge: bool,
    /// Whether its subscription was slow when it was sent.
    is_slow: bool,
}

#[derive(Debug, Default)]
struct Judged {
    /// The position after which it began, by its first response.
    begun: Option<u64>,
    responded_at: Option<Millis>,
    /// The first and the last occurrence that was ever sent.
    first: u64,
    last: u64,
    accepted: BTreeSet<u64>,
    attempts: BTreeMap<u64, u32>,
    /// Up to where the watermark was found right.
    checked: u64,
    /// The cursors of the gaps that endpoint or subscriber know of.
    gaps: BTreeSet<u64>,
}

/// What a run counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) seed: u64,
    pub(super) published: u64,
    pub(super) accepted: u64,
    pub(super) failures: u64,
    pub(super) crashes: u64,
    /// The occurrences that an endpoint did not accept, but knows of.
    pub(super) abandoned: u64,
    /// Those that it knows nothing of.
    pub(super) lost: u64,
}

impl Judge {
    /// Handles that a subscription was subscribed up to a watermark.
    pub(super) fn subscribed(&mut self, own: &Subscriber, result: &str, log: &Log, now: Millis) {
        let watermark = position_after(result, "\"cursor\":\"");
        let judged = self.subscriptions.entry(own.id()).or_default();
        let begun = *judged.begun.get_or_insert(watermark);
        judged.responded_at = Some(now);
        if result.contains("\"truncated\":true") {
            judged.gaps.insert(begun);
        }
        judged.check_watermark(watermark, own, log);
    }

    /// Handles that a message is being sent.
    pub(super) fn sent(
        &mut self,
        (post, own): (&Post, &Subscriber),
        log: &Log,
        alarm: Option<Millis>,
        now: Millis,
    ) {
        let guard = alarm.expect("no message without an alarm");
        assert!(guard <= now + Millis(30_000), "an alarm that is near");
        assert!(!post.secrets.is_empty(), "each message is signed");
        assert_eq!(
            post.url,
            own.url(),
            "a message goes to its subscriber's url"
        );
        self.board(post, own);
        if post.kind == MessageKind::Verification {
            return;
        }
        assert!(
            self.consents.contains(&own.url()),
            "no message without consent"
        );
        let judged = self.subscriptions.entry(own.id()).or_default();
        let pause = judged
            .responded_at
            .is_none_or(|at| at + Millis(1_000) <= now);
        assert!(pause, "no message right after the response");
        if post.kind == MessageKind::Event {
            judged.check_event(post, own, log);
        }
    }

    /// Counts a message to the limits of object, host, subscription and caller, and of slow hosts.
    fn board(&mut self, post: &Post, own: &Subscriber) {
        let message = InFlight {
            subscription: own.id(),
            host: own.host(),
            is_challenge: post.kind == MessageKind::Verification,
            is_slow: self.slow.contains_key(&own.id()) && post.kind != MessageKind::Verification,
        };
        self.in_flight.insert(post.post, message);
        let count = |is_counted: &dyn Fn(&InFlight) -> bool| {
            let messages = self.in_flight.values();
            messages.filter(|message| is_counted(message)).count()
        };
        let is_few = self.in_flight.len() <= 6
            && count(&|one| one.host == own.host()) <= 2
            && count(&|one| one.subscription == own.id()) <= 2
            && count(&|one| one.host / 2 == own.host() / 2) <= 3
            && count(&|one| one.is_slow) <= 3;
        assert!(is_few, "few messages are sent at the same time");
    }

    /// Handles what an endpoint did with a message.
    pub(super) fn handled(&mut self, post: &Post, own: &Subscriber, is_done: bool) {
        let judged = self.subscriptions.entry(own.id()).or_default();
        match post.kind {
            MessageKind::Verification if is_done => drop(self.consents.insert(own.url())),
            MessageKind::Event if is_done => {
                judged.accepted.insert(id_of(post));
                self.tally.accepted += 1;
            }
            MessageKind::Gap if is_done => {
                judged
                    .gaps
                    .insert(position_after(&post.body, "\"cursor\":\""));
            }
            _ => self.tally.failures += 1,
        }
    }

    /// Handles that the deliverer knows the outcome of a message.
    pub(super) fn settled(&mut self, post: u32, outcome: &Outcome) {
        let Some(message) = self.in_flight.remove(&post) else {
            return;
        };
        let has_timed_out = matches!(outcome, Outcome::Failure(Failure::Timeout));
        if !has_timed_out {
            self.slow.retain(|_, host| *host != message.host);
        } else if !message.is_challenge {
            self.slow.insert(message.subscription, message.host);
        }
    }

    /// Handles that the deliverer begins again.
    pub(super) fn restarted(&mut self) {
        self.in_flight.clear();
        self.slow.clear();
    }

    pub(super) fn crashed(&mut self) {
        self.restarted();
        self.tally.crashes += 1;
    }

    /// Counts what each subscriber did not receive.
    pub(super) fn end(&mut self, subscribers: &[Subscriber], log: &Log) {
        for own in subscribers {
            let judged = self.subscriptions.entry(own.id()).or_default();
            let begun = judged.begun.expect("a subscription");
            for position in owed(own, log, begun, log.head().position.0) {
                if judged.accepted.contains(&position) {
                    continue;
                }
                let is_known = judged.gaps.iter().any(|gap| *gap < position);
                let attempts = judged.attempts.get(&position).copied();
                let is_tried = attempts.is_some_and(|count| count >= 5);
                assert!(
                    is_tried,
                    "nothing is abandoned before its fifth attempt: {position} after {attempts:?}"
                );
                self.tally.abandoned += u64::from(is_known);
                self.tally.lost += u64::from(!is_known);
            }
        }
    }
}

impl Judged {
    fn check_event(&mut self, post: &Post, own: &Subscriber, log: &Log) {
        let position = id_of(post);
        if self.first == 0 {
            self.first = position;
            self.last = position - 1;
        }
        let is_own = owed(own, log, position - 1, position).next().is_some();
        assert!(is_own, "only what the subscription receives");
        if position > self.last {
            let skipped = owed(own, log, self.last, position - 1).next();
            assert_eq!(skipped, None, "first attempts are in order");
            self.last = position;
        }
        *self.attempts.entry(position).or_default() += 1;
        let watermark = position_after(&post.body, "\"cursor\":\"");
        assert!(
            watermark < position,
            "the watermark is before what is being sent"
        );
        self.check_watermark(watermark, own, log);
    }

    fn check_watermark(&mut self, watermark: u64, own: &Subscriber, log: &Log) {
        let begun = self.begun.unwrap_or(watermark).max(self.checked);
        self.checked = begun.max(watermark);
        for position in owed(own, log, begun, watermark) {
            let attempts = self.attempts.get(&position).copied().unwrap_or_default();
            let is_done = self.accepted.contains(&position) || attempts >= 5;
            assert!(
                is_done,
                "the watermark passes only what is done: {watermark} is after {position}"
            );
        }
    }
}

/// Returns the positions of what a subscriber receives after one position and up to another.
fn owed<'l>(
    own: &'l Subscriber,
    log: &'l Log,
    after: u64,
    to: u64,
) -> impl Iterator<Item = u64> + 'l {
    let between = log.between(after, to);
    let owed = between.filter(|(position, one)| own.receives(*position, one));
    owed.map(|(position, _)| position)
}

/// Returns the position of the occurrence that a message is about.
fn id_of(post: &Post) -> u64 {
    let digits = post.message.rsplit('_').next().unwrap();
    digits.parse().unwrap()
}

/// Returns the position of the cursor that follows a text.
fn position_after(text: &str, begin: &str) -> u64 {
    let rest = text.split(begin).nth(1).unwrap();
    let cursor = rest.split('"').next().unwrap();
    cursor::from_text(cursor).unwrap().position.0
}
