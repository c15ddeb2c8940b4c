use mcp_listen::{
    bus::{BatchCall, JournalEntry, Route, ShardId},
    clock::Millis,
};

use crate::{
    bus::Bus,
    invariant::{Violation, ensure},
    network::{Close, SocketId},
    table::PER_SHARD,
};

/// The root's side of the shards.
impl Bus {
    /// Where the next edge goes; the shard `full` has refused it.
    pub(crate) fn place(&mut self, continent: &str, full: Option<ShardId>) -> Route {
        let own = u32::try_from(self.attachments_count()).unwrap_or(PER_SHARD);
        self.memory().map_or(Route::Root, |memory| {
            memory.core.route(continent, own, full)
        })
    }

    /// An event is on disk, and with it the alarm that ensures that every shard receives it.
    pub(crate) fn forward(&mut self, now: Millis) {
        let Some(memory) = self.memory() else { return };
        if !memory.core.is_settled() {
            self.table().alarm.get_or_insert(now + BURST);
        }
    }

    /// Stores the journal of the root, and returns its calls.
    pub(crate) fn root_calls(&mut self, now: Millis) -> Vec<BatchCall> {
        if !self.is_awake() {
            return Vec::new();
        }
        while let Some(change) = self.memory().and_then(|memory| memory.core.poll_entry()) {
            if matches!(change, JournalEntry::Opened { .. }) {
                self.move_out(now);
            }
            if let (JournalEntry::Closed(ShardId(shard)), Some(memory)) = (&change, self.memory()) {
                let sessions = &mut memory.sessions;
                sessions.handle_shard_emptied(*shard, now).unwrap();
            }
            self.table().apply(change);
        }
        let mut calls = Vec::new();
        while let Some(call) = self.memory().and_then(|memory| memory.core.poll_batch(now)) {
            calls.push(call);
        }
        calls
    }

    pub(crate) fn handle_follow(
        &mut self,
        shard: ShardId,
        text: &str,
        now: Millis,
    ) -> Result<String, Violation> {
        let floor = self.disk().floor();
        let Some(memory) = self.memory() else {
            return Ok(String::new());
        };
        let reply = memory.core.handle_follow(shard, text);
        let mut reply =
            reply.map_err(|_| Violation::new("calls are understood", text.to_owned()))?;
        let sessions = &mut memory.sessions;
        let followed = sessions.handle_follow(&mut reply, &mut memory.core, now);
        followed.unwrap();
        if let Some(after) = reply.replay_after() {
            ensure("replayed events are in the log", after >= floor, || {
                format!("{after:?} is below the log's floor {floor:?}")
            })?;
            for entry in self.disk().after(after).copied().collect::<Vec<_>>() {
                let event = entry.key.event(entry.number);
                if let Some(memory) = self.memory() {
                    reply.push_event(&memory.core, entry.position, &event);
                }
            }
        }
        let texts = self.memory().map(|memory| reply.finish(&mut memory.core));
        self.carry_out(now);
        Ok(texts
            .and_then(|texts| texts.into_iter().next())
            .unwrap_or_default())
    }

    pub(crate) fn handle_ack(
        &mut self,
        shard: ShardId,
        call: u32,
        text: &str,
        now: Millis,
        random: f64,
    ) {
        if let Some(memory) = self.memory() {
            // An unreadable answer counts as a failure, which is handled then.
            memory.core.handle_ack(shard, call, text, now, random).ok();
        }
    }

    pub(crate) fn fail_batch(
        &mut self,
        shard: ShardId,
        call: u32,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        if let Some(memory) = self.memory() {
            memory
                .core
                .handle_failure(shard, call, is_overloaded, now, random);
        }
    }

    /// The timeouts of the root: repeats calls, and ensures that every shard receives a burst.
    pub(crate) fn root_timeout(&mut self, now: Millis, random: f64) {
        if self.refusal().is_some() {
            return;
        }
        self.sweep(now);
        let rings = self.table().alarm.is_some_and(|at| at <= now);
        if rings {
            let is_settled = self.memory().is_none_or(|memory| {
                memory.core.settle();
                memory.core.is_settled()
            });
            self.table().alarm = (!is_settled).then(|| now + BURST);
        }
        if self.is_awake()
            && let Some(memory) = self.memory()
            && memory.core.poll_timeout().is_some_and(|at| at <= now)
        {
            memory.core.handle_timeout(now, random);
        }
    }

    /// Whether every shard has confirmed everything.
    pub(crate) fn is_settled(&mut self) -> bool {
        self.memory().is_none_or(|memory| memory.core.is_settled())
    }

    /// The root holds no edges while there are shards: its own return and are redirected.
    fn move_out(&mut self, now: Millis) {
        for socket in self.attached_sockets() {
            self.leave(socket, Close::Moved, now);
        }
    }

    fn attached_sockets(&self) -> Vec<SocketId> {
        self.attachments().copied().collect()
    }

    fn attachments_count(&self) -> usize {
        self.attachments().count()
    }
}

const BURST: Millis = Millis(1_000);
