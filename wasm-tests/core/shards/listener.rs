//! The listener at an edge: it names its position when it returns, and knows what it has to
//! receive.

use std::collections::BTreeMap;

use mcp_listen::{
    bus::ShardId,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    topic::Topic,
    wire::{Batch, BusMessage, FollowResponse},
};

use crate::follow;

pub(crate) struct Listener {
    pub(crate) filter: SubscriptionFilter,
    pub(crate) continent: &'static str,
    /// The shard that it contacts first.
    pub(crate) home: Option<ShardId>,
    /// The frames that it was sent, in order.
    pub(crate) received: Vec<Position>,
    state: State,
    cursor: Option<Cursor>,
    /// The number of its last follow.
    seq: u64,
    /// The last event of each topic since the first acknowledgment.
    expected: BTreeMap<Topic, Position>,
    reported: BTreeMap<Topic, Position>,
    /// Everything up to here was cued.
    cued: Position,
}

#[derive(PartialEq, Eq)]
enum State {
    Lost,
    Attaching,
    Attached,
    Over,
}

impl Listener {
    pub(crate) fn new(filter: SubscriptionFilter, continent: &'static str) -> Self {
        Self {
            filter,
            continent,
            home: None,
            received: Vec::new(),
            state: State::Lost,
            cursor: None,
            seq: 0,
            expected: BTreeMap::new(),
            reported: BTreeMap::new(),
            cued: Position(0),
        }
    }

    pub(crate) fn attach(&mut self) -> String {
        self.seq += 1;
        let follow = follow::fresh(self.seq, &self.filter);
        match &self.cursor {
            Some(cursor) => follow.since(cursor).to_json(),
            None => follow.to_json(),
        }
    }

    pub(crate) fn connect(&mut self) {
        assert!(self.state != State::Over, "it does not come back");
        self.state = State::Attaching;
    }

    pub(crate) fn lose(&mut self, is_over: bool) {
        if self.state != State::Over {
            self.state = if is_over { State::Over } else { State::Lost };
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.state == State::Attached
    }

    /// Handles a publish: after the first acknowledgment it has to be received.
    pub(crate) fn expect(&mut self, position: Position, event: &ServerEvent) {
        if self.cursor.is_some() && self.filter.accepts(event) {
            self.expected.insert(Topic::of(event), position);
        }
    }

    pub(crate) fn receive(&mut self, frame: &str) {
        match BusMessage::from_json(frame).unwrap() {
            BusMessage::Response(FollowResponse::Followed(followed)) => {
                assert!(
                    self.state == State::Attaching && followed.seq == self.seq,
                    "an unawaited reply"
                );
                self.state = State::Attached;
                let cursor = Cursor {
                    position: followed.missed.unwrap().after,
                    ..followed.cursor
                };
                if self.cursor.as_ref() != Some(&cursor) {
                    self.cued = self.cued.max(cursor.position);
                }
                self.cursor = Some(cursor);
            }
            BusMessage::Batch(batch) => self.take(batch),
            other => panic!("it has no session, and changes nothing: {other:?}"),
        }
    }

    fn take(&mut self, batch: Batch) {
        // While it asks again on its open socket, batches may still arrive.
        assert!(self.state == State::Attached, "a batch before the reply");
        let cursor = self.cursor.as_mut().unwrap();
        assert_eq!(
            batch.previous,
            Some(cursor.position),
            "a gap on an open socket"
        );
        for (position, event) in batch.events {
            assert!(self.filter.accepts(&event), "unrequested: {event:?}");
            assert!(position > cursor.position, "not in order");
            cursor.position = position;
            self.received.push(position);
            self.reported.insert(Topic::of(&event), position);
        }
        assert_eq!(
            batch.through, cursor.position,
            "it ends with its last event"
        );
    }

    pub(crate) fn check(&self) {
        if self.state == State::Over {
            return;
        }
        assert!(self.state == State::Attached, "it never got a reply");
        for (topic, position) in &self.expected {
            let reported = self.reported.get(topic).copied().unwrap_or_default();
            assert!(
                reported.max(self.cued) >= *position,
                "{topic:?} at {position:?} is missing"
            );
        }
    }
}
