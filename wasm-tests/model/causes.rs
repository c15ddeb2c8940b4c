use mcp_listen::{
    clock::Millis, error::Reason, exchange::Service, listen::EndReason, position::Cursor,
};

use crate::{
    driven::Driven,
    host::{Certainty, Host, STALL},
    invariant::{Violation, ensure},
    network::Socket,
    world::World,
};

/// A stream that was not ended stays open, and one that can be opened opens.
impl World {
    /// Checks why a stream ended, if it did.
    pub(crate) fn check_ending(&mut self, at: usize) -> Result<(), Violation> {
        let now = self.now;
        let may_be_lost = self.may_be_lost(at);
        let Some((host, mut driven)) = self.driven(at) else {
            return Ok(());
        };
        let checked = host.check_ending(&mut driven, may_be_lost, now);
        checked.map_err(|violation| violation.of_client(at))
    }

    /// A stream is refused when it is opened.
    pub(crate) fn refuse(&mut self, at: usize) -> Result<(), Violation> {
        self.note(|| format!("  client {at} is refused"));
        let disturbances = self.disturbances;
        let found = self.hosts().find(|(known, _)| *known == at);
        let opened_in = found.and_then(|(_, host)| host.opened_in);
        self.respond_to_watch(at, &Service::refuse(Reason::Unavailable));
        self.drop_host(at)?;
        self.tend_watch(at)?;
        ensure(
            "a stream that can be opened opens",
            opened_in != Some(disturbances),
            || format!("client {at} was refused, and the bus is well"),
        )
    }

    /// The bus closes a stream: its session has ended, or a newer stream was opened.
    pub(crate) fn check_let_go(&mut self, at: usize) -> Result<(), Violation> {
        self.register.observe(&self.bus, self.now)?;
        let client = &self.clients[at];
        let has_cause =
            |id: &str| client.is_superseded() || self.register.may_be_over(id, self.now);
        ensure(
            "a stream that was not ended stays open",
            client.session_id().is_none_or(has_cause),
            || format!("client {at} is closed, and its session exists"),
        )
    }

    /// Whether nothing prevents a stream from being opened now.
    pub(crate) fn is_well(&mut self) -> bool {
        let is_idle = self.isolates.iter().all(|isolate| {
            let is_hanging = isolate.absence.is_some_and(|absence| absence.is_hanging);
            !isolate.is_stalled() && !is_hanging
        });
        let is_spared = self.shards.is_root_spared(self.now);
        let is_up = self.bus.refusal().is_none() && !is_spared;
        is_idle && is_up && self.network.is_calm() && self.is_quiet()
    }

    /// Whether a client's stream receives all that its bus has published, judged from outside.
    pub(crate) fn certainty(&mut self, at: usize) -> Certainty {
        let Some(place) = self.driven(at).map(|(host, _)| host.isolate) else {
            return Certainty::Uncertain;
        };
        let isolate = &self.isolates[place];
        if isolate.absence.is_some() {
            return Certainty::Unavailable;
        }
        let has_reply = isolate.has_received && isolate.is_served();
        let socket = isolate.socket.and_then(|socket| self.network.get(socket));
        let is_whole = has_reply && socket.is_some_and(Socket::is_calm);
        if is_whole && self.is_quiet() {
            Certainty::Certain
        } else {
            Certainty::Uncertain
        }
    }

    /// Whether nothing is pending between root and shards: failed calls are repeated later.
    pub(crate) fn is_quiet(&mut self) -> bool {
        !self.setup.has_shards
            || self.shards.is_settled() && self.bus.is_settled() && self.bus.has_confirmed()
    }

    /// The reply to an isolate leaves events out. That excuses the end of its streams if the log no
    /// longer reaches back to what its last fresh follow stated as received.
    pub(crate) fn excuse_losses(&mut self, place: usize) {
        let (cursor, floor) = (self.bus.disk().cursor(), self.bus.disk().floor());
        let isolate = &mut self.isolates[place];
        let is_beyond = |since: &Cursor| since.epoch != cursor.epoch || since.position < floor;
        if isolate.stated.as_ref().is_some_and(is_beyond) {
            for member in &mut isolate.members {
                member.may_be_lost = true;
            }
        }
    }

    fn may_be_lost(&mut self, at: usize) -> bool {
        let Some((host, Driven { id, .. })) = self.driven(at) else {
            return false;
        };
        let place = host.isolate;
        let member = self.isolates[place].member(id);
        member.is_some_and(|member| member.may_be_lost)
    }
}

impl Host {
    /// An end of this kind is requested.
    pub(crate) fn allow(&mut self, ending: EndReason) {
        self.allowed.push(ending);
    }

    /// Whether it ended because all requests of its isolate were spent.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.allowed.contains(&EndReason::Exhausted)
    }

    fn check_ending(
        &mut self,
        driven: &mut Driven<'_>,
        may_be_lost: bool,
        now: Millis,
    ) -> Result<(), Violation> {
        let Some(ending) = driven.ending() else {
            return Ok(());
        };
        let is_asked_for = self.allowed.contains(&ending);
        let has_cause = match ending {
            EndReason::Stalled => self.written_at.is_some_and(|at| at + STALL <= now),
            EndReason::Lost => {
                may_be_lost && driven.read(|stream| !stream.honored().task_ids.is_empty())
            }
            _ => false,
        };
        // It is asked once, when it ends.
        if !is_asked_for {
            self.allow(ending);
        }
        ensure(
            "a stream that was not ended stays open",
            is_asked_for || has_cause,
            || format!("it ended: {}", ending.code()),
        )
    }
}
