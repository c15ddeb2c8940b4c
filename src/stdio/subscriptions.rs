use alloc::collections::VecDeque;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    fanout::{Fanout, StreamId},
    listen::{Accepted, Output, ServerStream, Stamp},
    sorted::Map,
    vocabulary::{
        capabilities::{Capabilities, Discovered},
        event::ServerEvent,
        filter::SubscriptionFilter,
        id::RequestId,
    },
};

/// One subscription of a channel, as the channel numbers them: an id that a client uses again is another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u32);

/// The subscriptions of one channel, and whose turn it is to write.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Their streams.
    fanout: Fanout,
    by_stream: Map<StreamId, Number>,
    by_number: Map<Number, Subscription>,
    numbers: Map<RequestId, Number>,
    turns: VecDeque<Number>,
    next: u32,
}

#[derive(Debug)]
pub(super) struct Subscription {
    origin: Origin,
    /// Its stream, once the host has said what it may hear.
    stream: Option<StreamId>,
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
        /// The request that asked for them, and its answer, until the stream is open.
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
            stream: None,
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
        if let Some(id) = subscription.stream {
            self.fanout.remove(id);
            self.by_stream.remove(&id);
        }
        Some(subscription)
    }

    /// Opens its stream, unless it is open; `told` concerns listens alone: what a session asks for was judged before.
    pub(super) fn open(
        &mut self,
        number: Number,
        told: Option<&Discovered>,
        authorized: Option<&SubscriptionFilter>,
    ) {
        let Some(subscription) = self.change(number) else {
            return;
        };
        let Some(stream) = subscription.stream_of(told, authorized) else {
            return;
        };
        let id = self.fanout.open_polled(stream, NOW);
        self.fanout.handle_attached(id, NOW);
        self.by_stream.insert(id, number);
        if let Some(subscription) = self.by_number.get_mut(&number) {
            subscription.stream = Some(id);
        }
    }

    /// Events were published, in this order.
    pub(super) fn publish(&mut self, events: Vec<ServerEvent>) {
        self.fanout.publish_all(events, NOW, NOW);
        for id in self.fanout.take_due() {
            if let Some(number) = self.by_stream.get(&id).copied() {
                self.change(number);
            }
        }
    }

    /// Events may have been missed.
    pub(super) fn handle_gap(&mut self) {
        self.fanout.handle_gap();
        self.change_all();
    }

    /// As [`Subscriptions::handle_gap`], before all of them close.
    pub(super) fn handle_last_doubt(&mut self) {
        self.fanout.handle_last_doubt();
        self.change_all();
    }

    /// Ends a stream gracefully.
    pub(super) fn close(&mut self, number: Number) {
        let stream = self
            .change(number)
            .and_then(|subscription| subscription.stream);
        if let Some(id) = stream {
            self.fanout.touch(id, ServerStream::close);
        }
    }

    /// All of them may have something to say.
    pub(super) fn change_all(&mut self) {
        for number in self.all() {
            self.change(number);
        }
    }

    /// The subscription, to be changed: it gets a turn, for it may have something to say after that.
    pub(super) fn change(&mut self, number: Number) -> Option<&mut Subscription> {
        let subscription = self.by_number.get_mut(&number)?;
        if !core::mem::replace(&mut subscription.has_turn, true) {
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
            let message = subscription.poll_message(&mut self.fanout, is_ready);
            if message.is_some() {
                self.turns.push_back(number);
                return Some((number, message));
            }
            subscription.has_turn = false;
            if self.has_ended(number) {
                return Some((number, None));
            }
        }
    }

    /// Whether the subscription has said all: its id is then free, as its client knows.
    pub(super) fn has_ended(&self, number: Number) -> bool {
        let stream = self.by_number.get(&number).and_then(|it| it.stream);
        let stream = stream.and_then(|id| self.fanout.stream(id));
        stream.is_some_and(ServerStream::is_ending)
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

    /// Whether the client's request still waits for the host.
    pub(super) fn is_opening(&self) -> bool {
        self.stream.is_none()
    }

    /// The stream to open; `None`: it is open.
    fn stream_of(
        &self,
        told: Option<&Discovered>,
        authorized: Option<&SubscriptionFilter>,
    ) -> Option<ServerStream> {
        if self.stream.is_some() {
            return None;
        }
        Some(match &self.origin {
            Origin::Listen(accepted) => accepted.open(told?, authorized, NEVER, NOW),
            Origin::Session { requested, .. } => {
                unstamped(requested.honored(Capabilities::ALL, authorized))
            }
        })
    }

    fn poll_message(&mut self, fanout: &mut Fanout, is_ready: bool) -> Option<String> {
        loop {
            let held = match &mut self.origin {
                Origin::Listen(_) => &mut None,
                Origin::Session { held: None, .. } if !is_ready => return None,
                Origin::Session { held, .. } => held,
            };
            match fanout.poll_output(self.stream?, NOW)? {
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
