//! A root and its shards in one process. Calls between them are made immediately, and counted.

use mcp_listen::{
    bus::{Bus, EdgeId, Route, Shard, ShardId, ShardOutput},
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    topic::Topic,
    wire::Follow,
};

const NOW: Millis = Millis(0);

pub(crate) struct Sharded {
    pub(crate) root: Bus,
    pub(crate) shards: Vec<Shard>,
    pub(crate) traffic: Traffic,
}

/// The traffic between objects.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// Calls between root and shards.
    pub(crate) calls: usize,
    /// Bytes of the calls and of their replies.
    pub(crate) bytes: usize,
    /// Frames to edges.
    pub(crate) frames: usize,
}

impl Sharded {
    /// A bus with open shards.
    pub(crate) fn new(shards: u32, per_shard: u32) -> Self {
        let position = Position(0);
        let cursor = Cursor {
            epoch: "5a3c8e0e-0000-4000-8000-000000000000".into(),
            position,
        };
        let mut root = Bus::new(cursor);
        root.set_shards(position, 0, per_shard);
        for shard in 0..shards {
            root.route("EU", u32::MAX, (shard > 0).then_some(ShardId(shard)));
        }
        let mut bus = Self {
            root,
            shards: (0..shards).map(|_| Shard::new(0)).collect(),
            traffic: Traffic::default(),
        };
        bus.forget_changes();
        bus
    }

    /// Attaches an edge at a shard, and makes the shard's calls to the root.
    pub(crate) fn attach(&mut self, shard: usize, topics: Vec<Topic>) -> EdgeId {
        let edge = self.begin(shard, topics);
        self.settle(shard);
        edge
    }

    /// Attaches an edge at a shard, which calls the root later.
    pub(crate) fn begin(&mut self, shard: usize, topics: Vec<Topic>) -> EdgeId {
        let shard = &mut self.shards[shard];
        let edge = shard.connect();
        let text = Follow::fresh(1, topics).to_json();
        shard.handle_message(edge, &text, NOW).expect("a follow");
        edge
    }

    /// Places an edge, as the root does.
    pub(crate) fn place(&mut self) -> Route {
        self.root.route("EU", 0, None)
    }

    /// The root's part of a publish: returns the calls to make.
    pub(crate) fn publish(&mut self, event: &ServerEvent) -> Vec<(ShardId, u32, String)> {
        self.root.publish_at(event, None);
        let mut calls = Vec::new();
        while let Some(batch) = self.root.poll_batch(NOW) {
            calls.push((batch.shard, batch.call, batch.text));
        }
        calls
    }

    /// A shard's part of a publish: counts the frames, and returns the reply to the root.
    pub(crate) fn deliver(&mut self, shard: ShardId, text: &str) -> String {
        let shard = &mut self.shards[shard.0 as usize - 1];
        let ack = shard.handle_batch(text, NOW).expect("a batch");
        self.traffic.calls += 1;
        self.traffic.bytes += text.len() + ack.len();
        while let Some(output) = shard.poll_output() {
            if let ShardOutput::Send(delivery) = output {
                self.traffic.frames += delivery.edges.len();
            }
        }
        ack
    }

    /// Passes a shard's reply to the root.
    pub(crate) fn confirm(&mut self, shard: ShardId, call: u32, ack: &str) {
        let outcome = self.root.handle_ack(shard, call, ack, NOW, 0.0);
        outcome.expect("an ack");
    }

    /// Makes the calls of a shard to its root until none is left.
    pub(crate) fn settle(&mut self, shard: usize) {
        let number = ShardId(u32::try_from(shard).expect("a number") + 1);
        while let Some(call) = self.shards[shard].poll_call(NOW) {
            let reply = self.root.handle_follow(number, &call.text);
            let frames = reply.expect("a call").finish(&mut self.root);
            let frame = &frames[0];
            self.traffic.calls += 1;
            self.traffic.bytes += call.text.len() + frame.len();
            self.shards[shard].handle_response(call.seq, frame, NOW, 0.0);
        }
        while let Some(output) = self.shards[shard].poll_output() {
            if let ShardOutput::Send(delivery) = output {
                self.traffic.frames += delivery.edges.len();
            }
        }
        self.forget_changes();
    }

    /// Discards the changes that an object would store.
    fn forget_changes(&mut self) {
        while self.root.poll_entry().is_some() {}
    }
}
