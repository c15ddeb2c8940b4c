use mcp_listen::{clock::Millis, listen::EndReason, position::Cursor};

use crate::{
    bus::{Cut, Refusal},
    client::Client,
    host::Host,
    invariant::Violation,
    key::{Key, Keys, one_of},
    network::{Fault, SocketId, Way},
    request::Asks,
    schedule::{Act, Step},
    watching::Watching,
    world::World,
};

impl World {
    /// Carries out one step of a schedule, with its immediate consequences.
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
            | Act::TakeOver
            | Act::Ping
            | Act::EndSession
            | Act::Unwatch => self.move_client(step)?,
            Act::Block
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
            let epoch = self.bus.disk().cursor().epoch;
            self.ledger.write(key, Cursor { epoch, position })?;
        }
        self.route();
        Ok(())
    }

    /// The bus is reset; what it had sent is lost or still arrives.
    pub(crate) fn reset_bus(&mut self, loses_frames: bool) -> Result<(), Violation> {
        for socket in self.bus.reset() {
            self.lose_socket(socket, loses_frames);
        }
        self.forget_calls();
        self.fail_visits(None)
    }

    /// The keys in use.
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
        self.reset_bus(step.spin.is_multiple_of(2))
    }

    fn begin(&mut self, step: Step) -> Result<(), Violation> {
        let live = self
            .clients
            .iter()
            .filter(|client| client.host.is_some())
            .count();
        if live >= MAX_STREAMS || self.clients.len() >= MAX_CLIENTS {
            return Ok(());
        }
        let mask = if self.setup.room > 0 {
            step.what & step.spin
        } else {
            step.what | step.spin
        };
        let keys = Keys::of_mask(mask).among(self.keys());
        let is_session = step.who % 8 > 4;
        let id = IDS[usize::from(step.who / 8) % IDS.len()];
        let at = self.clients.len();
        let (isolate, fault) = (usize::from(step.who / 32), step.spin ^ step.what);
        self.note(|| format!("client {at} comes for {}", keys.names()));
        if step.who % 8 == 4 {
            let keys = keys.without_tasks().among(self.keys().without_tasks());
            let seed = u64::from(step.spin);
            let watching = Watching::new(keys, isolate, seed, self.now);
            self.clients.push(Client::watch_of(watching, keys));
            return self.tend_watch(at);
        }
        if !is_session {
            self.clients.push(Client::subscriber(id, keys));
            return self.open(at, isolate, fault);
        }
        let principal = PRINCIPALS[usize::from(step.who / 8) % PRINCIPALS.len()];
        self.clients.push(Client::session(keys.lists(), principal));
        self.request(at, Asks::Initialize, fault)?;
        if !step.spin.is_multiple_of(3) || self.bus.omits_previous() {
            self.get_ready(at)?;
        }
        for key in keys.resources() {
            self.ask_session(at, Asks::Subscribe(key), 0)?;
        }
        self.ask_session(at, Asks::Open, fault / 16)
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
            Act::Watch => {
                if let Some(key) = one_of(self.keys().resources(), step.what) {
                    self.ask_session(at, Asks::Subscribe(key), step.spin)?;
                }
            }
            Act::Unwatch => {
                if let Some(key) = one_of(self.keys().resources(), step.what) {
                    self.ask_session(at, Asks::Unsubscribe(key), step.spin)?;
                }
            }
            Act::Ready => self.ask_session(at, Asks::Initialized, step.spin)?,
            Act::Ping if step.what % 4 == 1 => self.intrude(at)?,
            Act::Ping => self.ask_session(at, Asks::Ping, step.spin)?,
            Act::EndSession => self.ask_session(at, Asks::End, step.spin)?,
            Act::TakeOver => self.take_over_stream(at, step.spin)?,
            Act::Pause => self.clients[at].is_eager = false,
            Act::Resume => self.clients[at].is_eager = true,
            _ => self.end(at, step),
        }
        self.note(|| format!("{:?} of client {at}", step.act));
        self.pump(at)
    }

    /// The connection of a client breaks, at any point of what was written.
    fn break_off(&mut self, at: usize, step: Step) -> Result<(), Violation> {
        for _ in 0..step.what % 4 {
            self.read(at, 1)?;
        }
        self.drop_host(at)
    }

    /// The client of a session reports that it is ready.
    pub(crate) fn get_ready(&mut self, at: usize) -> Result<(), Violation> {
        if self.clients[at].can(Act::Ready) {
            self.ask_session(at, Asks::Initialized, 0)?;
        }
        Ok(())
    }

    /// The client of a session reopens its stream from what it has read; if its session has ended,
    /// it begins another one.
    pub(crate) fn come_back(&mut self, at: usize) -> Result<(), Violation> {
        for _ in 0..2 {
            if !self.clients[at].can(Act::Return) {
                return Ok(());
            }
            if self.clients[at].session_id().is_none() {
                self.request(at, Asks::Initialize, 0)?;
                self.get_ready(at)?;
            }
            self.ask_session(at, Asks::Open, 0)?;
        }
        Ok(())
    }

    /// Another stream of the same session takes over, unless it is refused.
    fn take_over_stream(&mut self, at: usize, fault: u8) -> Result<(), Violation> {
        if self.clients.len() >= MAX_CLIENTS {
            return Ok(());
        }
        self.disturbances += 1;
        let next = self.clients.len();
        let successor = self.clients[at].successor();
        self.clients.push(successor);
        self.ask_session(next, Asks::Open, fault)?;
        if self.clients[next].host.is_none()
            && let Some(successor) = self.clients.pop()
        {
            self.clients[at].take_back(successor);
        }
        Ok(())
    }

    /// A client sends a request to its session, if it has one.
    fn ask_session(&mut self, at: usize, asks: Asks, fault: u8) -> Result<(), Violation> {
        if self.clients[at].session_id().is_none() {
            return Ok(());
        }
        self.request(at, asks, fault)
    }

    fn end(&mut self, at: usize, step: Step) {
        let (now, certainty) = (self.now, self.certainty(at));
        let Some((host, mut driven)) = self.driven(at) else {
            return;
        };
        if !host.is_open() {
            return;
        }
        if step.act == Act::Close {
            host.close(&mut driven, certainty);
        } else if step.what.is_multiple_of(2) {
            host.allow(EndReason::Drained);
            driven.retire(EndReason::Drained);
        } else {
            let at = now + Millis(u64::from(step.what) * 10);
            host.allow(EndReason::Rotated);
            driven.retire_at(at, EndReason::Rotated);
        }
    }

    /// Closes a stream gracefully.
    pub(crate) fn close(&mut self, at: usize) {
        let certainty = self.certainty(at);
        if let Some((host, mut driven)) = self.driven(at) {
            host.close(&mut driven, certainty);
        }
    }

    fn move_socket(&mut self, step: Step) -> Result<(), Violation> {
        let sockets = self.isolates.iter().filter_map(|isolate| isolate.socket);
        let sockets: Vec<SocketId> = sockets.collect();
        if sockets.is_empty() {
            return Ok(());
        }
        let socket = sockets[usize::from(step.who) % sockets.len()];
        // Most faults occur on the way to the edge.
        let way = if step.what % 4 == 3 {
            Way::ToBus
        } else {
            Way::ToEdge
        };
        self.note(|| format!("{:?} on socket {}, {way:?}", step.act, socket.0));
        match step.act {
            Act::Block => self.network.set_paused(socket, way, true),
            Act::Release => self.network.set_paused(socket, way, false),
            Act::Deliver => self.deliver(socket, way, 1 + step.spin % 3)?,
            Act::Drop => self.hurt(socket, way, Fault::Drop),
            Act::Duplicate => self.hurt(socket, way, Fault::Duplicate),
            Act::Swap => self.hurt(socket, way, Fault::Swap),
            Act::Truncate => self.hurt(socket, way, Fault::Truncate),
            Act::Forget if self.setup.probes_bus => {
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
            self.route();
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

    /// Either end may notice it at once or later.
    fn kill(&mut self, socket: SocketId, what: u8) {
        for (way, is_late) in [(Way::ToEdge, what & 4 != 0), (Way::ToBus, what & 8 != 0)] {
            if is_late {
                self.network.set_paused(socket, way, true);
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
            Act::Restart => self.reset_bus(step.what.is_multiple_of(2))?,
            Act::LoseDisk => {
                self.reset_bus(true)?;
                self.reset_shards();
                self.bus.lose_disk();
                self.register.clear();
            }
            Act::Down => {
                self.reset_bus(step.what.is_multiple_of(2))?;
                self.bus
                    .go_down(REFUSALS[usize::from(step.spin) % REFUSALS.len()]);
            }
            Act::Up => self.bus.come_up(),
            Act::Deploy if self.setup.has_shards => self.change_room(step.what)?,
            // Only separate connections meet a bus that omits the previous position.
            Act::Deploy if self.setup.shares => {}
            Act::Trim => self.bus.trim(1 + usize::from(step.what) % 8),
            _ => {
                for at in 0..self.clients.len() {
                    self.get_ready(at)?;
                }
                self.reset_bus(false)?;
                self.bus.deploy();
            }
        }
        Ok(())
    }

    /// The number of streams.
    pub(crate) fn streams(&mut self) -> Vec<usize> {
        self.hosts().map(|(at, _): (usize, &mut Host)| at).collect()
    }
}

const MAX_STREAMS: usize = 6;
const MAX_CLIENTS: usize = 12;
const IDS: [&str; 5] = ["1", "\"1\"", "0", "\"\"", "12345678901234567890"];
const PRINCIPALS: [Option<&str>; 3] = [None, Some("ann"), Some("bob")];
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
