//! The calls in flight between a root and its shards, and their effects.

use mcp_listen::{
    bus::{EdgeCloseReason, JournalEntry, ShardId, ShardOutput},
    root::RootOutput,
    topic::Topic,
    wire::Batch,
};

use super::world::{Mail, World};

impl World {
    /// Delivers a letter; if it is a call, its reply is then in flight.
    pub(crate) fn arrive(&mut self, mail: Mail) {
        match mail {
            Mail::Batch { shard, call, text } => {
                self.check(shard, &text);
                let object = self.shards.get_mut(&shard).unwrap();
                let text = object.shard.handle_batch(&text, self.now).unwrap();
                self.settle_shard(shard);
                let ack = call.map(|call| Mail::BatchAck { shard, call, text });
                self.mail.extend(ack);
            }
            Mail::BatchAck { shard, call, text } => {
                let bus = self.root.bus_mut();
                let outcome = bus.handle_ack(shard, call, &text, self.now, 0.5);
                outcome.unwrap();
                self.settle_root();
            }
            Mail::Follow { shard, seq, text } => {
                let reply = self.root.handle_follow(shard, &text, self.now);
                let text = reply.unwrap().unwrap();
                self.settle_root();
                self.mail.push(Mail::Reply { shard, seq, text });
            }
            Mail::Reply { shard, seq, text } => {
                let object = self.shards.get_mut(&shard).unwrap();
                object.shard.handle_response(seq, &text, self.now, 0.5);
                self.settle_shard(shard);
            }
        }
    }

    /// Reports the failure to the caller.
    pub(crate) fn fail(&mut self, mail: &Mail, is_overloaded: bool) {
        match mail {
            Mail::Batch { call: None, .. } => {}
            Mail::Batch {
                shard,
                call: Some(call),
                ..
            }
            | Mail::BatchAck { shard, call, .. } => {
                self.root
                    .bus_mut()
                    .handle_failure(*shard, *call, is_overloaded, self.now, 0.5);
                self.settle_root();
            }
            Mail::Follow { shard, seq, .. } | Mail::Reply { shard, seq, .. } => {
                let object = self.shards.get_mut(shard).unwrap();
                object
                    .shard
                    .handle_failure(*seq, is_overloaded, self.now, 0.5);
                self.settle_shard(*shard);
            }
        }
    }

    pub(super) fn check(&mut self, shard: ShardId, text: &str) {
        let batch = Batch::from_json(text).unwrap();
        let asked = self.asked.entry(shard).or_default();
        for (_, event) in batch.events {
            let is_asked = asked.contains(&Topic::of(&event)) || asked.contains(&Topic::Everything);
            assert!(
                is_asked,
                "{event:?} was sent to a shard that never asked for it"
            );
        }
    }

    pub(super) fn settle_root(&mut self) {
        while let Some(output) = self.root.poll_output(self.now, self.now).unwrap() {
            match output {
                RootOutput::Persist(entry) => self.persist(entry),
                RootOutput::Batch(call) => {
                    self.calls += 1;
                    self.mail.push(Mail::Batch {
                        shard: call.shard,
                        call: Some(call.call),
                        text: call.text,
                    });
                }
                other => panic!("there are no sessions: {other:?}"),
            }
        }
    }

    fn persist(&mut self, entry: JournalEntry) {
        if let JournalEntry::Follows { shard, add, .. } = &entry {
            let asked = self.asked.entry(*shard).or_default();
            asked.extend(add.iter().cloned());
        }
        if matches!(entry, JournalEntry::Opened { .. }) {
            self.move_out();
        }
        self.disk.apply(entry);
    }

    /// The root closes its edges: they return and are redirected.
    pub(super) fn move_out(&mut self) {
        for (edge, listener) in std::mem::take(&mut self.own) {
            self.root.disconnect(edge, self.now).unwrap();
            self.listeners[listener].lose(false);
        }
    }

    pub(super) fn settle_shard(&mut self, number: ShardId) {
        let Some(object) = self.shards.get_mut(&number) else {
            return;
        };
        while let Some(output) = object.shard.poll_output() {
            match output {
                ShardOutput::Send(delivery) => {
                    for edge in delivery.edges {
                        self.listeners[object.sockets[&edge]].receive(&delivery.message);
                    }
                }
                ShardOutput::Close(edge, reason) => {
                    let listener = object.sockets.remove(&edge).unwrap();
                    self.listeners[listener].lose(reason == EdgeCloseReason::Over);
                    if reason == EdgeCloseReason::Redirected {
                        self.listeners[listener].home = None;
                    }
                }
                _ => {}
            }
        }
        if let Some(call) = object.shard.poll_call(self.now) {
            object.seq = call.seq;
            self.calls += 1;
            self.mail.push(Mail::Follow {
                shard: number,
                seq: call.seq,
                text: call.text,
            });
        }
    }
}
