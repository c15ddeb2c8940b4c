use mcp_listen::{clock::Millis, edge::BusCall};

use crate::{
    bus::{Out, Refusal},
    invariant::Violation,
    isolate::MOST_HOPS,
    network::{Arrival, Close, Frame, SocketId, Way},
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
                let mut lines = self.isolates.iter();
                if let Some(place) = lines.position(|line| line.socket == Some(socket)) {
                    return match arrival {
                        Arrival::Frame(frame) => self.hear_on_line(place, &frame),
                        Arrival::Closed(how) => self.lose_line(place, how, false),
                    };
                }
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
            if !host.has_heard && host.hops < MOST_HOPS {
                host.hops += 1;
                host.socket = None;
                return self.connect_alone(at);
            }
        }
        if host.is_opening() {
            host.socket = None;
            return self.refuse(at);
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
                BusCall::Leave => self.leave(at)?,
                BusCall::Attach => self.connect(at)?,
                BusCall::Ask => self.ask(at),
            }
        }
        if !calls.is_empty() {
            self.pump(at)?;
        }
        Ok(!calls.is_empty())
    }

    /// Attaches a stream: on the line of its isolate, where it may, or on a socket of its own.
    pub(crate) fn connect(&mut self, at: usize) -> Result<(), Violation> {
        self.leave(at)?;
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        let (place, shares, since) = (host.isolate, host.shares, host.since());
        host.has_heard = false;
        host.hops = 0;
        let (verdict, is_first, name) = {
            let isolate = &self.isolates[place];
            (
                isolate.verdict,
                isolate.holder.is_none(),
                isolate.name.clone(),
            )
        };
        let goes_on = since.is_none_or(|since| since.epoch.contains(&name));
        if !shares || !goes_on || verdict == Some(false) {
            return self.connect_alone(at);
        }
        let (_, span) = self.trial();
        if verdict == Some(true) || is_first {
            self.ride(at);
            return Ok(());
        }
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.tried_at = Some(now + span);
        if span == Millis(0) {
            return self.decide(at);
        }
        Ok(())
    }

    /// The trial says whether streams share a connection here. One that takes too long says nothing but
    /// that this stream goes alone, until it has been so a few times.
    pub(crate) fn decide(&mut self, at: usize) -> Result<(), Violation> {
        let (works, _) = self.trial();
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.tried_at = None;
        let place = host.isolate;
        let isolate = &mut self.isolates[place];
        isolate.trials = isolate.trials.saturating_add(1);
        if works || isolate.trials >= MOST_TRIALS {
            isolate.verdict.get_or_insert(works);
        }
        self.note(|| format!("  the trial says {works} to client {at}"));
        if works {
            self.ride(at);
            return Ok(());
        }
        self.connect_alone(at)
    }

    fn trial(&self) -> (bool, Millis) {
        TRIALS[usize::from(self.setup.trial) % TRIALS.len()]
    }

    fn connect_alone(&mut self, at: usize) -> Result<(), Violation> {
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
                return self.lose(at, Close::Lost, is_overloaded);
            }
            None => {
                let is_blind = self.bus.is_old()
                    || self.hosts().any(|(known, host)| known == at && host.is_old);
                let socket = self.network.connect(is_blind);
                if !self.seat(socket, home) {
                    self.network.cut(socket);
                    if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
                        host.home = None;
                    }
                    return self.lose(at, Close::Lost, false);
                }
                let home = self.shards.home(socket);
                if let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) {
                    host.socket = Some(socket);
                    host.home = home;
                }
                self.ask(at);
            }
        }
        Ok(())
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
        if self
            .hosts()
            .any(|(known, host)| known == at && host.is_riding)
        {
            return self.ask_line(at);
        }
        let found = self.hosts().find(|(known, _)| *known == at);
        let frame = found.and_then(|(_, host)| Some((host.socket?, host.attach_message())));
        if let Some((socket, frame)) = frame {
            self.note(|| format!("  edge {at} on socket {}: {}", socket.0, frame.text));
            self.network.send(socket, Way::ToBus, frame);
        }
    }

    pub(crate) fn leave(&mut self, at: usize) -> Result<(), Violation> {
        let found = self.hosts().find(|(known, _)| *known == at);
        let Some((_, host)) = found else {
            return Ok(());
        };
        host.tried_at = None;
        if host.is_riding {
            return self.alight(at);
        }
        if let Some(socket) = host.socket.take() {
            self.leave_socket(socket, false);
        }
        Ok(())
    }
}

/// What the trial of an isolate says, and after how long.
const TRIALS: [(bool, Millis); 4] = [
    (true, Millis(0)),
    (true, Millis(700)),
    (false, Millis(0)),
    (false, Millis(1_000)),
];
const MOST_TRIALS: u8 = 3;
