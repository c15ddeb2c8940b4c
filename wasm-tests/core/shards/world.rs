//! A root, its shards and the listeners at their edges. The test controls every call between them:
//! it arrives late, twice, out of order, or not at all.

use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{Bus, EdgeId, Persist, Shard, ShardId, ShardReceived},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    root::RootReceived,
    topic::Topic,
    wire::decode_topics,
};

use crate::{follow::Publish as _, log::Root};

use super::{disk::Disk, listener::Listener};

/// Shards are opened beyond this many edges.
pub(crate) const PER_SHARD: u32 = 3;

pub(crate) struct World {
    pub(crate) now: Millis,
    pub(crate) disk: Disk,
    pub(crate) root: Root,
    pub(super) own: BTreeMap<EdgeId, usize>,
    pub(crate) shards: BTreeMap<ShardId, ShardObject>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) mail: Vec<Mail>,
    /// The topics that each shard has requested so far: nothing else may be sent there.
    pub(super) asked: BTreeMap<ShardId, BTreeSet<Topic>>,
    /// Calls between root and shards.
    pub(crate) calls: usize,
}

pub(crate) struct ShardObject {
    pub(crate) shard: Shard,
    pub(super) seq: u64,
    pub(super) sockets: BTreeMap<EdgeId, usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Mail {
    Batch {
        shard: ShardId,
        /// `None`: the root that made it has restarted, and does not wait for the reply.
        call: Option<u32>,
        text: String,
    },
    BatchAck {
        shard: ShardId,
        call: u32,
        text: String,
    },
    Follow {
        shard: ShardId,
        seq: u64,
        text: String,
    },
    Reply {
        shard: ShardId,
        seq: u64,
        text: String,
    },
}

impl World {
    pub(crate) fn new() -> Self {
        let disk = Disk::default();
        Self {
            now: Millis(0),
            root: disk.root(),
            disk,
            own: BTreeMap::new(),
            shards: BTreeMap::new(),
            listeners: Vec::new(),
            mail: Vec::new(),
            asked: BTreeMap::new(),
            calls: 0,
        }
    }

    pub(crate) fn listen(&mut self, filter: SubscriptionFilter, continent: &'static str) -> usize {
        let listener = self.listeners.len();
        self.listeners.push(Listener::new(filter, continent));
        self.come(listener);
        listener
    }

    /// A listener whose isolate knows a shard goes there first.
    pub(crate) fn listen_at(&mut self, filter: SubscriptionFilter, home: ShardId) {
        let mut listener = Listener::new(filter, "EU");
        listener.home = Some(home);
        self.listeners.push(listener);
        self.come(self.listeners.len() - 1);
    }

    /// A listener without a socket is placed and attaches there.
    pub(crate) fn come(&mut self, listener: usize) {
        let mut full = None;
        if let Some(shard) = self.listeners[listener].home {
            if self.enter(listener, shard) {
                return;
            }
            full = Some(shard);
        }
        let own = u32::try_from(self.own.len()).unwrap();
        let continent = self.listeners[listener].continent;
        match self.root.bus_mut().route(continent, own, full).shard() {
            None => self.enter_root(listener),
            Some(shard) => {
                self.listeners[listener].home = Some(shard);
                let object = self.shards.entry(shard);
                object.or_insert_with(|| ShardObject::new(0));
                if !self.enter(listener, shard) {
                    // It returns, as a refused edge does.
                    self.listeners[listener].home = Some(shard);
                }
            }
        }
        self.settle_root();
    }

    fn enter_root(&mut self, listener: usize) {
        let edge = self.root.bus_mut().connect();
        self.own.insert(edge, listener);
        self.listeners[listener].home = None;
        let attach = self.listeners[listener].attach();
        let received = self.root.handle_message(edge, &attach, self.now);
        let Ok(RootReceived::Followed { frames, .. }) = received else {
            panic!("{received:?} to {attach}");
        };
        self.listeners[listener].connect();
        for frame in frames {
            self.listeners[listener].receive(&frame);
        }
    }

    /// Whether the shard accepted the socket of the listener.
    fn enter(&mut self, listener: usize, shard: ShardId) -> bool {
        let Some(object) = self.shards.get_mut(&shard) else {
            return false;
        };
        let is_full = object.sockets.len() >= PER_SHARD as usize;
        if is_full || object.shard.is_retired() {
            return false;
        }
        let edge = object.shard.connect();
        object.sockets.insert(edge, listener);
        self.listeners[listener].connect();
        self.attach(listener, shard, edge);
        true
    }

    fn attach(&mut self, listener: usize, shard: ShardId, edge: EdgeId) {
        let attach = self.listeners[listener].attach();
        let object = self.shards.get_mut(&shard).unwrap();
        let received = object.shard.handle_message(edge, &attach, self.now);
        let persist = Persist::All;
        let session = None;
        assert_eq!(received, Ok(ShardReceived::Followed { persist, session }));
        self.settle_shard(shard);
    }

    /// A listener asks on its socket for missed events, as with `busProbeIntervalMs`.
    pub(crate) fn probe(&mut self, listener: usize) {
        let holder = self.shards.iter().find_map(|(shard, object)| {
            let mut sockets = object.sockets.iter();
            let (edge, _) = sockets.find(|(_, holder)| **holder == listener)?;
            Some((*shard, *edge))
        });
        if let Some((shard, edge)) = holder {
            self.listeners[listener].connect();
            self.attach(listener, shard, edge);
        }
    }

    /// The socket of a listener breaks; `is_over`: it does not return.
    pub(crate) fn cut(&mut self, listener: usize, is_over: bool) {
        self.listeners[listener].lose(is_over);
        self.own.retain(|edge, holder| {
            if *holder == listener {
                self.root.disconnect(*edge, self.now).unwrap();
            }
            *holder != listener
        });
        for shard in self.shards.keys().copied().collect::<Vec<_>>() {
            let object = self.shards.get_mut(&shard).unwrap();
            let mut sockets = object.sockets.iter();
            let edge = sockets.find(|(_, holder)| **holder == listener);
            if let Some(edge) = edge.map(|(edge, _)| *edge) {
                object.sockets.remove(&edge);
                object.shard.disconnect(edge, self.now);
            }
            self.settle_shard(shard);
        }
    }

    pub(crate) fn publish(&mut self, event: &ServerEvent) -> Position {
        let publication = self.root.bus_mut().publish(event);
        let position = publication.position;
        self.disk.log.push(event);
        for listener in &mut self.listeners {
            listener.expect(position, event);
        }
        for delivery in publication.deliveries {
            for edge in delivery.edges {
                self.listeners[self.own[&edge]].receive(&delivery.message);
            }
        }
        self.settle_root();
        position
    }

    /// The log keeps only the last `count` events.
    pub(crate) fn trim(&mut self, count: u64) {
        self.disk.log.trim(count);
    }

    /// The alarm fires.
    pub(crate) fn ring(&mut self) {
        self.root.bus_mut().settle();
        self.settle_root();
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now = self.now + Millis(ms);
        let bus = self.root.bus_mut();
        if bus.poll_timeout().is_some_and(|at| at <= self.now) {
            bus.handle_timeout(self.now, 0.5);
        }
        self.settle_root();
        for shard in self.shards.keys().copied().collect::<Vec<_>>() {
            let object = self.shards.get_mut(&shard).unwrap();
            if object.shard.poll_timeout().is_some_and(|at| at <= self.now) {
                object.shard.handle_timeout(self.now, 0.5);
            }
            self.settle_shard(shard);
        }
    }

    /// The memory of the root is lost, with the calls that it waits for.
    pub(crate) fn restart_root(&mut self, keeps_sockets: bool) {
        self.mail
            .retain(|mail| !matches!(mail, Mail::BatchAck { .. }));
        for mail in &mut self.mail {
            if let Mail::Batch { call, .. } = mail {
                *call = None;
            }
        }
        let registry = self.root.bus().registry();
        let stored: Vec<_> = self
            .own
            .iter()
            .map(|(edge, listener)| {
                let stored = registry.stored_topics(*edge);
                let seq = registry.seq(*edge).unwrap();
                (stored, registry.last(*edge), seq, *listener)
            })
            .collect();
        self.root = self.disk.root();
        self.own.clear();
        for (stored, last, seq, listener) in stored {
            if keeps_sockets {
                let texts = stored.iter().map(String::as_str);
                let topics = decode_topics(texts).unwrap();
                let edge = self.root.restore(&topics, last, seq, None);
                self.own.insert(edge.unwrap().unwrap(), listener);
            } else {
                self.listeners[listener].lose(false);
            }
        }
        self.settle_root();
    }

    /// The memory and the sockets of a shard are lost, with the calls that it waits for.
    pub(crate) fn restart_shard(&mut self, shard: ShardId) {
        let Some(object) = self.shards.remove(&shard) else {
            return;
        };
        self.mail
            .retain(|mail| !matches!(mail, Mail::Reply { shard: to, .. } if *to == shard));
        for listener in object.sockets.into_values() {
            self.listeners[listener].lose(false);
        }
        self.shards.insert(shard, ShardObject::new(object.seq));
    }

    /// An idle shard hibernates and wakes; its sockets stay.
    pub(crate) fn hibernate(&mut self, shard: ShardId) {
        let Some(object) = self.shards.get(&shard) else {
            return;
        };
        let cursor = object.shard.cursor().cloned();
        let is_idle = object.shard.is_settled() && object.shard.poll_timeout().is_none();
        let (Some(cursor), true) = (cursor, is_idle && !object.shard.is_retired()) else {
            return;
        };
        let former = self.shards.remove(&shard).unwrap();
        let mut woken = ShardObject::new(former.seq);
        if !former.sockets.is_empty() {
            woken.shard = Shard::new(former.seq).woken(cursor);
        }
        for (edge, listener) in former.sockets {
            let stored = former.shard.registry().stored_topics(edge);
            let texts = stored.iter().map(String::as_str);
            let last = former.shard.registry().last(edge);
            let seq = former.shard.registry().seq(edge).unwrap();
            let topics = decode_topics(texts).unwrap();
            let restored = woken.shard.restore(&topics, last, seq, None);
            woken.sockets.insert(restored, listener);
        }
        self.shards.insert(shard, woken);
    }

    /// From here on nothing fails. Returns when nothing is left to do.
    pub(crate) fn come_to_rest(&mut self) {
        for _ in 0..2_000 {
            while !self.mail.is_empty() {
                let mail = self.mail.remove(0);
                self.arrive(mail);
            }
            let lost: Vec<usize> = self.lost();
            for listener in &lost {
                self.come(*listener);
            }
            if self.mail.is_empty() && lost.is_empty() && self.is_idle() {
                return;
            }
            self.pass(500);
        }
        panic!("it does not come to rest");
    }

    pub(crate) fn lost(&self) -> Vec<usize> {
        let listeners = self.listeners.iter().enumerate();
        let lost = listeners.filter(|(_, listener)| listener.is_lost());
        lost.map(|(number, _)| number).collect()
    }

    fn is_idle(&self) -> bool {
        let mut shards = self.shards.values();
        self.root.bus().poll_timeout().is_none()
            && shards.all(|object| object.shard.poll_timeout().is_none())
    }

    /// Each listener has received its events, and none is attached to the root while there are
    /// shards.
    pub(crate) fn check_promises(&self) {
        for listener in &self.listeners {
            listener.check();
        }
        let is_sharded = self.disk.rows.has_shards();
        assert!(!is_sharded || self.own.is_empty(), "the root holds edges");
    }
}

impl ShardObject {
    pub(crate) fn new(seq: u64) -> Self {
        Self {
            shard: Shard::new(seq),
            seq,
            sockets: BTreeMap::new(),
        }
    }
}

/// A bus that has shards.
pub(crate) fn bus_with_shards(cursor: Cursor, settled: Position, last: u32, per_shard: u32) -> Bus {
    let mut bus = Bus::new(cursor);
    bus.set_shards(settled, last, per_shard);
    bus
}
