use std::collections::{BTreeMap, BTreeSet};

use mcp_listen::{
    bus::{self, EdgeId},
    clock::Millis,
    position::{Cursor, Position},
    session::{ROOT, Sessions},
    wire::{Claim, decode_topics},
};

use crate::{
    disk::Disk,
    harness_bug::{self, HarnessBug},
    network::SocketId,
    session_rows::SessionRows,
};

/// The state that a restart or hibernation loses.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) core: bus::Bus,
    pub(crate) edges: BTreeMap<SocketId, EdgeId>,
    pub(crate) sockets: BTreeMap<EdgeId, SocketId>,
    pub(crate) sessions: Sessions<SessionRows>,
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
        now: Millis,
    ) -> Self {
        let mut memory = Self {
            core: disk.table.bus(cursor(disk), disk),
            edges: BTreeMap::new(),
            sockets: BTreeMap::new(),
            sessions: Sessions::new(disk.sessions.clone()),
            over: Vec::new(),
            behind: BTreeSet::new(),
            settles_at: None,
        };
        for (socket, attachment) in attachments {
            memory.restore(*socket, attachment);
        }
        memory.sessions.handle_shard_emptied(ROOT, now).unwrap();
        memory
    }

    pub(crate) fn enter(&mut self, socket: SocketId, edge: EdgeId) {
        self.edges.insert(socket, edge);
        self.sockets.insert(edge, socket);
    }

    fn restore(&mut self, socket: SocketId, attachment: &Attachment) {
        let edge = if attachment.stored.is_empty() {
            self.core.connect()
        } else {
            let texts = attachment.stored.iter().map(String::as_str);
            let last = attachment.last;
            let last = last.filter(|_| !harness_bug::has(HarnessBug::ForgetsLastSent));
            let topics = decode_topics(texts).unwrap();
            self.core.restore(&topics, last, attachment.seq)
        };
        self.enter(socket, edge);
        if let Some(claim) = &attachment.session {
            match self.sessions.restore(claim, edge).unwrap() {
                Some(interest) => drop(self.core.set_interest(
                    edge,
                    &interest.uris,
                    interest.is_paused,
                )),
                None => self.over.push(socket),
            }
        }
    }
}

/// The cursor of a bus that wakes.
fn cursor(disk: &Disk) -> Cursor {
    let mut cursor = disk.cursor();
    if harness_bug::has(HarnessBug::ReusesPosition) {
        cursor.position = cursor.position.previous();
    }
    cursor
}
