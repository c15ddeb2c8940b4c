use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, sorted::Map, vocabulary::position::Cursor};

/// The messages that are being sent, and how many more may be.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    messages: Map<u32, InFlightMessage>,
    next: u32,
    /// When the current invocation of the host began, and the messages that it has sent.
    invocation: (Millis, usize),
}

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct InFlightMessage {
    pub(super) subscription: Box<str>,
    pub(super) content: Content,
    pub(super) route: Destination,
    at: Millis,
    /// Whether an earlier message to its host took long when it began.
    is_behind: bool,
}

/// For whom a message is sent, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) principal: Box<str>,
    pub(super) host: Box<str>,
    /// Whether the last message to the host took long.
    pub(super) is_slow: bool,
}

/// What a message reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The occurrence at this position.
    Event(Cursor),
    /// The gap that was noticed at this time.
    Gap(Millis),
    /// The end of the subscription.
    Terminated,
    /// The challenge that asks the endpoint for its consent, for this call.
    Verification(u32),
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

/// How fast a host responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Prompt,
    /// The last message did not take long, but a present one does.
    Late,
    /// The last message took long.
    Slow,
}

impl InFlight {
    /// Checks that a message may be sent now. Messages to slow hosts have only a part of the
    /// places; the others are left to hosts that respond. For either, more places have to be free
    /// than the subscriber has there, so one that becomes free goes to a subscriber that has none.
    /// The last of all places is for a subscriber without any message.
    pub(super) fn check_room(&self, route: &Destination, now: Millis) -> Result<(), Limit> {
        let count = self.messages.len();
        if count >= MAX_IN_FLIGHT || self.is_invocation_over(now) {
            return Err(Limit::Total);
        }
        let pace = self.pace(route, now);
        let is_slow = pace != Pace::Prompt;
        let (mut to_host, mut own, mut own_alike, mut slow, mut late) = (0, 0, 0, 0, 0);
        for message in self.messages.values() {
            let is_own = message.route.principal == route.principal;
            let was_slow = message.route.is_slow;
            let is_now_slow = !was_slow && (message.is_behind || message.is_late(now));
            to_host += usize::from(message.route.host == route.host);
            own += usize::from(is_own);
            own_alike += usize::from(is_own && (is_now_slow || was_slow == is_slow));
            slow += usize::from(was_slow);
            late += usize::from(is_now_slow);
        }
        if route.is_slow {
            late = late.min(MAX_SLOW - 1);
        }
        let (taken, places) = if is_slow {
            (slow + late, MAX_SLOW)
        } else {
            (count, MAX_IN_FLIGHT)
        };
        let is_last = count + 1 == MAX_IN_FLIGHT;
        let is_shared = own_alike + taken < places && (own == 0 || !is_last);
        if to_host >= MAX_PER_HOST {
            Err(Limit::Host(route.host.clone()))
        } else if own < MAX_PER_PRINCIPAL && is_shared {
            Ok(())
        } else if own == 0 {
            Err(Limit::Pace(pace))
        } else {
            Err(Limit::Caller(route.principal.clone(), pace))
        }
    }

    fn pace(&self, route: &Destination, now: Millis) -> Pace {
        if route.is_slow {
            Pace::Slow
        } else if self.is_late(route, now) {
            Pace::Late
        } else {
            Pace::Prompt
        }
    }

    /// Returns the number of messages that take long now, to hosts that were not slow before.
    pub(super) fn count_late(&self, now: Millis) -> usize {
        let messages = self.messages.values();
        let late = messages.filter(|message| !message.route.is_slow && message.is_late(now));
        late.count()
    }

    /// Whether a message to a host takes long now.
    fn is_late(&self, route: &Destination, now: Millis) -> bool {
        let mut messages = self.messages.values();
        messages.any(|message| message.route.host == route.host && message.is_late(now))
    }

    /// Records that a message is being sent. Returns its number.
    pub(super) fn start(
        &mut self,
        (subscription, route): (&str, Destination),
        content: Content,
        now: Millis,
    ) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.invocation.1 += 1;
        let message = InFlightMessage {
            subscription: subscription.into(),
            is_behind: self.is_late(&route, now),
            route,
            content,
            at: now,
        };
        self.messages.insert(number, message);
        number
    }

    /// Removes a message whose outcome is known.
    pub(super) fn end(&mut self, number: u32) -> Option<InFlightMessage> {
        self.messages.remove(&number)
    }

    /// Returns the messages whose outcome did not arrive in time.
    pub(super) fn overdue(&self, now: Millis) -> Vec<u32> {
        let messages = self.messages.iter();
        let overdue = messages.filter(|(_, message)| message.at + MAX_WAIT <= now);
        overdue.map(|(number, _)| *number).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Handles that the host has begun an invocation.
    pub(super) fn begin_invocation(&mut self, now: Millis) {
        self.invocation = (now, 0);
    }

    /// Whether the invocation has reached its limit of time or requests.
    pub(super) fn is_invocation_over(&self, now: Millis) -> bool {
        let (began, sent) = self.invocation;
        began + MAX_INVOCATION <= now || sent >= MAX_PER_INVOCATION
    }
}

impl InFlightMessage {
    /// Whether it takes long, because its host is slow.
    pub(super) fn is_late(&self, now: Millis) -> bool {
        self.at + SLOW_AFTER < now
    }
}

/// Maximum number of messages that are being sent.
const MAX_IN_FLIGHT: usize = 6;
/// Maximum number of messages that are being sent to one host.
const MAX_PER_HOST: usize = 2;
/// Maximum number of messages that are being sent for one subscriber, with challenges; fewer while
/// those of others are, see [`InFlight::check_room`].
pub(super) const MAX_PER_PRINCIPAL: usize = MAX_IN_FLIGHT / 2;
/// Maximum number of messages that are being sent to slow hosts. Messages to hosts that are slow
/// only since they began count, too, but leave one place to hosts that were slow before.
const MAX_SLOW: usize = MAX_IN_FLIGHT / 2;
/// A message without a response takes long after this time.
const SLOW_AFTER: Millis = Millis(1_000);
/// Maximum duration of one invocation.
const MAX_INVOCATION: Millis = Millis(10_000);
/// Maximum number of messages of one invocation: below the requests that it may make.
const MAX_PER_INVOCATION: usize = 500;
/// A message or a read without an outcome for this long counts as lost: the host gives up after
/// 10 s.
pub(super) const MAX_WAIT: Millis = Millis(30_000);
