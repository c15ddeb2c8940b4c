use mcp_listen::{bus::Mark, clock::Millis, listen::Ending};

use crate::{
    bus::{Cut, Refusal},
    client::Client,
    host::Host,
    invariant::Violation,
    key::{Key, Keys, one_of},
    network::{Fault, SocketId, Way},
    schedule::{Act, Step},
    world::World,
};

impl World {
    /// Does one step of a schedule, and whatever follows from it at once.
    pub(crate) fn step(&mut self, step: Step) -> Result<(), Violation> {
        self.spin = step.spin;
        self.disturbances += u64::from(step.act.disturbs());
        let what = step.what;
        match step.act {
            Act::Mail | Act::ResetShard | Act::SleepShard => self.move_shards(step)?,
            Act::Publish => self.publish(self.key(what), Cut::Never)?,
            Act::Burst => self.burst(step)?,
            Act::Crash => self.crash(step)?,
            Act::Stall | Act::Rouse | Act::Forbid => self.move_request(step)?,
            Act::Open => self.begin(step)?,
            Act::Wait => self.wait(what)?,
            Act::Return
            | Act::Leave
            | Act::Close
            | Act::Retire
            | Act::Pause
            | Act::Resume
            | Act::Read
            | Act::Watch
            | Act::Ready
            | Act::Unwatch => self.move_client(step)?,
            Act::Hold
            | Act::Release
            | Act::Deliver
            | Act::Drop
            | Act::Duplicate
            | Act::Swap
            | Act::Truncate
            | Act::Kill
            | Act::Forget => self.move_socket(step)?,
            Act::Hibernate
            | Act::Restart
            | Act::LoseDisk
            | Act::Down
            | Act::Up
            | Act::Trim
            | Act::Deploy => self.move_bus(step)?,
        }
        self.settle()
    }

    pub(crate) fn publish(&mut self, key: Key, cut: Cut) -> Result<(), Violation> {
        let number = self.ledger.now() + 1;
        let place = self.bus.publish(key, number, cut, self.now);
        self.note(|| format!("publish {} (event {number}): {place:?}", key.name()));
        if let Some(position) = place {
            let epoch = self.bus.disk().mark().epoch;
            self.ledger.write(key, Mark { epoch, position })?;
        }
        self.route();
        Ok(())
    }

    /// The bus is reset; what it had sent is lost or still arrives.
    pub(crate) fn reset_bus(&mut self, loses_frames: bool) {
        for socket in self.bus.reset() {
            self.lose_socket(socket, loses_frames);
        }
        self.forget_calls();
    }

    /// The keys that there are.
    fn keys(&self) -> Keys {
        Keys::or_all(self.setup.keys)
    }

    fn key(&self, what: u8) -> Key {
        one_of(self.keys().iter(), what).unwrap_or_default()
    }

    fn burst(&mut self, step: Step) -> Result<(), Violation> {
        for place in 0..2 + step.who % 4 {
            let what = step.what.wrapping_add(place.wrapping_mul(step.spin));
            self.publish(self.key(what), Cut::Never)?;
        }
        Ok(())
    }

    fn crash(&mut self, step: Step) -> Result<(), Violation> {
        let cut = match step.who % 4 {
            0 => Cut::BeforeLog,
            frames => Cut::After(usize::from(frames) - 1),
        };
        self.note(|| format!("the bus is reset in a publish: {cut:?}"));
        self.publish(self.key(step.what), cut)?;
        self.reset_bus(step.spin.is_multiple_of(2));
        Ok(())
    }

    fn begin(&mut self, step: Step) -> Result<(), Violation> {
        let live = self
            .clients
            .iter()
            .filter(|client| client.host.is_some())
            .count();
        if live >= MOST_STREAMS || self.clients.len() >= MOST_CLIENTS {
            return Ok(());
        }
        let keys = Keys::of_mask(step.what | step.spin).among(self.keys());
        let is_session = step.who % 8 > 4 && !self.setup.has_shards;
        let id = IDS[usize::from(step.who / 8) % IDS.len()];
        let at = self.clients.len();
        self.note(|| format!("client {at} opens a stream for {}", keys.names()));
        self.clients.push(if is_session {
            Client::session(keys.lists())
        } else {
            Client::subscriber(id, keys)
        });
        if is_session && !self.begin_session(at, step.spin.is_multiple_of(3)) {
            return Ok(());
        }
        for key in keys.resources().filter(|_| is_session) {
            self.watch(at, key, true);
        }
        self.open(at, usize::from(step.who / 32))
    }

    fn wait(&mut self, what: u8) -> Result<(), Violation> {
        let span = WAITS[usize::from(what) % WAITS.len()];
        self.note(|| format!("{span} ms pass"));
        self.pass(Millis(span))
    }

    fn move_client(&mut self, step: Step) -> Result<(), Violation> {
        let able: Vec<usize> = (0..self.clients.len())
            .filter(|at| self.clients[*at].can(step.act))
            .collect();
        let Some(place) = usize::from(step.who).checked_rem(able.len()) else {
            return Ok(());
        };
        let at = able[place];
        match step.act {
            Act::Return => self.come_back(at)?,
            Act::Leave => self.break_off(at, step)?,
            Act::Read => drop(self.read(at, 1 + usize::from(step.what % 4))?),
            Act::Watch => self.watch_one(at, step.what),
            Act::Unwatch => self.unwatch_one(at, step.what),
            Act::Ready => self.get_ready(at),
            Act::Pause => self.clients[at].is_eager = false,
            Act::Resume => self.clients[at].is_eager = true,
            _ => self.end(at, step),
        }
        self.note(|| format!("{:?} of client {at}", step.act));
        self.pump(at)
    }

    /// The connection of a client breaks, wherever it had come in what was written.
    fn break_off(&mut self, at: usize, step: Step) -> Result<(), Violation> {
        for _ in 0..step.what % 4 {
            self.read(at, 1)?;
        }
        self.drop_host(at)
    }

    /// Begins a session, unless there is one; the answer is whether there is one then.
    fn begin_session(&mut self, at: usize, is_held: bool) -> bool {
        if self.bus.refusal().is_none() && self.bus.disk().session(at).is_none() {
            self.bus.begin_session(at, is_held);
            let is_held = self
                .bus
                .disk()
                .session(at)
                .is_some_and(|session| session.is_held);
            self.clients[at].begin_anew(self.ledger.now(), !is_held);
        }
        self.bus.disk().session(at).is_some()
    }

    /// The client of a session says that it is ready.
    pub(crate) fn get_ready(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if !client.is_ready && self.bus.refusal().is_none() {
            client.is_ready = true;
            self.bus
                .change_session(at, self.now, |session| session.is_held = false);
            self.route();
        }
    }

    /// A session's client opens its stream again, from what it has read.
    pub(crate) fn come_back(&mut self, at: usize) -> Result<(), Violation> {
        let client = &self.clients[at];
        if client.is_session() && client.host.is_none() && self.begin_session(at, false) {
            self.open(at, 0)?;
        }
        Ok(())
    }

    fn watch_one(&mut self, at: usize, what: u8) {
        if let Some(key) = one_of(self.keys().resources(), what) {
            self.watch(at, key, true);
        }
    }

    fn unwatch_one(&mut self, at: usize, what: u8) {
        if let Some(key) = one_of(self.clients[at].wanted.resources(), what) {
            self.watch(at, key, false);
        }
    }

    fn watch(&mut self, at: usize, key: Key, watches: bool) {
        let client = &mut self.clients[at];
        let is_known = self.bus.disk().session(at).is_some() && self.bus.refusal().is_none();
        if !client.is_session() || !is_known {
            return;
        }
        if watches {
            client.watch(key, self.ledger.now());
        } else {
            client.unwatch(key);
        }
        self.bus.change_session(at, self.now, |session| {
            let former = session.watched;
            session.watched = if watches {
                former.with(key)
            } else {
                former.without(key)
            };
        });
        self.route();
    }

    fn end(&mut self, at: usize, step: Step) {
        let now = self.now;
        let Some((host, mut driven)) = self.driven(at) else {
            return;
        };
        if !host.is_open() {
            return;
        }
        if step.act == Act::Close {
            host.close(&mut driven);
        } else if step.what.is_multiple_of(2) {
            host.allow(Ending::Shed);
            driven.retire(Ending::Shed);
        } else {
            let at = now + Millis(u64::from(step.what) * 10);
            host.allow(Ending::Rotated);
            driven.retire_at(at, Ending::Rotated);
        }
    }

    /// Closes a stream gracefully.
    pub(crate) fn close(&mut self, at: usize) {
        if let Some((host, mut driven)) = self.driven(at) {
            host.close(&mut driven);
        }
    }

    fn move_socket(&mut self, step: Step) -> Result<(), Violation> {
        let sockets = self.isolates.iter().filter_map(|isolate| isolate.socket);
        let sockets: Vec<SocketId> = sockets.collect();
        if sockets.is_empty() {
            return Ok(());
        }
        let socket = sockets[usize::from(step.who) % sockets.len()];
        // Most of what can go wrong does so on the way to the edge.
        let way = if step.what % 4 == 3 {
            Way::ToBus
        } else {
            Way::ToEdge
        };
        self.note(|| format!("{:?} on socket {}, {way:?}", step.act, socket.0));
        match step.act {
            Act::Hold => self.network.set_held(socket, way, true),
            Act::Release => self.network.set_held(socket, way, false),
            Act::Deliver => self.deliver(socket, way, 1 + step.spin % 3)?,
            Act::Drop => self.hurt(socket, way, Fault::Drop),
            Act::Duplicate => self.hurt(socket, way, Fault::Duplicate),
            Act::Swap => self.hurt(socket, way, Fault::Swap),
            Act::Truncate => self.hurt(socket, way, Fault::Truncate),
            Act::Forget if self.setup.verifies => {
                self.forget_socket(socket);
                self.network.forget(socket);
            }
            Act::Forget => {}
            _ => self.kill(socket, step.what),
        }
        Ok(())
    }

    fn deliver(&mut self, socket: SocketId, way: Way, count: u8) -> Result<(), Violation> {
        for _ in 0..count {
            if let Some(arrival) = self.network.arrive(socket, way) {
                self.arrive(socket, way, arrival)?;
            }
        }
        Ok(())
    }

    fn hurt(&mut self, socket: SocketId, way: Way, fault: Fault) {
        let met = self.network.hurt(socket, way, fault, self.spin);
        self.note(|| format!("  {fault:?} meets {}", met.as_deref().unwrap_or("nothing")));
    }

    /// Either end may learn of it at once or later.
    fn kill(&mut self, socket: SocketId, what: u8) {
        for (way, is_late) in [(Way::ToEdge, what & 4 != 0), (Way::ToBus, what & 8 != 0)] {
            if is_late {
                self.network.set_held(socket, way, true);
            }
        }
        self.network.cut(socket);
    }

    fn move_bus(&mut self, step: Step) -> Result<(), Violation> {
        self.note(|| format!("{:?} of the bus", step.act));
        match step.act {
            Act::Hibernate => {
                self.pass(A_WHILE)?;
                let sleeps = self.bus.hibernate();
                self.shards.count_life(sleeps);
                self.note(|| format!("  it sleeps: {sleeps}"));
            }
            Act::Restart => self.reset_bus(step.what.is_multiple_of(2)),
            Act::LoseDisk => {
                self.has_forgotten = true;
                self.reset_bus(true);
                self.reset_shards();
                self.bus.lose_disk();
            }
            Act::Down => {
                self.reset_bus(step.what.is_multiple_of(2));
                self.bus
                    .go_down(REFUSALS[usize::from(step.spin) % REFUSALS.len()]);
            }
            Act::Up => self.bus.come_up(),
            // Of both versions only one knows shards, and adjustments.
            Act::Deploy if self.setup.has_shards || self.setup.shares => {}
            Act::Trim => self.bus.trim(1 + usize::from(step.what) % 8),
            _ => {
                for at in 0..self.clients.len() {
                    self.get_ready(at);
                }
                self.has_forgotten = true;
                self.reset_bus(false);
                self.bus.deploy();
            }
        }
        Ok(())
    }

    /// How many streams there are.
    pub(crate) fn streams(&mut self) -> Vec<usize> {
        self.hosts().map(|(at, _): (usize, &mut Host)| at).collect()
    }
}

const MOST_STREAMS: usize = 6;
const MOST_CLIENTS: usize = 12;
const IDS: [&str; 5] = ["1", "\"1\"", "0", "\"\"", "12345678901234567890"];
const WAITS: [u64; 12] = [
    1, 20, 100, 250, 700, 1_100, 2_000, 5_100, 16_000, 40_000, 70_000, 610_000,
];
const REFUSALS: [Refusal; 4] = [
    Refusal::Refused,
    Refusal::Silent,
    Refusal::Overloaded,
    Refusal::Refused,
];
const A_WHILE: Millis = Millis(250);
