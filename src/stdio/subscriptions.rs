use std::collections::{BTreeMap, VecDeque};

use crate::{
    capabilities::Discovered,
    clock::Millis,
    edge::Edge,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{Accepted, Output},
};

/// One subscription of a channel, as the channel numbers them: an id that a client uses again is another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u32);

/// The subscriptions of one channel, and whose turn it is to write.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_number: BTreeMap<Number, Subscription>,
    numbers: BTreeMap<RequestId, Number>,
    turns: VecDeque<Number>,
    next: u32,
}

#[derive(Debug)]
pub(super) struct Subscription {
    accepted: Accepted,
    /// The stream, once the host has said what it may hear.
    edge: Option<Edge>,
    is_acknowledged: bool,
    has_turn: bool,
}

impl Subscriptions {
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.numbers.contains_key(id)
    }

    pub(super) fn number_of(&self, id: &RequestId) -> Option<Number> {
        self.numbers.get(id).copied()
    }

    pub(super) fn all(&self) -> Vec<Number> {
        self.by_number.keys().copied().collect()
    }

    pub(super) fn insert(&mut self, accepted: Accepted) -> Number {
        let number = Number(self.next);
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(accepted.id.clone(), number);
        let subscription = Subscription {
            accepted,
            edge: None,
            is_acknowledged: false,
            has_turn: false,
        };
        self.by_number.insert(number, subscription);
        number
    }

    pub(super) fn remove(&mut self, number: Number) -> Option<Subscription> {
        let subscription = self.by_number.remove(&number)?;
        self.numbers.remove(subscription.id());
        Some(subscription)
    }

    /// The subscription, to be changed: it gets a turn, for it may have something to say after that.
    pub(super) fn change(&mut self, number: Number) -> Option<&mut Subscription> {
        let subscription = self.by_number.get_mut(&number)?;
        if !std::mem::replace(&mut subscription.has_turn, true) {
            self.turns.push_back(number);
        }
        Some(subscription)
    }

    /// What the next subscription that has something to say writes; they take turns.
    pub(super) fn poll_message(&mut self) -> Option<(Number, String)> {
        loop {
            let number = self.turns.pop_front()?;
            let Some(subscription) = self.by_number.get_mut(&number) else {
                continue;
            };
            if let Some(message) = subscription.poll_message() {
                self.turns.push_back(number);
                return Some((number, message));
            }
            subscription.has_turn = false;
        }
    }

    /// Whether the subscription has said all: its id is then free, as its client knows.
    pub(super) fn has_ended(&mut self, number: Number) -> bool {
        let subscription = self.by_number.get_mut(&number);
        let edge = subscription.and_then(Subscription::edge);
        edge.is_some_and(|edge| edge.stream().is_ending())
    }
}

impl Subscription {
    pub(super) fn id(&self) -> &RequestId {
        &self.accepted.id
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.is_acknowledged
    }

    /// Whether the client's request still waits for the host or the bus.
    pub(super) fn is_opening(&mut self) -> bool {
        self.edge
            .as_mut()
            .is_none_or(|edge| edge.stream().is_opening())
    }

    /// The filter to register with the bus; `None` where nothing is honored, or it is open already.
    pub(super) fn open(
        &mut self,
        told: &Discovered,
        authorized: Option<&SubscriptionFilter>,
    ) -> Option<SubscriptionFilter> {
        if self.edge.is_some() {
            return None;
        }
        let stream = self.accepted.open(told, authorized, NEVER, NOW);
        let honored = stream.honored().clone();
        let edge = self.edge.insert(Edge::new(stream));
        if honored.is_empty() {
            edge.finish_without_bus(NOW);
        }
        (!honored.is_empty()).then_some(honored)
    }

    pub(super) fn edge(&mut self) -> Option<&mut Edge> {
        self.edge.as_mut()
    }

    fn poll_message(&mut self) -> Option<String> {
        let Output::Message(message) = self.edge.as_mut()?.stream().poll_output(NOW)? else {
            return None;
        };
        self.is_acknowledged = true;
        Some(message)
    }
}

/// stdio has no keep-alives, so its streams need no clock.
const NEVER: Millis = Millis(0);
pub(super) const NOW: Millis = Millis(0);
