use mcp_listen::{fanout::StreamId, listen::Ending};

use crate::{
    invariant::Violation,
    isolate::{SHED, SHED_SHARE},
    schedule::{Act, Step},
    world::World,
};

/// Which request has the socket of a line, and what happens to it.
impl World {
    /// Something happens to the requests that share a connection.
    pub(crate) fn move_request(&mut self, step: Step) {
        let place = usize::from(step.what) % self.shared_isolates();
        let isolate = &mut self.isolates[place];
        if step.act == Act::Forbid {
            // A write to another request's stream is refused: the streams that there are stay.
            isolate.verdict = Some(false);
            return;
        }
        let riders: Vec<StreamId> = isolate.riders.iter().map(|rider| rider.id).collect();
        let chosen = usize::from(step.who).checked_rem(riders.len());
        let chosen = chosen.map(|chosen| riders[chosen]);
        // Mostly the one that has the socket.
        let of_holder = isolate.holder.filter(|_| !step.who.is_multiple_of(4));
        if let Some(edge) = of_holder.or(chosen) {
            self.note(|| format!("{:?} {edge:?} of isolate {place}", step.act));
            self.set_stalled(place, edge, step.act == Act::Stall);
        }
    }

    /// The request of a stream does nothing from now on, or goes on.
    pub(crate) fn set_stalled(&mut self, place: usize, edge: StreamId, is_stalled: bool) {
        let isolate = &mut self.isolates[place];
        let is_holder = isolate.holder == Some(edge);
        if let Some(rider) = isolate.rider_mut(edge) {
            rider.is_stalled = is_stalled;
        }
        if let Some(socket) = isolate.socket.filter(|_| is_holder) {
            self.network.set_frozen(socket, is_stalled);
        }
        if !is_stalled && isolate.holder.is_none() {
            self.appoint(place, edge);
        }
    }

    pub(crate) fn appoint(&mut self, place: usize, edge: StreamId) {
        self.note(|| format!("  isolate {place}: {edge:?} has the socket"));
        let isolate = &mut self.isolates[place];
        isolate.holder = Some(edge);
        isolate.takes_over_at = None;
    }

    pub(crate) fn remove(&mut self, place: usize, edge: StreamId) -> Result<(), Violation> {
        let isolate = &mut self.isolates[place];
        isolate.riders.retain(|rider| rider.id != edge);
        isolate.core.remove(edge);
        if isolate.holder.is_none_or(|holder| holder == edge) {
            self.hand_over(place, Some(edge))?;
        }
        Ok(())
    }

    /// Another stream's request has the socket from now on.
    pub(crate) fn hand_over(
        &mut self,
        place: usize,
        former: Option<StreamId>,
    ) -> Result<(), Violation> {
        let (now, budget, random) = (self.now, self.budget(), self.spin);
        self.hang_up(place, random.is_multiple_of(3));
        let isolate = &mut self.isolates[place];
        isolate.holder = None;
        isolate.core.handle_moved(now);
        let mut may_hold = if isolate.riders.len() == 1 {
            isolate.riders.iter().map(|rider| rider.id).collect()
        } else {
            isolate.fresh(budget)
        };
        may_hold.retain(|edge| Some(*edge) != former);
        let chosen = usize::from(random).checked_rem(may_hold.len());
        let Some(next) = chosen.map(|chosen| may_hold[chosen]) else {
            if self.isolates[place].must_shed(budget, now) {
                self.shed(place)?;
            }
            return Ok(());
        };
        let is_stalled = isolate.rider(next).is_some_and(|rider| rider.is_stalled);
        if !is_stalled {
            self.appoint(place, next);
        }
        Ok(())
    }

    /// The request that had the socket, or was to, shows no sign of life.
    pub(crate) fn take_over(&mut self, place: usize) -> Result<(), Violation> {
        let (now, budget, random) = (self.now, self.budget(), self.spin);
        let isolate = &self.isolates[place];
        if isolate.is_served() {
            return Ok(());
        }
        let awake = isolate.riders.iter().filter(|rider| !rider.is_stalled);
        let awake: Vec<StreamId> = awake.map(|rider| rider.id).collect();
        let Some(chosen) = usize::from(random).checked_rem(awake.len()) else {
            return Ok(());
        };
        let edge = awake[chosen];
        let is_spent = isolate
            .rider(edge)
            .is_some_and(|rider| rider.writes >= budget);
        if is_spent && isolate.riders.len() > 1 {
            if isolate.must_shed(budget, now) {
                self.shed(place)?;
            }
            return Ok(());
        }
        self.hang_up(place, true);
        self.isolates[place].core.handle_moved(now);
        self.appoint(place, edge);
        Ok(())
    }

    /// All requests are spent: some of the oldest streams end, and their clients come back with fresh ones.
    pub(crate) fn shed(&mut self, place: usize) -> Result<(), Violation> {
        let isolate = &mut self.isolates[place];
        isolate.sheds_at = self.now + SHED;
        let count = isolate.riders.len().div_ceil(SHED_SHARE);
        let others = isolate.riders.iter();
        let others = others.filter(|rider| Some(rider.id) != isolate.holder);
        let shed: Vec<usize> = others.take(count).map(|rider| rider.client).collect();
        let now = self.now;
        for at in shed {
            if let Some((host, mut driven)) = self.driven(at) {
                host.allow(Ending::Exhausted);
                driven.retire_at(now, Ending::Exhausted);
            }
            self.pump(at)?;
        }
        Ok(())
    }

    /// Writes to streams after which a request is spent.
    pub(crate) fn budget(&self) -> u32 {
        match self.setup.budget {
            0 => u32::MAX,
            budget => 4 + u32::from(budget % 32),
        }
    }
}
