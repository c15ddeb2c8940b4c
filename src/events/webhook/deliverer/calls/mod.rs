//! Calls that make and renew subscriptions.

mod consent;
mod subscribe;

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use crate::{clock::Millis, events::error::EventError, sorted::Map};

use super::{super::subscribe::SubscribeRequest, disconnect::Disconnect};

/// The calls that wait for an endpoint or the log, and the challenges of the last minute.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: Map<u32, SubscribeCall>,
    /// The calls whose challenge is not sent yet.
    unsent: VecDeque<u32>,
    challenges: VecDeque<Challenge>,
    /// The subscribers that were disconnected in the last minute, and when.
    disconnects: Vec<(Box<str>, Disconnect)>,
}

/// A call that makes or renews a subscription.
#[derive(Debug)]
pub(super) struct SubscribeCall {
    pub(super) subscribe: SubscribeRequest,
    /// When the deliverer received it.
    pub(super) began: Millis,
    /// Until when the consent of the endpoint holds; `None` if it needs none.
    pub(super) verified_until: Option<Millis>,
}

#[derive(Debug)]
struct Challenge {
    at: Millis,
    principal: Box<str>,
    host: Box<str>,
}

impl Calls {
    pub(super) fn insert(&mut self, number: u32, call: SubscribeCall) {
        self.waiting.insert(number, call);
    }

    /// Inserts a call whose endpoint has to be asked for its consent.
    pub(super) fn insert_unsent(&mut self, number: u32, call: SubscribeCall) {
        self.insert(number, call);
        self.unsent.push_back(number);
    }

    /// Removes the numbers of the calls whose challenge is not sent yet.
    pub(super) fn take_unsent(&mut self) -> VecDeque<u32> {
        core::mem::take(&mut self.unsent)
    }

    /// Has the challenges of calls sent later.
    pub(super) fn keep_unsent(&mut self, unsent: VecDeque<u32>) {
        self.unsent = unsent;
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(super) fn get(&self, number: u32) -> Option<&SubscribeCall> {
        self.waiting.get(&number)
    }

    pub(super) fn take(&mut self, number: u32) -> Option<SubscribeCall> {
        self.waiting.remove(&number)
    }

    /// Removes the calls for which `is_taken` returns true. Returns their numbers.
    pub(super) fn take_all(&mut self, is_taken: impl Fn(&SubscribeCall) -> bool) -> Vec<u32> {
        let calls = self.waiting.iter();
        let taken = calls.filter(|(_, call)| is_taken(call));
        let numbers: Vec<u32> = taken.map(|(number, _)| *number).collect();
        self.waiting.retain(|number, _| !numbers.contains(number));
        numbers
    }

    /// Returns the number of waiting calls of a principal.
    pub(super) fn count(&self, principal: &str) -> usize {
        let calls = self.waiting.values();
        calls
            .filter(|call| *call.subscribe.principal == *principal)
            .count()
    }

    /// Returns the number of calls.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Records that a subscriber was disconnected.
    pub(super) fn disconnect(&mut self, principal: &str, disconnect: Disconnect, now: Millis) {
        self.disconnects
            .retain(|(_, known)| known.at + MINUTE > now);
        self.disconnects.push((principal.into(), disconnect));
    }

    /// Checks that the subscriber was not disconnected since the server received the call.
    ///
    /// # Errors
    /// [`EventError::Forbidden`] if it was.
    pub(super) fn check_access(&self, subscribe: &SubscribeRequest) -> Result<(), EventError> {
        let is_disconnected = |(principal, known): &(Box<str>, Disconnect)| {
            *principal == subscribe.principal && subscribe.asked_at <= known.published_at
        };
        if self.disconnects.iter().any(is_disconnected) {
            return Err(EventError::Forbidden { reason: None });
        }
        Ok(())
    }

    /// Records that an endpoint is asked for its consent.
    ///
    /// # Errors
    /// [`EventError::ResourceExhausted`] if that happens too often.
    pub(super) fn challenge(
        &mut self,
        subscribe: &SubscribeRequest,
        now: Millis,
    ) -> Result<(), EventError> {
        self.challenges
            .retain(|challenge| challenge.at + MINUTE > now);
        let count = |is_counted: &dyn Fn(&Challenge) -> bool| {
            let challenges = self.challenges.iter();
            challenges.filter(|challenge| is_counted(challenge)).count()
        };
        let own = count(&|challenge| challenge.principal == subscribe.principal);
        let of_host = count(&|challenge| challenge.host == subscribe.host);
        for (count, max) in [
            (own, MAX_PER_PRINCIPAL),
            (of_host, MAX_PER_HOST),
            (self.challenges.len(), MAX_TOTAL),
        ] {
            if count >= max {
                return Err(exhausted("challenges", max));
            }
        }
        self.challenges.push_back(Challenge {
            at: now,
            principal: subscribe.principal.clone(),
            host: subscribe.host.clone(),
        });
        Ok(())
    }
}

pub(super) fn exhausted(limit: &'static str, max: usize) -> EventError {
    EventError::ResourceExhausted {
        limit: limit.into(),
        max: max as u64,
    }
}

const MINUTE: Millis = Millis(60_000);
/// Maximum number of challenges a minute: for one subscriber, to one host, and in total.
const MAX_PER_PRINCIPAL: usize = 10;
const MAX_PER_HOST: usize = 60;
const MAX_TOTAL: usize = 600;
