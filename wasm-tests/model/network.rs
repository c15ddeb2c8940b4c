use std::collections::{BTreeMap, VecDeque};

use crate::{invariant::Violation, socket_check::SocketCheck};

/// The sockets between edges and their bus. A held pipe keeps what is sent until it is delivered
/// explicitly; faults affect what waits there, or else what is sent next.
#[derive(Debug, Default)]
pub(crate) struct Network {
    sockets: BTreeMap<SocketId, Socket>,
    next: usize,
    /// Whether the pipes of new sockets are held.
    holds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(crate) usize);

#[expect(clippy::struct_excessive_bools, reason = "each has a distinct message")]
#[derive(Debug)]
pub(crate) struct Socket {
    /// Whether its edge cannot detect gaps, because frames name no previous position.
    pub(crate) is_blind: bool,
    /// Whether the edge may have missed a frame that it cannot notice before the next one.
    pub(crate) has_hole: bool,
    /// Whether a fault affected a frame.
    pub(crate) is_hurt: bool,
    /// Whether the request at the edge's end is stopped.
    is_frozen: bool,
    check: SocketCheck,
    to_bus: Pipe,
    to_edge: Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToBus,
    ToEdge,
}

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) text: String,
    pub(crate) note: Note,
}

/// What a frame contains, for the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Follow,
    Detach,
    Reply,
    SessionInterest,
    Batch,
    Broken,
}

/// How a socket was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Lost,
    /// The shard accepts no edges any more: the root has to be asked for another one.
    Moved,
    /// The bus closes the stream permanently.
    Over,
    /// The bus has no room for the names.
    Full,
}

#[derive(Clone, Debug)]
pub(crate) enum Arrival {
    Frame(Frame),
    Closed(Close),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Drop,
    Duplicate,
    Swap,
    Truncate,
}

#[derive(Debug, Default)]
struct Pipe {
    frames: VecDeque<Frame>,
    is_paused: bool,
    closing: Option<Close>,
    is_closed: bool,
    /// The fault of the next frame.
    armed: Option<Fault>,
    /// A frame that the next one overtakes.
    aside: Option<Frame>,
}

impl Network {
    pub(crate) fn new(holds: bool) -> Self {
        Self {
            holds,
            ..Self::default()
        }
    }

    pub(crate) fn connect(&mut self, is_blind: bool) -> SocketId {
        let pipe = || Pipe {
            is_paused: self.holds,
            ..Pipe::default()
        };
        let (to_bus, to_edge) = (pipe(), pipe());
        let id = SocketId(self.next);
        self.next += 1;
        self.sockets.insert(
            id,
            Socket {
                is_blind,
                has_hole: false,
                is_hurt: false,
                is_frozen: false,
                check: SocketCheck::default(),
                to_bus,
                to_edge,
            },
        );
        id
    }

    pub(crate) fn get(&self, id: SocketId) -> Option<&Socket> {
        self.sockets.get(&id)
    }

    pub(crate) fn send(&mut self, id: SocketId, way: Way, frame: Frame) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let pipe = socket.pipe(way);
        if pipe.closing.is_some() || pipe.is_closed {
            return;
        }
        let fault = pipe.armed;
        pipe.push(frame);
        socket.note(fault);
    }

    /// Checks what the bus is about to send, before any fault affects it.
    pub(crate) fn check_sent(&mut self, id: SocketId, text: &str) -> Result<(), Violation> {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Ok(());
        };
        if socket.to_edge.closing.is_some() || socket.to_edge.is_closed {
            return Ok(());
        }
        socket.check.send(text, socket.is_blind)
    }

    /// The end is reported after what was sent before.
    pub(crate) fn close(&mut self, id: SocketId, way: Way, how: Close) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            let pipe = socket.pipe(way);
            pipe.restore();
            pipe.closing.get_or_insert(how);
        }
    }

    /// Frames in flight are lost, and both ends notice.
    pub(crate) fn cut(&mut self, id: SocketId) {
        for way in [Way::ToBus, Way::ToEdge] {
            if let Some(socket) = self.sockets.get_mut(&id) {
                let pipe = socket.pipe(way);
                pipe.aside = None;
                pipe.frames.clear();
            }
            self.close(id, way, Close::Lost);
        }
    }

    pub(crate) fn set_paused(&mut self, id: SocketId, way: Way, is_paused: bool) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.pipe(way).is_paused = is_paused;
        }
    }

    /// The request at the edge's end stops, or continues.
    pub(crate) fn set_frozen(&mut self, id: SocketId, is_frozen: bool) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.is_frozen = is_frozen;
        }
    }

    /// Whether everything arrives at once and unchanged.
    pub(crate) fn is_calm(&self) -> bool {
        !self.holds && self.sockets.values().all(Socket::is_calm)
    }

    /// The next delivery that needs no step.
    pub(crate) fn next_arrival(&mut self) -> Option<(SocketId, Way, Arrival)> {
        let ways = [Way::ToBus, Way::ToEdge];
        let found = self.sockets.iter().find_map(|(id, socket)| {
            let way = ways.into_iter().find(|way| socket.has_arrival(*way))?;
            Some((*id, way))
        });
        let (id, way) = found?;
        let arrival = self.arrive(id, way)?;
        Some((id, way, arrival))
    }

    /// The next delivery on one pipe, held or not.
    pub(crate) fn arrive(&mut self, id: SocketId, way: Way) -> Option<Arrival> {
        let socket = self.sockets.get_mut(&id)?;
        if socket.is_frozen && way == Way::ToEdge {
            return None;
        }
        let pipe = socket.pipe(way);
        if let Some(frame) = pipe.frames.pop_front() {
            if way == Way::ToBus {
                socket.check.receive(&frame.text);
            }
            return Some(Arrival::Frame(frame));
        }
        let how = pipe.closing.take()?;
        pipe.is_closed = true;
        if socket.to_bus.is_closed && socket.to_edge.is_closed {
            self.sockets.remove(&id);
        }
        Some(Arrival::Closed(how))
    }

    /// This end is closed.
    pub(crate) fn shut(&mut self, id: SocketId, way: Way) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            let is_paused = socket.pipe(way).is_paused;
            *socket.pipe(way) = Pipe {
                is_paused,
                is_closed: true,
                ..Pipe::default()
            };
            if socket.to_bus.is_closed && socket.to_edge.is_closed {
                self.sockets.remove(&id);
            }
        }
    }

    /// A fault affects a waiting frame, or the next one if none waits. Returns what it affected.
    pub(crate) fn hurt(
        &mut self,
        id: SocketId,
        way: Way,
        fault: Fault,
        spin: u8,
    ) -> Option<String> {
        let socket = self.sockets.get_mut(&id)?;
        if socket.is_blind && way == Way::ToEdge {
            return None;
        }
        let pipe = socket.pipe(way);
        if pipe.is_closed || pipe.closing.is_some() {
            return None;
        }
        let Some(last) = pipe.frames.len().checked_sub(1) else {
            pipe.armed = Some(fault);
            return Some("the next frame".to_owned());
        };
        let at = usize::from(spin) % (last + 1);
        let what = format!("{:?}", pipe.frames[at].note);
        pipe.hurt(at, fault);
        socket.note(Some(fault));
        Some(what)
    }

    /// The bus drops this socket silently.
    pub(crate) fn forget(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.has_hole = true;
            socket.is_hurt = true;
        }
    }

    /// From now on everything is delivered.
    pub(crate) fn calm(&mut self) {
        self.holds = false;
        for socket in self.sockets.values_mut() {
            socket.is_frozen = false;
            for way in [Way::ToBus, Way::ToEdge] {
                let pipe = socket.pipe(way);
                pipe.is_paused = false;
                pipe.armed = None;
                pipe.restore();
            }
        }
    }
}

impl Socket {
    /// Whether everything arrives at once and unchanged.
    pub(crate) fn is_calm(&self) -> bool {
        let pipes = [&self.to_bus, &self.to_edge];
        !self.is_hurt && !self.is_frozen && pipes.into_iter().all(Pipe::is_calm)
    }

    /// An edge that gets an unreadable frame knows that something is missing.
    fn note(&mut self, fault: Option<Fault>) {
        self.is_hurt |= fault.is_some();
        self.has_hole |= !matches!(fault, None | Some(Fault::Truncate));
    }

    fn pipe(&mut self, way: Way) -> &mut Pipe {
        match way {
            Way::ToBus => &mut self.to_bus,
            Way::ToEdge => &mut self.to_edge,
        }
    }

    fn has_arrival(&self, way: Way) -> bool {
        let pipe = match way {
            Way::ToBus => &self.to_bus,
            Way::ToEdge => &self.to_edge,
        };
        let is_frozen = self.is_frozen && way == Way::ToEdge;
        !pipe.is_paused && !is_frozen && (!pipe.frames.is_empty() || pipe.closing.is_some())
    }
}

impl Pipe {
    fn push(&mut self, frame: Frame) {
        let overtaken = self.aside.take();
        match self.armed.take() {
            None => self.frames.push_back(frame),
            Some(Fault::Drop) => {}
            Some(Fault::Duplicate) => {
                self.frames.push_back(frame.clone());
                self.frames.push_back(frame);
            }
            Some(Fault::Swap) => self.aside = Some(frame),
            Some(Fault::Truncate) => self.frames.push_back(frame.truncated()),
        }
        self.frames.extend(overtaken);
    }

    fn is_calm(&self) -> bool {
        !self.is_paused && self.armed.is_none() && self.aside.is_none() && self.closing.is_none()
    }

    fn hurt(&mut self, at: usize, fault: Fault) {
        let Some(frame) = self.frames.get(at).cloned() else {
            return;
        };
        match fault {
            Fault::Drop => drop(self.frames.remove(at)),
            Fault::Duplicate => self.frames.insert(at, frame),
            Fault::Truncate => self.frames[at] = frame.truncated(),
            Fault::Swap if at + 1 < self.frames.len() => self.frames.swap(at, at + 1),
            Fault::Swap => {
                self.frames.remove(at);
                self.aside = Some(frame);
            }
        }
    }

    /// A frame that waits to be overtaken is released.
    fn restore(&mut self) {
        let aside = self.aside.take();
        self.frames.extend(aside);
    }
}

impl Frame {
    fn truncated(mut self) -> Self {
        self.text.truncate(self.text.len() / 2);
        self.note = Note::Broken;
        self
    }
}
