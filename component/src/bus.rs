use std::cell::RefCell;

use mcp_listen::{
    bus::{self, EdgeId, JournalEntry, Registry, ShardId},
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    topic::{Topic, Topics},
    wire::{ProtocolError, decode_topics},
};

use crate::{
    Component,
    convert::{event_of, events_of, out_of_place},
    wit::{
        bus::{
            BatchCall, BusBorrow, Delivery, FollowReply as ReplyHandle, Follows, Guest, GuestBus,
            GuestFollowReply, JournalEntry as Entry, KeptEdge, Opened, Persist, Publication,
            Received, Route as Place,
        },
        types::{Cursor as LogCursor, Error},
    },
};

impl Guest for Component {
    type Bus = Bus;
    type FollowReply = FollowReply;
}

/// A bus without its log.
pub(crate) struct Bus(RefCell<bus::Bus>);

/// The reply to a follow, until it is finished.
pub(crate) struct FollowReply(RefCell<bus::FollowReply>);

impl GuestFollowReply for FollowReply {
    fn persist(&self) -> Persist {
        self.0.borrow().persist().into()
    }

    fn replay_after(&self) -> Option<u64> {
        self.0.borrow().replay_after().map(|after| after.0)
    }

    fn push_event(&self, bus: BusBorrow<'_>, position: u64, event: String) -> Result<(), Error> {
        let event = event_of(&event)?;
        let bus = bus.get::<Bus>().0.borrow();
        let mut reply = self.0.borrow_mut();
        reply.push_event(&bus, Position(position), &event);
        Ok(())
    }
}

impl GuestBus for Bus {
    fn new(cursor: LogCursor, floor: u64) -> Self {
        let core = bus::Bus::new(cursor.into()).with_floor(Position(floor));
        Self(RefCell::new(core))
    }

    fn set_room(&self, max_bytes: u32, edges: u32) {
        let mut core = self.0.borrow_mut();
        core.set_room(max_bytes as usize, edges as usize);
    }

    fn connect(&self) -> u32 {
        self.0.borrow_mut().connect().0
    }

    fn restore(&self, edge: KeptEdge) -> Result<u32, Error> {
        let (topics, last, seq) = restored(&edge)?;
        Ok(self.0.borrow_mut().restore(&topics, last, seq).0)
    }

    fn disconnect(&self, edge: u32) {
        self.0.borrow_mut().disconnect(EdgeId(edge));
    }

    fn handle_message(&self, edge: u32, text: String) -> Result<Received, Error> {
        let received = self.0.borrow_mut().handle_message(EdgeId(edge), &text)?;
        Ok(match received {
            bus::Received::Followed(reply) => Received::Followed(handle_of(*reply)),
            bus::Received::Full => Received::Full,
            bus::Received::Detached => Received::Detached,
            _ => return Err(out_of_place("the result of the frame is not known here")),
        })
    }

    fn finish(&self, reply: ReplyHandle) -> Vec<String> {
        let FollowReply(reply) = reply.into_inner();
        reply.into_inner().finish(&mut self.0.borrow_mut())
    }

    fn kept(&self, edge: u32) -> KeptEdge {
        kept(self.0.borrow().registry(), edge)
    }

    fn publish(&self, events: Vec<String>, at: u64) -> Result<Publication, Error> {
        let events: Vec<ServerEvent> = events_of(&events)?;
        let mut core = self.0.borrow_mut();
        let mut deliveries = Vec::new();
        for event in events {
            deliveries.extend(core.publish_at(&event, Some(Millis(at))).deliveries);
        }
        Ok(Publication {
            position: core.cursor().position.0,
            deliveries: deliveries.into_iter().map(Delivery::from).collect(),
        })
    }

    fn cursor(&self) -> LogCursor {
        self.0.borrow().cursor().into()
    }

    fn wanted(&self) -> String {
        self.0.borrow().wanted().to_json()
    }

    fn handle_trimmed(&self, floor: u64) {
        self.0.borrow_mut().handle_trimmed(Position(floor));
    }

    fn is_log_indexed(&self) -> bool {
        self.0.borrow().is_log_indexed()
    }

    fn index_event(&self, position: u64, event: String) -> Result<(), Error> {
        let event = event_of(&event)?;
        self.0.borrow_mut().index_event(Position(position), &event);
        Ok(())
    }

    fn missed(&self, edge: u32, after: u64) -> Vec<u64> {
        let missed = self.0.borrow().missed(EdgeId(edge), Position(after));
        missed.into_iter().map(|position| position.0).collect()
    }

    fn set_shards(&self, settled: u64, last: u32, per_shard: u32) {
        let mut core = self.0.borrow_mut();
        core.set_shards(Position(settled), last, per_shard);
    }

    fn restore_shard(
        &self,
        shard: Opened,
        seq: u64,
        is_leaving: bool,
        topics: Vec<String>,
    ) -> Result<(), Error> {
        let topics = topics.iter().map(|text| Topic::from_text(text));
        let topics: Option<Vec<Topic>> = topics.collect();
        let topics = topics.ok_or(ProtocolError::Malformed)?;
        let (mut core, id) = (self.0.borrow_mut(), ShardId(shard.shard));
        core.restore_shard(id, &shard.continent, seq, is_leaving);
        for topic in topics {
            core.restore_topic(id, topic);
        }
        Ok(())
    }

    fn restore_after(&self) -> Option<u64> {
        self.0.borrow_mut().restore_after().map(|after| after.0)
    }

    fn restore_event(&self, position: u64, event: String) -> Result<(), Error> {
        let event = event_of(&event)?;
        let mut core = self.0.borrow_mut();
        core.restore_event(Position(position), &event);
        Ok(())
    }

    fn route(&self, continent: String, held: u32, full: Option<u32>) -> Place {
        let mut core = self.0.borrow_mut();
        let route = core.route(&continent, held, full.map(ShardId));
        route
            .shard()
            .map_or(Place::Root, |shard| Place::Shard(shard.0))
    }

    fn handle_follow(&self, shard: u32, text: String) -> Result<ReplyHandle, Error> {
        let reply = self.0.borrow_mut().handle_follow(ShardId(shard), &text)?;
        Ok(handle_of(reply))
    }

    fn poll_entry(&self) -> Option<Entry> {
        self.0.borrow_mut().poll_entry().and_then(entry_of)
    }

    fn poll_batch(&self, now: u64) -> Option<BatchCall> {
        let call = self.0.borrow_mut().poll_batch(Millis(now))?;
        Some(BatchCall {
            shard: call.shard.0,
            call: call.call,
            text: call.text,
        })
    }

    fn handle_ack(
        &self,
        shard: u32,
        call: u32,
        text: String,
        now: u64,
        random: f64,
    ) -> Result<(), Error> {
        let mut core = self.0.borrow_mut();
        core.handle_ack(ShardId(shard), call, &text, Millis(now), random)?;
        Ok(())
    }

    fn handle_failure(&self, shard: u32, call: u32, is_overloaded: bool, now: u64, random: f64) {
        let mut core = self.0.borrow_mut();
        core.handle_failure(ShardId(shard), call, is_overloaded, Millis(now), random);
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.borrow().poll_timeout().map(|at| at.0)
    }

    fn handle_timeout(&self, now: u64, random: f64) {
        self.0.borrow_mut().handle_timeout(Millis(now), random);
    }

    fn settle(&self) {
        self.0.borrow_mut().settle();
    }

    fn is_settled(&self) -> bool {
        self.0.borrow().is_settled()
    }
}

/// Returns what to store about an edge.
pub(crate) fn kept(registry: &Registry, edge: u32) -> KeptEdge {
    let edge = EdgeId(edge);
    KeptEdge {
        last: registry.last(edge).map(|last| last.0),
        seq: registry.seq(edge),
        topics: registry.stored_topics(edge),
    }
}

/// Parses what was stored about an edge.
pub(crate) fn restored(edge: &KeptEdge) -> Result<(Topics, Option<Position>, u64), Error> {
    let seq = edge.seq.ok_or_else(|| out_of_place("the edge was gone"))?;
    let topics = decode_topics(edge.topics.iter().map(String::as_str));
    let topics = topics.map_err(Error::from)?;
    Ok((topics, edge.last.map(Position), seq))
}

fn handle_of(reply: bus::FollowReply) -> ReplyHandle {
    ReplyHandle::new(FollowReply(RefCell::new(reply)))
}

impl From<LogCursor> for Cursor {
    fn from(cursor: LogCursor) -> Self {
        Self {
            epoch: cursor.epoch.into(),
            position: Position(cursor.position),
        }
    }
}

impl From<&Cursor> for LogCursor {
    fn from(cursor: &Cursor) -> Self {
        Self {
            epoch: (*cursor.epoch).to_owned(),
            position: cursor.position.0,
        }
    }
}

impl From<&bus::Persist> for Persist {
    fn from(persist: &bus::Persist) -> Self {
        if let bus::Persist::Delta(delta) = persist {
            Self::Change(delta.to_json())
        } else if *persist == bus::Persist::Nothing {
            Self::Nothing
        } else {
            // To store everything is never wrong.
            Self::All
        }
    }
}

impl From<bus::Delivery> for Delivery {
    fn from(delivery: bus::Delivery) -> Self {
        Self {
            text: delivery.message,
            edges: delivery.edges.iter().map(|edge| edge.0).collect(),
        }
    }
}

/// `None` for an entry that is not known here.
fn entry_of(entry: JournalEntry) -> Option<Entry> {
    Some(match entry {
        JournalEntry::Opened { shard, continent } => Entry::Opened(Opened {
            shard: shard.0,
            continent: continent.into(),
        }),
        JournalEntry::Leaving(shard) => Entry::Leaving(shard.0),
        JournalEntry::Closed(shard) => Entry::Closed(shard.0),
        JournalEntry::Follows {
            shard,
            seq,
            is_fresh,
            add,
            drop,
        } => Entry::Follows(Follows {
            shard: shard.0,
            seq,
            is_fresh,
            add: texts_of(&add),
            drop: texts_of(&drop),
        }),
        JournalEntry::Settled(position) => Entry::Settled(position.0),
        _ => return None,
    })
}

fn texts_of(topics: &[Topic]) -> Vec<String> {
    topics.iter().map(Topic::to_text).collect()
}
