use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{Bus, EdgeId},
    clock::Millis,
    position::Position,
    root,
    session::Sessions,
    wire::{Claim, decode_topics},
};

use crate::{
    disk::Disk,
    harness_bug::{self, HarnessBug},
    log::Log,
    network::SocketId,
    room::Room,
    session_rows::SessionRows,
};

pub(crate) type Root = root::Root<Log, SessionRows>;

/// The state that a restart or hibernation loses.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) root: Root,
    pub(crate) edges: BTreeMap<SocketId, EdgeId>,
    pub(crate) sockets: BTreeMap<EdgeId, SocketId>,
    /// The sockets of ended sessions, which have to be closed.
    pub(crate) over: Vec<SocketId>,
    /// Sockets whose attachments do not record yet what was sent last.
    pub(crate) behind: BTreeSet<SocketId>,
    pub(crate) settles_at: Option<Millis>,
}

/// What a hibernating bus stores with a socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachment {
    /// The topics of the edge, then each change; empty if it follows nothing.
    pub(crate) stored: Vec<String>,
    /// The claim of the edge that has the stream of a session.
    pub(crate) session: Option<Claim>,
    pub(crate) last: Option<Position>,
    pub(crate) seq: u64,
}

impl Memory {
    /// The state of a bus that wakes: what is on disk, and what was stored with its sockets.
    pub(crate) fn wake(
        disk: &Disk,
        attachments: &BTreeMap<SocketId, Attachment>,
        room: Option<Room>,
        now: Millis,
    ) -> Self {
        let mut memory = Self {
            root: Root::new(disk.log.clone(), Some(disk.sessions.clone())),
            edges: BTreeMap::new(),
            sockets: BTreeMap::new(),
            over: Vec::new(),
            behind: BTreeSet::new(),
            settles_at: None,
        };
        if let Some(room) = room {
            room.limit_bus(memory.bus());
        }
        disk.table.restore(&mut memory.root);
        for (socket, attachment) in attachments {
            memory.restore(*socket, attachment);
        }
        memory.root.handle_restored(now).unwrap();
        memory
    }

    pub(crate) fn bus(&mut self) -> &mut Bus {
        self.root.bus_mut()
    }

    pub(crate) fn sessions(&mut self) -> &mut Sessions<SessionRows> {
        self.root.sessions_mut().unwrap()
    }

    pub(crate) fn enter(&mut self, socket: SocketId, edge: EdgeId) {
        self.edges.insert(socket, edge);
        self.sockets.insert(edge, socket);
    }

    fn restore(&mut self, socket: SocketId, attachment: &Attachment) {
        let Attachment {
            stored,
            session,
            last,
            seq,
        } = attachment;
        let edge = if stored.is_empty() {
            Some(self.bus().connect())
        } else {
            let last = last.filter(|_| !harness_bug::has(HarnessBug::ForgetsLastSent));
            let topics = decode_topics(stored.iter().map(String::as_str)).unwrap();
            let restored = self.root.restore(&topics, last, *seq, session.as_ref());
            restored.unwrap()
        };
        match edge {
            Some(edge) => self.enter(socket, edge),
            None => self.over.push(socket),
        }
    }
}
