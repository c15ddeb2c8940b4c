use std::collections::BTreeMap;

use mcp_listen::{bus::ShardId, clock::Millis, lease::Budget, topic::Topic};

use crate::{
    bus::Cut,
    client::Client,
    host::{ATTACH, Host},
    invariant::{Violation, ensure},
    isolate::Isolate,
    key::{Key, Keys},
    lease_promises::max_takeover,
    shard::ShardObject,
    world::{PROBE_INTERVAL, World},
};

impl World {
    /// Faults stop. From here on every promise has to come true in bounded time.
    pub(crate) fn calm(&mut self) -> Result<(), Violation> {
        self.note(|| "calm: the bus is up, the network healthy, every client reads".to_owned());
        self.is_unlucky = true;
        self.setup.budget = 0;
        for isolate in &mut self.isolates {
            isolate.core.lease().set_budget(Budget::default());
        }
        self.network.calm();
        self.shards.calm();
        self.bus.come_up();
        self.lift_limits()?;
        for at in 0..self.clients.len() {
            self.clients[at].is_eager = true;
        }
        self.rouse()?;
        self.settle()?;
        self.come_back_all()?;
        let (prompt, unowned) = (self.prompt(), self.unowned());
        self.settle()?;
        let before = self.moves();
        self.pass_quietly(PROMPTLY)?;
        self.check_stayed(prompt, &before)?;
        if !unowned.is_empty() {
            self.pass_quietly(self.longest_takeover())?;
            self.check_stayed(unowned, &before)?;
        }
        self.wait_at_last()?;
        // If the bus had not noticed yet that a stream was gone, another one was refused.
        self.check_watches()?;
        if self.clients.iter().any(Client::is_session) {
            let before = self.begun + self.streams().len();
            self.come_back_all()?;
            self.settle()?;
            if self.begun + self.streams().len() > before {
                self.pass(PROMPTLY)?;
            }
            self.check_sessions()?;
        }
        let known = self.known();
        self.check_received(&known)?;
        let is_apart = !self.bus.table().has_shards() || self.bus.attached() == 0;
        ensure(
            "the root holds no edges where there are shards",
            is_apart,
            || "it does".to_owned(),
        )?;
        self.let_in()?;
        self.probe()?;
        self.end_all()
    }

    /// The clients of sessions get ready, and open their streams.
    fn come_back_all(&mut self) -> Result<(), Violation> {
        for at in 0..self.clients.len() {
            self.get_ready(at)?;
            self.come_back(at)?;
        }
        Ok(())
    }

    /// The streams that are attached, or whose bus was unavailable only briefly.
    fn prompt(&mut self) -> Vec<usize> {
        let now = self.now;
        let hosts: Vec<_> = self.hosts().map(|(at, host)| (at, host.line())).collect();
        let lines: Vec<_> = self
            .isolates
            .iter()
            .map(|line| {
                let is_back = line.absence.is_none_or(|absence| absence.is_soon(now));
                let is_soon = is_back && line.is_served();
                (line.socket, is_soon)
            })
            .collect();
        let hosts = hosts.into_iter().map(|(at, line)| {
            let (socket, is_soon) = line.map_or((None, true), |line| lines[line]);
            (at, socket, is_soon)
        });
        let whole = hosts.filter(|(_, socket, is_soon)| match socket {
            Some(socket) => {
                let socket = self.network.get(*socket);
                // A shard whose root was unavailable may still have to reply.
                (*is_soon || !self.setup.has_shards) && socket.is_some_and(|socket| !socket.is_hurt)
            }
            None => *is_soon,
        });
        whole.map(|(at, _, _)| at).collect()
    }

    /// The streams whose bus is found soon once a request takes over their connection: if all
    /// requests were spent, none owns it until another one checks.
    fn unowned(&mut self) -> Vec<usize> {
        let now = self.now;
        let is_unowned = |isolate: &Isolate| {
            let is_back = isolate.absence.is_none_or(|absence| absence.is_soon(now));
            is_back && !isolate.is_served()
        };
        let lines: Vec<bool> = self.isolates.iter().map(is_unowned).collect();
        let hosts = self.hosts();
        let hosts = hosts.filter(|(_, host)| host.line().is_some_and(|line| lines[line]));
        hosts.map(|(at, _)| at).collect()
    }

    fn longest_takeover(&self) -> Millis {
        let members = self.isolates.iter().flat_map(|isolate| &isolate.members);
        max_takeover(members.map(|member| member.peers).max().unwrap_or_default())
    }

    /// The streams that were not redirected meanwhile have received everything.
    fn check_stayed(
        &mut self,
        which: Vec<usize>,
        before: &BTreeMap<usize, usize>,
    ) -> Result<(), Violation> {
        let after = self.moves();
        let stayed = which.into_iter();
        let stayed = stayed.filter(|at| after.get(at) == before.get(at));
        self.check_received(&stayed.collect::<Vec<_>>())
    }

    /// Waits until every stream must be open. A redirected one waits once more.
    fn wait_at_last(&mut self) -> Result<(), Violation> {
        let span = if self.setup.probes_bus {
            AT_LAST_PROBED
        } else {
            AT_LAST
        };
        for _ in 0..MAX_MOVES {
            let before = self.moves();
            self.pass(span)?;
            if self.moves() == before {
                return Ok(());
            }
        }
        let before = self.moves();
        Err(Violation::new(
            "streams find a shard",
            format!("{before:?}"),
        ))
    }

    fn moves(&mut self) -> BTreeMap<usize, usize> {
        let lines: Vec<usize> = self.isolates.iter().map(|line| line.moves).collect();
        let moves = self.hosts();
        moves
            .map(|(at, host)| (at, host.line().map_or(0, |line| lines[line])))
            .collect()
    }

    /// Gives streams `span`. Calls that failed or got no reply between root and shards are repeated
    /// after a pause: that time is added, and a stream that waited for such a call at a shard has
    /// the whole `span` after it.
    fn pass_quietly(&mut self, span: Millis) -> Result<(), Violation> {
        if self.is_quiet() && !self.setup.has_shards {
            return self.pass(span);
        }
        let (mut left, mut paused) = (span, Millis(0));
        while left > Millis(0) {
            if self.is_quiet() {
                left = left - PAUSE_STEP;
            } else {
                paused = paused + PAUSE_STEP;
                left = span;
            }
            self.pass(PAUSE_STEP)?;
            ensure("failed calls are repeated", paused <= MAX_PAUSE, || {
                format!("some are not after {} ms", MAX_PAUSE.0)
            })?;
        }
        Ok(())
    }

    /// Every request continues.
    fn rouse(&mut self) -> Result<(), Violation> {
        for place in 0..self.isolates.len() {
            let members = self.isolates[place].members.iter();
            let stalled = members.filter(|member| member.is_stalled);
            for id in stalled.map(|member| member.id).collect::<Vec<_>>() {
                self.set_stalled(place, id, false)?;
            }
        }
        Ok(())
    }

    /// Every client that requested a stream has one, and so has a client that requests one now.
    fn let_in(&mut self) -> Result<(), Violation> {
        for place in 0..self.shared_isolates() {
            let at = self.clients.len();
            self.note(|| format!("client {at} opens a stream in the calm"));
            let wanted = Keys::or_all(self.setup.keys);
            self.clients.push(Client::subscriber("\"last\"", wanted));
            self.open(at, place, 0)?;
        }
        self.settle()?;
        self.pass(PROMPTLY)?;
        let waiting: Vec<usize> = self
            .hosts()
            .filter(|(_, host)| !host.is_open())
            .map(|(at, _)| at)
            .collect();
        ensure(
            "a stream that can be opened opens",
            waiting.is_empty(),
            || format!("{waiting:?} are not open"),
        )
    }

    /// The streams that are not asking their bus for missed events.
    pub(crate) fn known(&mut self) -> Vec<usize> {
        if self.setup.probes_bus {
            return self.streams();
        }
        let lines: Vec<_> = self.isolates.iter().map(|line| line.socket).collect();
        let hosts = self.hosts();
        let hosts: Vec<_> = hosts
            .map(|(at, host)| (at, host.line().and_then(|line| lines[line])))
            .collect();
        let has_hole = |socket| {
            self.network
                .get(socket)
                .is_some_and(|socket| socket.has_hole)
        };
        let whole = hosts
            .into_iter()
            .filter(|(_, socket)| !socket.is_some_and(has_hole));
        whole.map(|(at, _)| at).collect()
    }

    fn check_received(&self, which: &[usize]) -> Result<(), Violation> {
        for at in which {
            let client = &self.clients[*at];
            if client.host.is_some() {
                let result = client.check_received(&self.ledger);
                result.map_err(|lost| lost.of_client(*at))?;
            }
        }
        Ok(())
    }

    /// One more event for each stream, which reveals what was lost before it.
    fn probe(&mut self) -> Result<(), Violation> {
        for at in self.streams() {
            let key: Option<Key> = self.clients[at].wanted.iter().next();
            if let Some(key) = key {
                self.publish(key, Cut::Never)?;
            }
        }
        self.settle()?;
        self.pass(PROMPTLY)?;
        let all = self.streams();
        self.check_received(&all)
    }

    /// Streams end, with a result if they are closed, and the bus removes each of them.
    fn end_all(&mut self) -> Result<(), Violation> {
        self.cancel_watches()?;
        for at in self.streams() {
            if at % 2 == 0 {
                self.drop_host(at)?;
                continue;
            }
            self.close(at);
            self.pump(at)?;
        }
        self.settle()?;
        let left = self.streams();
        ensure("a closed stream ends", left.is_empty(), || {
            format!("{left:?} did not")
        })?;
        self.pass(PROMPTLY)?;
        let shards = self.shards.objects.values_mut();
        let attached = shards.map(ShardObject::attached).sum::<usize>() + self.bus.attached();
        ensure("the bus removes edges that leave", attached == 0, || {
            format!("{attached} are attached")
        })?;
        self.check_forgotten()?;
        let names = self.held_names();
        ensure(
            "the names of edges that leave are forgotten",
            names == 0,
            || format!("{names} bytes are held"),
        )
    }
}

/// What a bus with shards has forgotten once all edges have left.
impl World {
    /// No topic has a row, and no shard that has reported is left. A shard that was reset before
    /// its edges left, and follows nothing, had no occasion to report.
    fn check_forgotten(&mut self) -> Result<(), Violation> {
        if !self.setup.has_shards {
            return Ok(());
        }
        // A shard that was reset has to be called.
        for key in Key::all() {
            if self.bus.table().has_row_of(&Topic::of(&key.event(0))) {
                self.publish(key, Cut::Never)?;
            }
        }
        self.settle()?;
        self.pass(CLOSING)?;
        let rows = self.bus.table().rows();
        ensure("no topic is followed without edges", rows == 0, || {
            format!("{rows} rows are left")
        })?;
        let known = self.bus.reported_shards();
        let objects = &mut self.shards.objects;
        let mut is_known = |shard: &ShardId| {
            objects
                .get_mut(shard)
                .is_some_and(ShardObject::knows_its_bus)
        };
        let left: Vec<_> = known.into_iter().filter(|shard| is_known(shard)).collect();
        ensure("a shard without edges closes", left.is_empty(), || {
            format!("{left:?} are left")
        })
    }
}

impl Host {
    /// The isolate that holds it.
    fn line(&self) -> Option<usize> {
        self.stream.map(|_| self.isolate)
    }
}

/// The time for shards to open and close.
const MAX_MOVES: usize = 5;
/// A call without a reply fails after ten seconds; the pause after it is at most 6.4 s.
const MAX_PAUSE: Millis = Millis(20_000);
const PAUSE_STEP: Millis = Millis(200);
const PROMPTLY: Millis = Millis(2_000);
/// Shards report after ten seconds that they have few edges.
const CLOSING: Millis = Millis(60_000);
/// An attach that hangs, the longest wait after it, and a margin.
const AT_LAST: Millis = Millis(ATTACH.0 + 30_000 + 2_000);
const AT_LAST_PROBED: Millis = Millis(PROBE_INTERVAL.0 + ATTACH.0 + AT_LAST.0);
