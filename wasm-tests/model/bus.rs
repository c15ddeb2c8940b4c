use std::collections::BTreeMap;

use mcp_listen::{
    bus::{BatchCall, EdgeId, Persist},
    clock::Millis,
    position::Position,
    root::RootReceived,
    wire::Claim,
};

use crate::{
    disk::Disk,
    harness_bug::{self, HarnessBug},
    invariant::Violation,
    key::Key,
    log::Log,
    memory::{Attachment, Memory},
    network::{Close, Frame, Note, SocketId},
    replay::unlogged,
    room::Room,
    schedule::Setup,
    session_calls::PendingCall,
    session_rows::Broken,
    table::{PER_SHARD, Table},
};

pub(crate) use crate::reply::{Cut, Out, Refusal, without_previous};

/// The object around a [`Root`](mcp_listen::root::Root): writes the log before it sends, stores the
/// state of each socket with the socket, hibernates and wakes, is reset, loses its disk and is
/// away.
#[derive(Debug)]
pub(crate) struct Bus {
    disk: Disk,
    life: Life,
    attachments: BTreeMap<SocketId, Attachment>,
    /// Whether its frames name no previous position, as those of a bus that does not know what it
    /// sent last.
    omits_previous: bool,
    /// The limits on names.
    pub(crate) room: Option<Room>,
    out: Vec<Out>,
    /// The current time.
    pub(crate) now: Millis,
    pub(crate) session_calls: Vec<PendingCall>,
    /// The calls to shards that are not posted yet.
    pub(crate) batches: Vec<BatchCall>,
    /// The number of restarts.
    pub(crate) lives: usize,
    /// The number of edges that have connected or left.
    pub(crate) moves: usize,
}

#[derive(Debug)]
enum Life {
    Awake(Box<Memory>),
    Asleep,
    Down(Refusal),
}

impl Bus {
    pub(crate) fn new(setup: Setup) -> Self {
        let Setup {
            omits_previous,
            has_shards,
            ..
        } = setup;
        let window = WINDOWS[usize::from(setup.window) % WINDOWS.len()];
        let per_shard = if has_shards { PER_SHARD } else { u32::MAX };
        let mut bus = Self {
            disk: Disk::new(Log::new(0, window), Table::new(per_shard)),
            life: Life::Asleep,
            attachments: BTreeMap::new(),
            omits_previous,
            room: Room::of(setup.room),
            out: Vec::new(),
            now: Millis(0),
            session_calls: Vec::new(),
            batches: Vec::new(),
            lives: 0,
            moves: 0,
        };
        bus.wake();
        bus
    }

    pub(crate) fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    pub(crate) fn omits_previous(&self) -> bool {
        self.omits_previous
    }

    /// The reply to a connection attempt.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.life {
            Life::Down(refusal) => Some(refusal),
            Life::Awake(_) | Life::Asleep => None,
        }
    }

    pub(crate) fn connect(&mut self, socket: SocketId) {
        let Some(memory) = self.memory() else { return };
        let edge = memory.bus().connect();
        memory.enter(socket, edge);
        self.attachments.insert(socket, Attachment::default());
    }

    pub(crate) fn receive(
        &mut self,
        socket: SocketId,
        text: &str,
        now: Millis,
    ) -> Result<(), Violation> {
        let Some(memory) = self.memory() else {
            return Ok(());
        };
        let Some(edge) = memory.edges.get(&socket).copied() else {
            return Ok(());
        };
        let received = memory.root.handle_message(edge, text, now);
        match received.map_err(|Broken| unlogged(text))? {
            RootReceived::Followed {
                persist,
                session,
                frames,
            } => {
                self.store(socket, edge, persist, session);
                self.carry_out(now);
                self.reply(socket, edge, frames, now)?;
            }
            RootReceived::Released => self.leave(socket, Close::Over, now),
            RootReceived::Detached => self.leave(socket, Close::Lost, now),
            RootReceived::Full => self.leave(socket, Close::Full, now),
            RootReceived::Dropped(_) => {}
            other => panic!("not known: {other:?}"),
        }
        Ok(())
    }

    /// A socket is lost, or the bus drops it silently.
    pub(crate) fn forget(&mut self, socket: SocketId, now: Millis) {
        self.wake();
        self.attachments.remove(&socket);
        self.moves += 1;
        let Some(memory) = self.memory() else { return };
        memory.behind.remove(&socket);
        if let Some(edge) = memory.edges.remove(&socket) {
            memory.sockets.remove(&edge);
            if !harness_bug::has(HarnessBug::KeepsEdges) {
                memory.root.disconnect(edge, now).unwrap();
            }
        }
    }

    /// Publishes an event; returns its index in the log once it is on disk.
    pub(crate) fn publish(
        &mut self,
        key: Key,
        number: usize,
        cut: Cut,
        now: Millis,
    ) -> Option<Position> {
        let memory = self.memory()?;
        if cut == Cut::BeforeLog && !harness_bug::has(HarnessBug::SendsBeforeWriting) {
            return None;
        }
        let event = key.event(number);
        let publication = memory.root.publish_at(&event, None);
        if cut != Cut::BeforeLog {
            self.disk.log.append(publication.position, key, number, now);
            self.forward(now);
        }
        let frames = publication.deliveries.into_iter().flat_map(|delivery| {
            let message = delivery.message;
            delivery
                .edges
                .into_iter()
                .map(move |edge| (edge, message.clone()))
        });
        let count = if let Cut::After(count) = cut {
            count
        } else {
            usize::MAX
        };
        for (edge, message) in frames.take(count) {
            let socket = self.memory()?.sockets.get(&edge).copied();
            if let Some(socket) = socket {
                self.send(socket, message, Note::Batch, now);
            }
        }
        (cut != Cut::BeforeLog).then_some(publication.position)
    }

    /// Hibernates, unless something is pending.
    pub(crate) fn hibernate(&mut self) -> bool {
        let can = matches!(&self.life, Life::Awake(memory)
            if memory.settles_at.is_none() && memory.root.bus().poll_timeout().is_none());
        if can {
            self.life = Life::Asleep;
        }
        can
    }

    /// Loses memory and sockets; returns the sockets.
    pub(crate) fn reset(&mut self) -> Vec<SocketId> {
        if !matches!(self.life, Life::Down(_)) {
            self.life = Life::Asleep;
        }
        self.lives += 1;
        self.moves += 1;
        self.out.clear();
        self.session_calls.clear();
        self.batches.clear();
        std::mem::take(&mut self.attachments).into_keys().collect()
    }

    pub(crate) fn lose_disk(&mut self) {
        self.disk = self.disk.renewed();
    }

    pub(crate) fn go_down(&mut self, refusal: Refusal) {
        self.batches.clear();
        self.life = Life::Down(refusal);
    }

    pub(crate) fn come_up(&mut self) {
        if matches!(self.life, Life::Down(_)) {
            self.life = Life::Asleep;
        }
    }

    pub(crate) fn deploy(&mut self) {
        self.omits_previous = !self.omits_previous;
    }

    pub(crate) fn trim(&mut self, count: usize) {
        self.disk.log.trim(count);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let alarms = [self.disk.table.alarm, self.disk.sweep_at];
        let alarm = alarms.into_iter().flatten().min();
        match &self.life {
            Life::Awake(memory) => {
                let deadlines = [memory.settles_at, memory.root.bus().poll_timeout(), alarm];
                deadlines.into_iter().flatten().min()
            }
            Life::Asleep => alarm,
            Life::Down(_) => None,
        }
    }

    /// After a burst, attachments record what was sent last.
    pub(crate) fn handle_timeout(&mut self, now: Millis) {
        let Life::Awake(memory) = &mut self.life else {
            return;
        };
        if memory.settles_at.is_some_and(|at| at <= now) {
            memory.settles_at = None;
            let edges = memory.edges.clone();
            for socket in std::mem::take(&mut memory.behind) {
                if let Some(edge) = edges.get(&socket) {
                    self.record_sent(socket, *edge);
                }
            }
        }
    }

    /// The number of attached edges.
    pub(crate) fn attached(&mut self) -> usize {
        self.memory()
            .map_or(0, |memory| memory.root.bus().registry().attached())
    }

    /// Stores the topics of an edge.
    fn store(&mut self, socket: SocketId, edge: EdgeId, persist: Persist, session: Option<Claim>) {
        let Some(memory) = self.memory() else { return };
        let stored = memory.bus().registry().stored_topics(edge);
        self.moves += 1;
        let attachment = self.attachments.entry(socket).or_default();
        match persist {
            Persist::Nothing => {}
            Persist::All => (attachment.stored, attachment.session) = (stored, session),
            Persist::Delta(delta) => attachment.stored.push(delta.to_json()),
            other => panic!("not known: {other:?}"),
        }
    }

    /// Sends an edge the reply to its follow, and what it missed.
    fn reply(
        &mut self,
        socket: SocketId,
        edge: EdgeId,
        frames: Vec<String>,
        now: Millis,
    ) -> Result<(), Violation> {
        for (place, text) in frames.into_iter().enumerate() {
            let note = if place == 0 {
                self.check_reply(&text)?;
                Note::Reply
            } else {
                self.check_replayed(&text)?;
                Note::Batch
            };
            self.send(socket, text, note, now);
        }
        self.record_sent(socket, edge);
        Ok(())
    }

    /// Stores what an edge was sent last.
    fn record_sent(&mut self, socket: SocketId, edge: EdgeId) {
        let Life::Awake(memory) = &self.life else {
            return;
        };
        let registry = memory.root.bus().registry();
        if let Some(attachment) = self.attachments.get_mut(&socket) {
            attachment.last = registry.last(edge);
            attachment.seq = registry.seq(edge).unwrap_or_default();
        }
    }

    pub(crate) fn send(&mut self, socket: SocketId, text: String, note: Note, now: Millis) {
        let text = if self.omits_previous {
            without_previous(text)
        } else {
            text
        };
        self.out.push(Out::Frame(socket, Frame { text, note }));
        if let Some(memory) = self.memory() {
            memory.behind.insert(socket);
            memory.settles_at = Some(now + SETTLE);
        }
    }

    pub(crate) fn is_awake(&self) -> bool {
        matches!(self.life, Life::Awake(_))
    }

    pub(crate) fn table(&mut self) -> &mut Table {
        &mut self.disk.table
    }

    /// The open sockets, and what is stored with them.
    pub(crate) fn attachments(&self) -> impl Iterator<Item = (&SocketId, &Attachment)> {
        self.attachments.iter()
    }

    /// Whether an edge here has the stream of a session.
    pub(crate) fn has_stream(&self, session: &str) -> bool {
        let mut claims = self.attachments.values().flat_map(|it| &it.session);
        claims.any(|claim| *claim.session == *session)
    }

    pub(crate) fn leave(&mut self, socket: SocketId, how: Close, now: Millis) {
        self.forget(socket, now);
        self.out.push(Out::Close(socket, how));
    }

    /// The state in memory; a hibernating bus is woken.
    pub(crate) fn memory(&mut self) -> Option<&mut Memory> {
        self.wake();
        match &mut self.life {
            Life::Awake(memory) => Some(memory),
            Life::Asleep | Life::Down(_) => None,
        }
    }

    /// Wakes a hibernating bus.
    pub(crate) fn wake(&mut self) {
        if !matches!(self.life, Life::Asleep) {
            return;
        }
        let mut memory = Memory::wake(&self.disk, &self.attachments, self.room, self.now);
        self.lives += 1;
        let over = std::mem::take(&mut memory.over);
        self.life = Life::Awake(Box::new(memory));
        for socket in over {
            self.leave(socket, Close::Lost, self.now);
        }
    }
}

const WINDOWS: [usize; 4] = [1_000, 12, 5, 2];
const SETTLE: Millis = Millis(200);
