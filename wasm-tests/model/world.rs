use std::sync::Arc;

use mcp_listen::{clock::Millis, exchange::Service, lease::Budget, session::SessionLimits};

use crate::{
    bus::Bus,
    client::Client,
    driven::Driven,
    harness_bug::{self, HarnessBug},
    host::Host,
    invariant::{Violation, ensure},
    isolate::Isolate,
    ledger::{Ledger, time},
    network::Network,
    post::Shards,
    register::Register,
    request::Asks,
    schedule::Setup,
    visit::{Visit, bounds, service},
};

/// Clients, their hosts, the network and the bus, on a virtual clock.
pub(crate) struct World {
    pub(crate) now: Millis,
    pub(crate) setup: Setup,
    pub(crate) bus: Bus,
    pub(crate) network: Network,
    pub(crate) shards: Shards,
    pub(crate) clients: Vec<Client>,
    pub(crate) ledger: Ledger,
    pub(crate) isolates: Vec<Isolate>,
    pub(crate) service: Arc<Service>,
    pub(crate) limits: SessionLimits,
    /// The requests that wait for shards.
    pub(crate) visits: Vec<Visit>,
    pub(crate) register: Register,
    /// The number of sessions that have begun.
    pub(crate) begun: usize,
    /// The number of faults so far.
    pub(crate) disturbances: u64,
    /// The randomness of this step; each further draw continues from it.
    pub(crate) spin: u8,
    /// Whether every draw is the greatest possible.
    pub(crate) is_unlucky: bool,
    /// The first promise that was broken by something that is sent.
    broken: Option<Violation>,
    trace: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(setup: Setup, is_traced: bool) -> Self {
        Self {
            now: Millis(0),
            setup,
            bus: Bus::new(setup),
            network: Network::new(setup.holds),
            shards: Shards::default(),
            clients: Vec::new(),
            ledger: Ledger::default(),
            isolates: std::iter::repeat_with(|| Isolate::new(probe_interval(setup), budget(setup)))
                .take(isolates(setup))
                .collect(),
            service: service(bounds(setup.bounds), setup.authorizes),
            limits: bounds(setup.bounds),
            visits: Vec::new(),
            register: Register::default(),
            begun: 0,
            disturbances: 0,
            spin: 0,
            is_unlucky: false,
            broken: None,
            trace: is_traced.then(Vec::new),
        }
    }

    /// Records what happens, if there is a trace.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9}  {}", time(self.now), what()));
        }
    }

    /// Records whether a promise was broken, for the next check.
    pub(crate) fn record(&mut self, checked: Result<(), Violation>) {
        if let Err(violation) = checked {
            self.broken.get_or_insert(violation);
        }
    }

    pub(crate) fn check_recorded(&mut self) -> Result<(), Violation> {
        self.broken.take().map_or(Ok(()), Err)
    }

    /// The number of published events.
    pub(crate) fn events(&self) -> u64 {
        self.ledger.now() as u64
    }

    pub(crate) fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }

    /// Everything that can happen without time passing happens; then every promise holds.
    pub(crate) fn settle(&mut self) -> Result<(), Violation> {
        // Calls that were held for half an hour number in the hundreds.
        for _ in 0..RESTLESS + CALL_TURNS * self.shards.waiting() {
            self.route();
            if let Some((socket, way, arrival)) = self.network.next_arrival() {
                self.arrive(socket, way, arrival)?;
                continue;
            }
            self.collect_mail();
            if self.deliver_mail()? {
                continue;
            }
            let mut is_still = true;
            for place in 0..self.isolates.len() {
                is_still &= !self.serve(place)?;
            }
            for client in 0..self.clients.len() {
                is_still &= !self.drink(client)?;
            }
            if is_still {
                self.register.observe(&self.bus, self.now)?;
                return self.check();
            }
        }
        Err(Violation::new(
            "everything settles",
            "without time passing".to_owned(),
        ))
    }

    /// Advances the time; everything due is done at its time.
    pub(crate) fn pass(&mut self, span: Millis) -> Result<(), Violation> {
        let end = self.now + span;
        let mut turns = 0;
        loop {
            let next = self.next_deadline().filter(|next| *next <= end);
            if self.keep_watch(next.unwrap_or(end))? {
                self.settle()?;
                continue;
            }
            let Some(next) = next else { break };
            turns = if next > self.now { 0 } else { turns + 1 };
            ensure("deadlines advance", turns < RESTLESS, || {
                format!("there is always one at {}", time(next))
            })?;
            self.set_now(self.now.max(next))?;
            self.bus.handle_timeout(self.now);
            self.shards_timeout();
            for place in 0..self.isolates.len() {
                self.isolate_timeout(place);
            }
            for client in 0..self.clients.len() {
                self.expire(client)?;
            }
            self.settle()?;
        }
        self.set_now(end)?;
        self.settle()
    }

    /// Advances the time; what the bus did before counts as earlier.
    pub(crate) fn set_now(&mut self, now: Millis) -> Result<(), Violation> {
        self.register.observe(&self.bus, self.now)?;
        (self.now, self.bus.now) = (now, now);
        Ok(())
    }

    /// Opens the stream of a client; one that cannot be opened is refused, and its client leaves.
    pub(crate) fn open(&mut self, at: usize, isolate: usize, fault: u8) -> Result<(), Violation> {
        let is_session = self.clients[at].is_session();
        let asks = if is_session { Asks::Open } else { Asks::Listen };
        self.request_in(at, asks, fault, isolate)
    }

    pub(crate) fn keep_alive(&self) -> Millis {
        if self.setup.keeps_alive {
            KEEP_ALIVE
        } else {
            Millis(0)
        }
    }

    /// The client reads this many events; returns whether there was any.
    pub(crate) fn read(&mut self, at: usize, count: usize) -> Result<bool, Violation> {
        let Some(client) = self.clients.get_mut(at) else {
            return Ok(false);
        };
        let written = client
            .host
            .as_mut()
            .and_then(|host| host.take_written(count));
        let Some(written) = written else {
            return Ok(false);
        };
        let said = self.trace.is_some().then(|| written.names());
        let goes_on = client.read(written, self.now)?;
        self.note(|| format!("  client {at} reads {}", said.unwrap_or_default()));
        if goes_on {
            self.tend_watch(at)?;
            self.pump(at)?;
        } else {
            self.finish(at)?;
        }
        Ok(true)
    }

    /// A client has read the end of its stream. One whose isolate has spent its budget returns.
    fn finish(&mut self, at: usize) -> Result<(), Violation> {
        let found = self.hosts().find(|(known, _)| *known == at);
        let isolate = found.and_then(|(_, host)| host.is_exhausted().then_some(host.origin));
        let is_watching = self.clients[at].is_watching();
        self.drop_host(at)?;
        if let Some(isolate) = isolate.filter(|_| !is_watching) {
            let (next, wanted) = (self.clients.len(), self.clients[at].wanted);
            self.note(|| format!("client {next} opens a stream in place of client {at}"));
            self.clients.push(Client::subscriber("\"again\"", wanted));
            self.open(next, isolate, 0)?;
        }
        Ok(())
    }

    /// The stream of a client is gone, for any reason.
    pub(crate) fn drop_host(&mut self, at: usize) -> Result<(), Violation> {
        self.leave(at)?;
        if let Some(client) = self.clients.get_mut(at) {
            client.host = None;
        }
        self.end_watch(at)
    }

    /// A number from [0, 1).
    pub(crate) fn random(&mut self) -> f64 {
        self.spin = self.spin.wrapping_add(97);
        f64::from(if self.is_unlucky { u8::MAX } else { self.spin }) / 256.0
    }

    pub(crate) fn pump(&mut self, at: usize) -> Result<(), Violation> {
        self.check_ending(at)?;
        let (now, published) = (self.now, self.ledger.now());
        let Some((host, mut driven)) = self.driven(at) else {
            return Ok(());
        };
        host.pump(&mut driven, now, published)?;
        let client = &mut self.clients[at];
        let Some(host) = &client.host else {
            return Ok(());
        };
        host.check_hold(client.is_ready)?;
        if host.is_open() {
            client.promise(published);
        }
        Ok(())
    }

    /// The stream of a client with the core's part of it; `None`: it is not held yet.
    pub(crate) fn driven(&mut self, at: usize) -> Option<(&mut Host, Driven<'_>)> {
        let host = self.clients.get_mut(at)?.host.as_mut()?;
        let isolate = &mut self.isolates[host.isolate].core;
        let id = host.stream?;
        Some((host, Driven { isolate, id }))
    }

    pub(crate) fn probe_interval(&self) -> Millis {
        probe_interval(self.setup)
    }

    /// How much a request may write for others.
    pub(crate) fn budget(&self) -> Budget {
        budget(self.setup)
    }

    /// The number of isolates whose streams may share a connection; those of single streams come
    /// after them.
    pub(crate) fn shared_isolates(&self) -> usize {
        isolates(self.setup)
    }

    /// The stream of every client, with the client's number.
    pub(crate) fn hosts(&mut self) -> impl Iterator<Item = (usize, &mut Host)> {
        let hosts = self.clients.iter_mut().map(|client| client.host.as_mut());
        hosts.enumerate().filter_map(|(at, host)| Some((at, host?)))
    }

    fn drink(&mut self, at: usize) -> Result<bool, Violation> {
        if self.clients.get(at).is_some_and(|client| client.is_eager) {
            return self.read(at, usize::MAX);
        }
        Ok(false)
    }

    /// Everything that was due by now.
    fn expire(&mut self, at: usize) -> Result<(), Violation> {
        self.expire_watch(at)?;
        let now = self.now;
        let Some((_, host)) = self.hosts().find(|(known, _)| *known == at) else {
            return Ok(());
        };
        let probed_at = host.probed_at;
        let is_opening = self
            .driven(at)
            .is_none_or(|(_, mut driven)| driven.is_opening());
        let host = self.clients[at].host.as_mut();
        if host.is_some_and(|host| host.is_late(is_opening, now)) {
            return self.refuse(at);
        }
        if probed_at.is_some_and(|due| due <= now) {
            return self.decide(at);
        }
        self.pump(at)
    }

    fn next_deadline(&mut self) -> Option<Millis> {
        let of_bus = self.bus.poll_timeout();
        let of_hosts = (0..self.clients.len()).filter_map(|at| self.deadline_of(at));
        let of_hosts = of_hosts.min();
        let of_watches = self.clients.iter().filter_map(Client::poll_timeout).min();
        let of_shards = self.shards.poll_timeout();
        let of_isolates = self.isolates.iter().filter_map(Isolate::poll_timeout).min();
        let all = [of_bus, of_hosts, of_watches, of_shards, of_isolates];
        all.into_iter().flatten().min()
    }

    fn deadline_of(&mut self, at: usize) -> Option<Millis> {
        if let Some((host, mut driven)) = self.driven(at) {
            return host.poll_timeout(Some(&mut driven));
        }
        self.clients[at].host.as_ref()?.poll_timeout(None)
    }
}

/// How often a silent bus is probed.
fn probe_interval(setup: Setup) -> Millis {
    if setup.probes_bus && !harness_bug::has(HarnessBug::NeverProbes) {
        PROBE_INTERVAL
    } else {
        Millis(0)
    }
}

fn budget(setup: Setup) -> Budget {
    match setup.budget {
        0 => Budget::default(),
        budget => Budget {
            writes: 4 + usize::from(budget % 32),
            ..Budget::default()
        },
    }
}

/// With shards there are more edges, so that shards are needed.
fn isolates(setup: Setup) -> usize {
    if setup.has_shards { 4 } else { 2 }
}

const KEEP_ALIVE: Millis = Millis(15_000);
pub(crate) const PROBE_INTERVAL: Millis = Millis(20_000);
/// More turns than any schedule takes to settle.
const RESTLESS: usize = 2_000;
/// More than one call and its consequences take.
const CALL_TURNS: usize = 20;
