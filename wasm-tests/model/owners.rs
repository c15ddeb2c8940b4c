use mcp_listen::{clock::Millis, fanout::StreamId, lease::LeaseOutput, listen::EndReason};

use crate::{
    invariant::Violation,
    isolate::RequestTask,
    schedule::{Act, Step},
    world::World,
};

/// The requests of streams that share a socket, driven by the lease of the core.
impl World {
    /// A fault of the requests that share a connection.
    pub(crate) fn move_request(&mut self, step: Step) -> Result<(), Violation> {
        let place = usize::from(step.what) % self.shared_isolates();
        let isolate = &mut self.isolates[place];
        if step.act == Act::Forbid {
            // A write to another request's stream is refused: the present streams stay.
            isolate.shares = Some(false);
            return Ok(());
        }
        let members: Vec<StreamId> = isolate.members.iter().map(|member| member.id).collect();
        let chosen = usize::from(step.who).checked_rem(members.len());
        let chosen = chosen.map(|chosen| members[chosen]);
        // Mostly the owner.
        let of_holder = isolate.holder.filter(|_| !step.who.is_multiple_of(4));
        if let Some(edge) = of_holder.or(chosen) {
            self.note(|| format!("{:?} {edge:?} of isolate {place}", step.act));
            self.set_stalled(place, edge, step.act == Act::Stall)?;
        }
        Ok(())
    }

    /// The request of a stream stops, or continues with what it was asked to do meanwhile.
    pub(crate) fn set_stalled(
        &mut self,
        place: usize,
        edge: StreamId,
        is_stalled: bool,
    ) -> Result<(), Violation> {
        let now = self.now;
        let isolate = &mut self.isolates[place];
        isolate.idle_since = None;
        let is_holder = isolate.holder == Some(edge);
        let mut tasks = Vec::new();
        if let Some(member) = isolate.member_mut(edge) {
            member.is_stalled = is_stalled;
            member.runs_since = now;
            if !is_stalled {
                tasks = std::mem::take(&mut member.tasks);
            }
        }
        if let Some(socket) = isolate.socket.filter(|_| is_holder) {
            self.network.set_frozen(socket, is_stalled);
        }
        for task in tasks {
            self.run_in_context(place, edge, task)?;
        }
        Ok(())
    }

    /// The request of a stream does this as soon as it runs.
    fn run_in_context(
        &mut self,
        place: usize,
        edge: StreamId,
        task: RequestTask,
    ) -> Result<(), Violation> {
        let Some(member) = self.isolates[place].member_mut(edge) else {
            return Ok(());
        };
        if member.is_stalled {
            member.tasks.push(task);
            return Ok(());
        }
        match task {
            RequestTask::Take => self.take(place, edge),
            RequestTask::Watch => self.look(place, edge).map(drop),
            RequestTask::Prove(term) => {
                self.isolates[place].core.lease().handle_proof(term);
                Ok(())
            }
        }
    }

    /// The request of a stream takes the socket, if it may.
    pub(crate) fn take(&mut self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let isolate = &mut self.isolates[place];
        if isolate.core.lease().take(edge).is_none() {
            return Ok(());
        }
        isolate.holder = Some(edge);
        isolate.idle_since = None;
        for member in &mut isolate.members {
            member.waits_since = None;
        }
        self.note(|| format!("  isolate {place}: {edge:?} has the socket"));
        self.check_taken(place, edge)
    }

    /// The request of a stream checks the owner; returns whether that led to more than a question.
    pub(crate) fn look(&mut self, place: usize, edge: StreamId) -> Result<bool, Violation> {
        let (now, random) = (self.now, self.random());
        let lease = self.isolates[place].core.lease();
        lease.handle_timeout_of(edge, now, random);
        self.lease(place)
    }

    /// Fires the timers of requests up to this time, or until one has an effect; returns whether
    /// one had.
    pub(crate) fn keep_watch(&mut self, until: Millis) -> Result<bool, Violation> {
        loop {
            let isolates = self.isolates.iter_mut().enumerate();
            let next = isolates.filter_map(|(place, isolate)| Some((isolate.poll_watch()?, place)));
            let Some(((at, edge), place)) = next.min().filter(|((at, _), _)| *at <= until) else {
                return Ok(false);
            };
            self.set_now(self.now.max(at))?;
            if self.look(place, edge)? {
                return Ok(true);
            }
        }
    }

    /// Carries out the outputs of the lease; returns whether there was more than a question.
    pub(crate) fn lease(&mut self, place: usize) -> Result<bool, Violation> {
        let mut has_done = false;
        loop {
            let (now, random) = (self.now, self.random());
            let isolate = &mut self.isolates[place];
            let Some(output) = isolate.core.poll_lease(now, random) else {
                return Ok(has_done);
            };
            has_done |= !matches!(output, LeaseOutput::Prove(_));
            match output {
                LeaseOutput::Appoint(edge) => {
                    self.run_in_context(place, edge, RequestTask::Take)?;
                }
                LeaseOutput::Release(edge) => self.release(place, edge)?,
                LeaseOutput::End(edges) => self.end_streams(place, &edges)?,
                LeaseOutput::Prove(term) => {
                    if let Some(holder) = isolate.holder {
                        self.run_in_context(place, holder, RequestTask::Prove(term))?;
                    }
                }
                other => panic!("not known: {other:?}"),
            }
        }
    }

    /// A stream has gone, and its request closes its socket.
    pub(crate) fn remove(&mut self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let isolate = &mut self.isolates[place];
        let was_stalled = isolate.member(edge).is_some_and(|member| member.is_stalled);
        isolate.members.retain(|member| member.id != edge);
        isolate.core.remove(edge);
        if isolate.holder == Some(edge) {
            self.let_go_of_socket(place, was_stalled);
        }
        self.lease(place)?;
        Ok(())
    }

    /// A request has to close the socket.
    fn release(&mut self, place: usize, edge: StreamId) -> Result<(), Violation> {
        self.check_released(place, edge)?;
        let member = self.isolates[place].member(edge);
        let is_stalled = member.is_some_and(|member| member.is_stalled);
        self.let_go_of_socket(place, is_stalled);
        self.run_in_context(place, edge, RequestTask::Watch)
    }

    fn let_go_of_socket(&mut self, place: usize, is_stalled: bool) {
        self.hang_up(place, is_stalled || self.spin.is_multiple_of(3));
        let isolate = &mut self.isolates[place];
        isolate.holder = None;
        isolate.idle_since = None;
    }

    /// All requests are spent: some of the oldest streams end, and their clients return with fresh
    /// ones.
    fn end_streams(&mut self, place: usize, edges: &[StreamId]) -> Result<(), Violation> {
        self.check_ends(place, edges)?;
        let now = self.now;
        let isolate = &mut self.isolates[place];
        isolate.ended_at = Some(now);
        isolate.idle_since = None;
        let members = isolate.members.iter();
        let ended = members.filter(|member| edges.contains(&member.id));
        let ended: Vec<usize> = ended.map(|member| member.client).collect();
        for at in ended {
            if let Some((host, mut driven)) = self.driven(at) {
                host.allow(EndReason::Exhausted);
                driven.retire_at(now, EndReason::Exhausted);
            }
            self.pump(at)?;
        }
        Ok(())
    }
}
