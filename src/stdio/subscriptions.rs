use std::collections::VecDeque;

use crate::{
    capabilities::{Capabilities, Discovered},
    clock::Millis,
    edge::Edge,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{Accepted, Output, ServerStream, Stamp},
    sorted::Map,
    upstream::Past,
};

/// One subscription of a channel, as the channel numbers them: an id that a client uses again is another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u32);

/// The subscriptions of one channel, and whose turn it is to write.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_number: Map<Number, Subscription>,
    numbers: Map<RequestId, Number>,
    turns: VecDeque<Number>,
    next: u32,
}

#[derive(Debug)]
pub(super) struct Subscription {
    origin: Origin,
    /// The stream, once the host has said what it may hear.
    edge: Option<Edge>,
    is_acknowledged: bool,
    has_turn: bool,
}

/// Whose notifications they are.
#[derive(Debug)]
enum Origin {
    /// Those of a listen request.
    Listen(Accepted),
    /// Those of a client of an earlier revision.
    Session {
        /// What it is notified about: the lists, or one resource.
        requested: SubscriptionFilter,
        /// The request that asked for them, and its answer, until the bus has confirmed.
        held: Option<(RequestId, String)>,
    },
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
        let id = accepted.id.clone();
        let number = self.insert_of(Origin::Listen(accepted));
        self.numbers.insert(id, number);
        number
    }

    /// The notifications of a session: those of its lists, or those that a request with its answer asked for.
    pub(super) fn insert_unstamped(
        &mut self,
        requested: SubscriptionFilter,
        held: Option<(RequestId, String)>,
    ) -> Number {
        self.insert_of(Origin::Session { requested, held })
    }

    fn insert_of(&mut self, origin: Origin) -> Number {
        let number = Number(self.next);
        self.next = self.next.wrapping_add(1);
        let subscription = Subscription {
            origin,
            edge: None,
            is_acknowledged: false,
            has_turn: false,
        };
        self.by_number.insert(number, subscription);
        number
    }

    pub(super) fn remove(&mut self, number: Number) -> Option<Subscription> {
        let subscription = self.by_number.remove(&number)?;
        if let Origin::Listen(accepted) = &subscription.origin {
            self.numbers.remove(&accepted.id);
        }
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

    /// What the next subscription writes that has something to say, or nothing where it has said all and
    /// ends; they take turns. Those of a session are silent until `is_ready`.
    pub(super) fn poll_message(&mut self, is_ready: bool) -> Option<(Number, Option<String>)> {
        loop {
            let number = self.turns.pop_front()?;
            let Some(subscription) = self.by_number.get_mut(&number) else {
                continue;
            };
            let message = subscription.poll_message(is_ready);
            if message.is_some() {
                self.turns.push_back(number);
                return Some((number, message));
            }
            subscription.has_turn = false;
            if subscription.has_ended() {
                return Some((number, None));
            }
        }
    }

    /// Whether the subscription has said all: its id is then free, as its client knows.
    pub(super) fn has_ended(&mut self, number: Number) -> bool {
        let subscription = self.by_number.get_mut(&number);
        subscription.is_some_and(Subscription::has_ended)
    }
}

impl Subscription {
    /// The request that is still to be answered; a listen is one as long as it lives.
    pub(super) fn id(&self) -> Option<&RequestId> {
        match &self.origin {
            Origin::Listen(accepted) => Some(&accepted.id),
            Origin::Session { held, .. } => held.as_ref().map(|(id, _)| id),
        }
    }

    /// The answer that waits for the bus.
    pub(super) fn into_held(self) -> Option<String> {
        match self.origin {
            Origin::Listen(_) => None,
            Origin::Session { held, .. } => held.map(|(_, answer)| answer),
        }
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
    /// `told` concerns listens alone: what a session asks for was judged before.
    pub(super) fn open(
        &mut self,
        told: Option<&Discovered>,
        authorized: Option<&SubscriptionFilter>,
    ) -> Option<SubscriptionFilter> {
        if self.edge.is_some() {
            return None;
        }
        let stream = match &self.origin {
            Origin::Listen(accepted) => accepted.open(told?, authorized, NEVER, NOW),
            Origin::Session { requested, .. } => {
                unstamped(requested.honored(Capabilities::ALL, authorized))
            }
        };
        let honored = stream.honored().clone();
        let edge = self.edge.insert(Edge::new(stream));
        if honored.is_empty() {
            edge.finish_without_bus(NOW);
        }
        (!honored.is_empty()).then_some(honored)
    }

    /// The bus is gone, which nothing can tell a session: it is to be registered again with this filter, and
    /// hears then that everything may have changed. `None` where its client can be told.
    pub(super) fn reopen(&mut self) -> Option<SubscriptionFilter> {
        let Origin::Session { held: None, .. } = &self.origin else {
            return None;
        };
        let honored = self.edge.as_mut()?.stream().honored().clone();
        let stream = unstamped(honored.clone());
        self.edge = Some(Edge::resuming(stream, Past::Unknown));
        Some(honored)
    }

    pub(super) fn edge(&mut self) -> Option<&mut Edge> {
        self.edge.as_mut()
    }

    fn has_ended(&mut self) -> bool {
        self.edge
            .as_mut()
            .is_some_and(|edge| edge.stream().is_ending())
    }

    fn poll_message(&mut self, is_ready: bool) -> Option<String> {
        loop {
            let held = match &mut self.origin {
                Origin::Listen(_) => &mut None,
                Origin::Session { held: None, .. } if !is_ready => return None,
                Origin::Session { held, .. } => held,
            };
            match self.edge.as_mut()?.stream().poll_output(NOW)? {
                Output::Message(message) => {
                    self.is_acknowledged = true;
                    return Some(message);
                }
                Output::Opened => {
                    if let Some((_, answer)) = held.take() {
                        return Some(answer);
                    }
                }
                Output::KeepAlive | Output::End => return None,
            }
        }
    }
}

fn unstamped(honored: SubscriptionFilter) -> ServerStream {
    ServerStream::with_stamp(Stamp::None, honored, NEVER, NOW)
}

/// stdio has no keep-alives, so its streams need no clock.
const NEVER: Millis = Millis(0);
pub(super) const NOW: Millis = Millis(0);
