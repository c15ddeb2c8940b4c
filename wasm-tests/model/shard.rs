use std::collections::BTreeMap;

use mcp_listen::{
    bus::{
        Delivery, EdgeCloseReason, EdgeId, FollowCall, Persist, Shard, ShardOutput, ShardReceived,
    },
    clock::Millis,
    position::Cursor,
    topic::Delta,
    wire::{BusMessage, decode_topics},
};

use crate::{
    bus::Out,
    invariant::Violation,
    memory::Attachment,
    network::{Close, Frame, Note, SocketId},
    room::Room,
    table::PER_SHARD,
};

/// The object around a [`Shard`]: its sockets, and what it stores while it hibernates.
#[derive(Debug)]
pub(crate) struct ShardObject {
    life: Option<Life>,
    attachments: BTreeMap<SocketId, Attachment>,
    /// Durable: the number of its last call, and its cursor when it hibernated.
    seq: u64,
    cursor: Option<Cursor>,
    /// The calls about sessions that are done.
    done: Vec<u32>,
    /// The limits on names.
    pub(crate) room: Option<Room>,
}

#[derive(Debug)]
struct Life {
    shard: Shard,
    edges: BTreeMap<SocketId, EdgeId>,
}

impl ShardObject {
    pub(crate) fn new(room: Option<Room>) -> Self {
        Self {
            life: None,
            attachments: BTreeMap::new(),
            seq: 0,
            cursor: None,
            done: Vec::new(),
            room,
        }
    }

    /// Connects a socket; returns whether there is room.
    pub(crate) fn connect(&mut self, socket: SocketId) -> bool {
        let is_full = self.attachments.len() >= usize::try_from(PER_SHARD).unwrap_or_default();
        let life = self.life();
        if is_full || life.shard.is_retired() {
            return false;
        }
        let edge = life.shard.connect();
        life.edges.insert(socket, edge);
        self.attachments.insert(socket, Attachment::default());
        true
    }

    pub(crate) fn receive(&mut self, socket: SocketId, text: &str, now: Millis) {
        let life = self.life();
        let Some(edge) = life.edges.get(&socket).copied() else {
            return;
        };
        match life.shard.handle_message(edge, text, now) {
            Ok(ShardReceived::Followed {
                persist: keeps,
                session,
            }) => match keeps {
                Persist::Nothing => {}
                Persist::All => {
                    self.keep(socket, edge);
                    self.attachments.entry(socket).or_default().session = session;
                }
                Persist::Delta(delta) => self.keep_change(socket, &delta),
                other => panic!("not known: {other:?}"),
            },
            Ok(ShardReceived::Detached) => self.let_go(socket),
            Ok(other) => panic!("not known: {other:?}"),
            Err(_) => {}
        }
    }

    pub(crate) fn forget(&mut self, socket: SocketId, now: Millis) {
        self.attachments.remove(&socket);
        let life = self.life();
        if let Some(edge) = life.edges.remove(&socket) {
            life.shard.disconnect(edge, now);
        }
    }

    pub(crate) fn handle_batch(&mut self, text: &str, now: Millis) -> Result<String, Violation> {
        let ack = self.life().shard.handle_batch(text, now);
        ack.map_err(|_| Violation::new("calls are understood", text.to_owned()))
    }

    pub(crate) fn handle_response(&mut self, seq: u64, text: &str, now: Millis, random: f64) {
        self.life().shard.handle_response(seq, text, now, random);
    }

    pub(crate) fn handle_failure(
        &mut self,
        seq: u64,
        is_overloaded: bool,
        now: Millis,
        random: f64,
    ) {
        self.life()
            .shard
            .handle_failure(seq, is_overloaded, now, random);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        self.life.as_ref()?.shard.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Millis, random: f64) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            self.life().shard.handle_timeout(now, random);
        }
    }

    pub(crate) fn poll_call(&mut self, now: Millis) -> Option<FollowCall> {
        let call = self.life.as_mut()?.shard.poll_call(now)?;
        self.seq = call.seq;
        Some(call)
    }

    /// The frames to send and the sockets to close.
    pub(crate) fn take_out(&mut self) -> Vec<Out> {
        let mut out = Vec::new();
        while let Some(output) = self.life.as_mut().and_then(|life| life.shard.poll_output()) {
            match output {
                ShardOutput::Send(Delivery { message, edges, .. }) => {
                    let note = note_of(&message);
                    for socket in edges.into_iter().filter_map(|edge| self.socket(edge)) {
                        let text = message.clone();
                        out.push(Out::Frame(socket, Frame { text, note }));
                    }
                }
                ShardOutput::PersistAll(edge) => {
                    if let Some(socket) = self.socket(edge) {
                        self.keep(socket, edge);
                    }
                }
                ShardOutput::Close(edge, reason) => {
                    if let Some(socket) = self.socket(edge) {
                        self.let_go(socket);
                        out.push(Out::Close(socket, close_of(reason)));
                    }
                }
                ShardOutput::PersistChange(edge, change) => {
                    if let Some(socket) = self.socket(edge) {
                        self.keep_change(socket, &change);
                    }
                }
                ShardOutput::Done(ticket) => self.done.push(ticket),
                other => panic!("not known: {other:?}"),
            }
        }
        out
    }

    /// Handles a call of the root about a session; the ticket is in [`Self::take_done`] once that
    /// is done.
    /// is done.
    pub(crate) fn handle_session_call(&mut self, ticket: u32, text: &str) -> Result<(), Violation> {
        let confirmed = self.life().shard.handle_session_call(ticket, text);
        confirmed.map_err(|_| Violation::new("calls are understood", text.to_owned()))
    }

    pub(crate) fn take_done(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.done)
    }

    /// Hibernates, unless something is pending.
    pub(crate) fn hibernate(&mut self) -> bool {
        let Some(life) = &self.life else { return false };
        let is_idle = life.shard.is_settled() && life.shard.poll_timeout().is_none();
        if !is_idle || life.shard.is_retired() {
            return false;
        }
        self.cursor = life.shard.cursor().cloned();
        for (socket, edge) in &life.edges {
            if let Some(attachment) = self.attachments.get_mut(socket) {
                attachment.last = life.shard.registry().last(*edge);
                attachment.seq = life.shard.registry().seq(*edge).unwrap_or_default();
            }
        }
        self.life = None;
        true
    }

    /// Loses memory and sockets; returns the sockets.
    pub(crate) fn reset(&mut self) -> Vec<SocketId> {
        self.life = None;
        self.cursor = None;
        std::mem::take(&mut self.attachments).into_keys().collect()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.life
            .as_ref()
            .is_none_or(|life| life.shard.is_settled())
    }

    pub(crate) fn attached(&mut self) -> usize {
        self.life().shard.registry().attached()
    }

    /// Whether its bus has called it since it was reset.
    pub(crate) fn knows_its_bus(&mut self) -> bool {
        self.life().shard.cursor().is_some()
    }

    /// The bytes of the names of all edges.
    pub(crate) fn names(&mut self) -> usize {
        self.life().shard.registry().name_bytes()
    }

    /// The most bytes of names of an edge without a session.
    pub(crate) fn most_names(&self) -> usize {
        let Some(life) = &self.life else { return 0 };
        let edges = life.edges.iter();
        let edges = edges.filter(|(socket, _)| self.attachments[*socket].session.is_none());
        let bytes = edges.map(|(_, edge)| life.shard.registry().name_bytes_of(*edge));
        bytes.max().unwrap_or_default()
    }

    fn keep(&mut self, socket: SocketId, edge: EdgeId) {
        let stored = self.life().shard.registry().stored_topics(edge);
        if let Some(attachment) = self.attachments.get_mut(&socket) {
            attachment.stored = stored;
        }
    }

    fn keep_change(&mut self, socket: SocketId, delta: &Delta) {
        if let Some(attachment) = self.attachments.get_mut(&socket) {
            attachment.stored.push(delta.to_json());
        }
    }

    fn let_go(&mut self, socket: SocketId) {
        self.attachments.remove(&socket);
        if let Some(life) = &mut self.life {
            life.edges.remove(&socket);
        }
    }

    fn socket(&self, edge: EdgeId) -> Option<SocketId> {
        let mut edges = self.life.as_ref()?.edges.iter();
        let (socket, _) = edges.find(|(_, known)| **known == edge)?;
        Some(*socket)
    }

    /// The state in memory; a hibernating shard is woken.
    fn life(&mut self) -> &mut Life {
        let (seq, cursor, attachments) = (self.seq, &self.cursor, &self.attachments);
        let room = self.room;
        self.life.get_or_insert_with(|| {
            let mut shard = Shard::new(seq);
            if let Some(room) = room {
                room.limit_shard(&mut shard);
            }
            wake(shard, cursor.as_ref(), attachments)
        })
    }
}

fn wake(
    mut shard: Shard,
    cursor: Option<&Cursor>,
    attachments: &BTreeMap<SocketId, Attachment>,
) -> Life {
    if let Some(cursor) = cursor.filter(|_| !attachments.is_empty()) {
        shard = shard.woken(cursor.clone());
    }
    let restored = attachments.iter().map(|(socket, attachment)| {
        let texts = attachment.stored.iter().map(String::as_str);
        let edge = if attachment.stored.is_empty() {
            shard.connect()
        } else {
            let Attachment {
                last, seq, session, ..
            } = attachment;
            shard.restore(&decode_topics(texts).unwrap(), *last, *seq, session.clone())
        };
        (*socket, edge)
    });
    let edges = restored.collect();
    Life { shard, edges }
}

fn note_of(frame: &str) -> Note {
    match BusMessage::from_json(frame) {
        Ok(BusMessage::Response(_)) => Note::Reply,
        Ok(BusMessage::Batch(_)) => Note::Batch,
        Ok(BusMessage::SessionInterest { .. }) => Note::SessionInterest,
        _ => Note::Broken,
    }
}

/// How a socket is closed.
pub(crate) fn close_of(reason: EdgeCloseReason) -> Close {
    match reason {
        EdgeCloseReason::Full => Close::Full,
        EdgeCloseReason::Redirected => Close::Moved,
        EdgeCloseReason::Over => Close::Over,
        _ => Close::Lost,
    }
}
