use mcp_listen::{
    bus::{BatchCall, EdgeId, JournalEntry, Route, ShardId},
    clock::Millis,
    root::RootOutput,
};

use crate::{
    bus::Bus,
    invariant::Violation,
    memory::Memory,
    network::{Close, Note, SocketId},
    replay::unlogged,
    session_calls::PendingCall,
    session_rows::Broken,
    shard::close_of,
    table::PER_SHARD,
};

/// The outputs of the root, and its side of the shards.
impl Bus {
    /// Where the next edge goes; the shard `full` has refused it.
    pub(crate) fn place(&mut self, continent: &str, full: Option<ShardId>) -> Route {
        let own = u32::try_from(self.attachments_count()).unwrap_or(PER_SHARD);
        self.memory().map_or(Route::Root, |memory| {
            memory.bus().route(continent, own, full)
        })
    }

    /// An event is on disk, and with it the alarm that ensures that every shard receives it.
    pub(crate) fn forward(&mut self, now: Millis) {
        let Some(memory) = self.memory() else { return };
        if !memory.bus().is_settled() {
            self.table().alarm.get_or_insert(now + BURST);
        }
    }

    /// Carries out the outputs of the root.
    pub(crate) fn carry_out(&mut self, now: Millis) {
        let next = |memory: &mut Memory| memory.root.poll_output(now, now).unwrap();
        while let Some(output) = self.memory().and_then(next) {
            match output {
                RootOutput::Persist(entry) => self.persist(entry, now),
                RootOutput::Batch(call) => self.batches.push(call),
                RootOutput::Send(edge, frame) => {
                    if let Some(socket) = self.socket(edge) {
                        self.send(socket, frame, Note::SessionInterest, now);
                    }
                }
                RootOutput::Close(edge, reason) => {
                    if let Some(socket) = self.socket(edge) {
                        self.leave(socket, close_of(reason), now);
                    }
                }
                RootOutput::CallShard {
                    shard,
                    call,
                    is_awaited,
                } => {
                    self.sweep_by(now + AGAIN);
                    self.session_calls.push(PendingCall {
                        shard,
                        call,
                        is_awaited,
                    });
                }
                other => panic!("not known: {other:?}"),
            }
        }
    }

    /// Carries out the outputs, and returns the calls of the root.
    pub(crate) fn root_calls(&mut self, now: Millis) -> Vec<BatchCall> {
        if self.is_awake() {
            self.carry_out(now);
        }
        std::mem::take(&mut self.batches)
    }

    pub(crate) fn handle_follow(
        &mut self,
        shard: ShardId,
        text: &str,
        now: Millis,
    ) -> Result<String, Violation> {
        let Some(memory) = self.memory() else {
            return Ok(String::new());
        };
        let reply = memory.root.handle_follow(shard, text, now);
        let reply = reply.map_err(|Broken| unlogged(text))?;
        let reply = reply.map_err(|_| Violation::new("calls are understood", text.to_owned()))?;
        self.carry_out(now);
        Ok(reply)
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
            // An unreadable reply counts as a failure, which is handled then.
            memory.bus().handle_ack(shard, call, text, now, random).ok();
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
                .bus()
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
                memory.bus().settle();
                memory.bus().is_settled()
            });
            self.table().alarm = (!is_settled).then(|| now + BURST);
        }
        if self.is_awake()
            && let Some(memory) = self.memory()
            && memory.bus().poll_timeout().is_some_and(|at| at <= now)
        {
            memory.bus().handle_timeout(now, random);
        }
    }

    /// Whether every shard has confirmed everything.
    pub(crate) fn is_settled(&mut self) -> bool {
        self.memory().is_none_or(|memory| memory.bus().is_settled())
    }

    /// Stores an entry of the journal.
    fn persist(&mut self, entry: JournalEntry, now: Millis) {
        let is_opened = matches!(entry, JournalEntry::Opened { .. });
        self.table().apply(entry);
        if is_opened {
            self.move_out(now);
        }
    }

    fn socket(&mut self, edge: EdgeId) -> Option<SocketId> {
        self.memory()?.sockets.get(&edge).copied()
    }

    /// The root holds no edges while there are shards: its own return and are redirected.
    fn move_out(&mut self, now: Millis) {
        for socket in self.attached_sockets() {
            self.leave(socket, Close::Moved, now);
        }
    }

    fn attached_sockets(&self) -> Vec<SocketId> {
        self.attachments().map(|(socket, _)| *socket).collect()
    }

    /// The shards that have reported how many edges they hold.
    pub(crate) fn reported_shards(&mut self) -> Vec<ShardId> {
        let Some(memory) = self.memory() else {
            return Vec::new();
        };
        let shards = memory.root.bus().shards();
        let reported = shards.filter(|(_, _, edges)| edges.is_some());
        reported.map(|(shard, ..)| shard).collect()
    }

    /// The bytes of the names of all edges.
    pub(crate) fn names(&mut self) -> usize {
        self.memory()
            .map_or(0, |memory| memory.root.bus().registry().name_bytes())
    }

    /// The most bytes of names of an edge without a session.
    pub(crate) fn most_names(&mut self) -> usize {
        if !self.is_awake() {
            return 0;
        }
        let sockets = self.attachments().filter(|(_, it)| it.session.is_none());
        let sockets: Vec<SocketId> = sockets.map(|(socket, _)| *socket).collect();
        let Some(memory) = self.memory() else {
            return 0;
        };
        let registry = memory.root.bus().registry();
        let edges = sockets.iter().filter_map(|socket| memory.edges.get(socket));
        let bytes = edges.map(|edge| registry.name_bytes_of(*edge));
        bytes.max().unwrap_or_default()
    }

    fn attachments_count(&self) -> usize {
        self.attachments().count()
    }
}

const BURST: Millis = Millis(1_000);
/// As in `js/cloudflare/object/bus/shards.ts`.
const AGAIN: Millis = Millis(5_000);
