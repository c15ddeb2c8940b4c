use mcp_listen::clock::Millis;

use crate::{
    bus::Out,
    invariant::Violation,
    isolate::Isolate,
    network::{Arrival, Close, SocketId, Way},
    world::World,
};

/// The steps between hosts, network and bus.
impl World {
    /// The frames of the bus go into the network.
    pub(crate) fn route(&mut self) {
        let out = self.bus.take_out();
        self.hand_out(out);
    }

    pub(crate) fn hand_out(&mut self, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Frame(socket, frame) => {
                    self.note(|| format!("  bus to socket {}: {}", socket.0, frame.text));
                    let sent = self.network.check_sent(socket, &frame.text);
                    self.record(sent);
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
                self.register.observe(&self.bus, now)
            }
            (Way::ToBus, Arrival::Closed(_)) => {
                self.forget_socket(socket);
                self.register.observe(&self.bus, self.now)
            }
            (Way::ToEdge, arrival) => {
                let mut lines = self.isolates.iter();
                let Some(place) = lines.position(|line| line.socket == Some(socket)) else {
                    return Ok(());
                };
                match arrival {
                    Arrival::Frame(frame) => self.receive_on_line(place, &frame),
                    Arrival::Closed(how) => self.lose_line(place, how, false),
                }
            }
        }
    }

    /// Opens a stream: on the connection that its isolate shares, if it may, or on a separate one.
    pub(crate) fn connect(&mut self, at: usize) -> Result<(), Violation> {
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        let place = host.origin;
        let Isolate { shares, holder, .. } = &self.isolates[place];
        let (shares, is_first) = (*shares, holder.is_none());
        let may_share = self.setup.shares && shares != Some(false);
        if !may_share || !self.has_room_at(at, place) {
            return self.join_alone(at);
        }
        let (_, span) = self.write_probe();
        if shares == Some(true) || is_first {
            return self.join_isolate(at, place);
        }
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.probed_at = Some(now + span);
        if span == Millis(0) {
            return self.decide(at);
        }
        Ok(())
    }

    /// The write probe decides whether streams share a connection here. One that takes too long
    /// only decides for this stream, until that has happened a few times.
    pub(crate) fn decide(&mut self, at: usize) -> Result<(), Violation> {
        let (works, _) = self.write_probe();
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        host.probed_at = None;
        let place = host.origin;
        let isolate = &mut self.isolates[place];
        isolate.write_probes = isolate.write_probes.saturating_add(1);
        if works || isolate.write_probes >= MAX_WRITE_PROBES {
            isolate.shares.get_or_insert(works);
        }
        self.note(|| format!("  the write probe of client {at} returns {works}"));
        if works {
            return self.join_isolate(at, place);
        }
        self.join_alone(at)
    }

    fn write_probe(&self) -> (bool, Millis) {
        WRITE_PROBES[usize::from(self.setup.write_probe) % WRITE_PROBES.len()]
    }

    /// The bus, or the shard that has it, drops a socket.
    pub(crate) fn forget_socket(&mut self, socket: SocketId) {
        let now = self.now;
        match self.shards.object_of(socket) {
            Some(shard) => shard.forget(socket, now),
            None => self.bus.forget(socket, now),
        }
        self.collect_mail();
    }

    /// The bus's end of a socket is lost, and possibly the frames in flight.
    pub(crate) fn lose_socket(&mut self, socket: SocketId, loses_frames: bool) {
        if loses_frames {
            self.network.cut(socket);
        } else {
            self.network.close(socket, Way::ToEdge, Close::Lost);
        }
        self.network.shut(socket, Way::ToBus);
    }

    pub(crate) fn leave(&mut self, at: usize) -> Result<(), Violation> {
        let found = self.hosts().find(|(known, _)| *known == at);
        let Some((_, host)) = found else {
            return Ok(());
        };
        host.probed_at = None;
        if let Some(id) = host.stream.take() {
            let place = host.isolate;
            return self.remove(place, id);
        }
        Ok(())
    }
}

/// The result of the write probe of an isolate, and its duration.
const WRITE_PROBES: [(bool, Millis); 4] = [
    (true, Millis(0)),
    (true, Millis(700)),
    (false, Millis(0)),
    (false, Millis(1_000)),
];
const MAX_WRITE_PROBES: u8 = 3;
