use mcp_listen::{bus::EdgeMessage, edge::BusCall};

use crate::{
    bus::{Out, Refusal},
    invariant::Violation,
    network::{Arrival, Close, Frame, Note, SocketId, Way},
    world::World,
};

/// What goes on between hosts, network and bus.
impl World {
    /// What the bus wants sent goes into the network.
    pub(crate) fn route(&mut self) {
        let out = self.bus.take_out();
        self.hand_out(out);
    }

    pub(crate) fn hand_out(&mut self, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Frame(socket, frame) => {
                    self.note(|| format!("  bus to socket {}: {}", socket.0, frame.text));
                    self.network.send(socket, Way::ToEdge, frame);
                }
                Out::Close(socket, how) => {
                    self.network.close(socket, Way::ToEdge, how);
                    self.network.shut(socket, Way::ToBus);
                }
            }
        }
    }

    pub(crate) fn arrive(
        &mut self,
        socket: SocketId,
        way: Way,
        arrival: Arrival,
    ) -> Result<(), Violation> {
        match (way, arrival) {
            (Way::ToBus, Arrival::Frame(frame)) => {
                let now = self.now;
                match self.shards.object_of(socket) {
                    Some(shard) => shard.receive(socket, &frame.text, now),
                    None => self.bus.receive(socket, &frame.text, now)?,
                }
                self.collect_mail();
                Ok(())
            }
            (Way::ToBus, Arrival::Closed(_)) => {
                self.forget_socket(socket);
                Ok(())
            }
            (Way::ToEdge, arrival) => {
                let at = self.hosts().find(|(_, host)| host.socket == Some(socket));
                let Some((at, _)) = at else { return Ok(()) };
                match arrival {
                    Arrival::Frame(frame) => self.hear(at, frame),
                    Arrival::Closed(how) => self.lose(at, how, false),
                }
            }
        }
    }

    fn hear(&mut self, at: usize, frame: Frame) -> Result<(), Violation> {
        let now = self.now;
        self.note(|| format!("  edge {at} hears {}", frame.text));
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.receive(frame, now)?;
        self.pump(at)
    }

    fn lose(&mut self, at: usize, how: Close, is_overloaded: bool) -> Result<(), Violation> {
        let random = self.random();
        let now = self.now;
        self.note(|| format!("  edge {at} loses its bus"));
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        if how == Close::Moved {
            host.home = None;
            host.moves += 1;
        }
        if host.is_opening() {
            host.socket = None;
            self.drop_host(at);
            return Ok(());
        }
        if how == Close::Over {
            host.abort();
        } else {
            host.lose(now, random, is_overloaded);
        }
        self.pump(at)
    }

    /// Does what the core asks for; the answer is whether it asked for anything.
    pub(crate) fn tend(&mut self, at: usize) -> Result<bool, Violation> {
        let now = self.now;
        let mut calls = Vec::new();
        if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
            while let Some(call) = host.poll_call(now) {
                calls.push(call);
            }
        }
        for call in &calls {
            self.note(|| format!("  edge {at} calls for {call:?}"));
            match call {
                BusCall::Leave => self.leave(at),
                BusCall::Attach => self.connect(at),
                BusCall::Ask => self.ask(at),
            }
        }
        if !calls.is_empty() {
            self.pump(at)?;
        }
        Ok(!calls.is_empty())
    }

    pub(crate) fn connect(&mut self, at: usize) {
        self.leave(at);
        let known = self.hosts().find(|(known, _)| *known == at);
        let home = known.and_then(|(_, host)| host.home);
        let refusal = self.bus.refusal();
        match refusal.filter(|_| home.is_none()) {
            Some(Refusal::Silent) => {
                let now = self.now;
                if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
                    host.hang(now);
                }
            }
            Some(refusal) => {
                let is_overloaded = refusal == Refusal::Overloaded;
                // Nothing was written to a stream that is refused, so there is nothing to check.
                drop(self.lose(at, Close::Lost, is_overloaded));
            }
            None => {
                let is_blind = self.bus.is_old()
                    || self.hosts().any(|(known, host)| known == at && host.is_old);
                let socket = self.network.connect(is_blind);
                if !self.seat(socket, home) {
                    self.network.cut(socket);
                    drop(self.lose(at, Close::Moved, false));
                    return;
                }
                let home = self.shards.home(socket);
                if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
                    host.socket = Some(socket);
                    host.home = home;
                }
                self.ask(at);
            }
        }
    }

    /// The bus, or the shard that has it, forgets a socket.
    pub(crate) fn forget_socket(&mut self, socket: SocketId) {
        let now = self.now;
        match self.shards.object_of(socket) {
            Some(shard) => shard.forget(socket, now),
            None => self.bus.forget(socket),
        }
        self.collect_mail();
    }

    /// The bus's end of a socket is gone, and what was on its way perhaps too.
    pub(crate) fn lose_socket(&mut self, socket: SocketId, loses_frames: bool) {
        if loses_frames {
            self.network.cut(socket);
        } else {
            self.network.close(socket, Way::ToEdge, Close::Lost);
        }
        self.network.shut(socket, Way::ToBus);
    }

    fn ask(&mut self, at: usize) {
        let found = self.hosts().find(|(known, _)| *known == at);
        let frame = found.and_then(|(_, host)| Some((host.socket?, host.attach_message())));
        if let Some((socket, frame)) = frame {
            self.note(|| format!("  edge {at} on socket {}: {}", socket.0, frame.text));
            self.network.send(socket, Way::ToBus, frame);
        }
    }

    pub(crate) fn leave(&mut self, at: usize) {
        let found = self.hosts().find(|(known, _)| *known == at);
        let socket = found.and_then(|(_, host)| host.socket.take());
        if let Some(socket) = socket {
            let text = EdgeMessage::Detach.to_json();
            let note = Note::Detach;
            self.network.send(socket, Way::ToBus, Frame { text, note });
            self.network.close(socket, Way::ToBus, Close::Lost);
            self.network.shut(socket, Way::ToEdge);
        }
    }
}
