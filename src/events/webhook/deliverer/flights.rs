use alloc::{boxed::Box, vec::Vec};

use crate::{clock::Millis, sorted::Map, vocabulary::position::Cursor};

/// The messages that are being sent, and how many more may be.
#[derive(Debug, Default)]
pub(super) struct Flights {
    sent: Map<u32, Flight>,
    /// The messages that count to the limit of a host.
    hosts: Map<Box<str>, usize>,
    next: u32,
    /// When the current burst began, and the messages that were sent in it.
    burst: (Millis, usize),
}

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) subscription: Box<str>,
    pub(super) what: What,
    host: Box<str>,
    at: Millis,
}

/// What a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The occurrence at this position.
    Event(Cursor),
    /// The gap that was noticed at this time.
    Gap(Millis),
    /// The end of the subscription.
    Terminated,
    /// The consent of the endpoint, for this call.
    Verification(u32),
}

/// Whether another message may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// Not to this host.
    HostFull,
    Full,
}

impl Flights {
    /// Whether a message may be sent to a host now.
    pub(super) fn room(&self, host: &str, now: Millis) -> Room {
        if self.sent.len() >= MAX_FLIGHTS || self.is_burst_over(now) {
            return Room::Full;
        }
        match self.hosts.get(host) {
            Some(count) if *count >= MAX_PER_HOST => Room::HostFull,
            _ => Room::Free,
        }
    }

    /// Records that a message is being sent. Returns its number.
    pub(super) fn start(
        &mut self,
        (subscription, host): (&str, &str),
        what: What,
        now: Millis,
    ) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.burst.1 += 1;
        if let Some(count) = self.hosts.or_default(host.into()) {
            *count += 1;
        }
        let flight = Flight {
            subscription: subscription.into(),
            host: host.into(),
            what,
            at: now,
        };
        self.sent.insert(number, flight);
        number
    }

    /// Removes a message whose outcome is known.
    pub(super) fn end(&mut self, number: u32) -> Option<Flight> {
        let flight = self.sent.remove(&number)?;
        if let Some(count) = self.hosts.get_mut(&*flight.host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&*flight.host);
            }
        }
        Some(flight)
    }

    /// Returns the messages whose outcome did not arrive in time.
    pub(super) fn overdue(&self, now: Millis) -> Vec<u32> {
        let sent = self.sent.iter();
        let overdue = sent.filter(|(_, flight)| flight.at + GUARD <= now);
        overdue.map(|(number, _)| *number).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Begins a burst: the host has begun to work.
    pub(super) fn begin_burst(&mut self, now: Millis) {
        self.burst = (now, 0);
    }

    /// Whether the invocation has reached its limit of time or requests.
    pub(super) fn is_burst_over(&self, now: Millis) -> bool {
        let (began, sent) = self.burst;
        began + BURST <= now || sent >= MAX_PER_BURST
    }
}

/// Maximum number of messages that are being sent.
const MAX_FLIGHTS: usize = 6;
/// Maximum number of messages that are being sent to one host.
const MAX_PER_HOST: usize = 2;
/// Maximum duration of one invocation.
const BURST: Millis = Millis(10_000);
/// Maximum number of messages of one invocation: below the requests that it may make.
const MAX_PER_BURST: usize = 500;
/// A message whose outcome is unknown for this long counts as lost: the host gives up after 10 s.
pub(super) const GUARD: Millis = Millis(30_000);
