use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    lease::{Budget, Lease, LeaseOutput},
};

use LeaseOutput::{Appoint, End, Prove, Release};

/// A lease whose members run or are silent, on a virtual clock.
pub(super) struct World {
    pub(super) lease: Lease<u32>,
    pub(super) now: Millis,
    pub(super) members: Vec<u32>,
    /// Members whose requests do not run.
    pub(super) silent: Vec<u32>,
    /// Members that owned the socket, in order.
    pub(super) holders: Vec<u32>,
    pub(super) ended: Vec<Vec<u32>>,
}

impl World {
    /// Creates this many members; the first one takes the socket.
    pub(super) fn of(members: u32) -> Self {
        let mut world = Self {
            lease: Lease::new(BUDGET),
            now: Millis(0),
            members: Vec::new(),
            silent: Vec::new(),
            holders: Vec::new(),
            ended: Vec::new(),
        };
        for id in 0..members {
            world.enter(id);
        }
        world
    }

    pub(super) fn enter(&mut self, id: u32) {
        self.members.push(id);
        self.lease.enter(id);
        self.take(id);
        self.lease.handle_timeout_of(id, self.now, 0.5);
    }

    pub(super) fn leave(&mut self, id: u32) {
        self.members.retain(|member| *member != id);
        self.lease.leave(id);
        self.settle();
    }

    pub(super) fn take(&mut self, id: u32) {
        if !self.silent.contains(&id) && self.lease.take(id).is_some() {
            self.holders.push(id);
        }
    }

    pub(super) fn write(&mut self, writes: usize) {
        self.lease.handle_writes(writes);
        self.settle();
    }

    /// Spends the requests of all members: each owns the socket once.
    pub(super) fn spend_all(&mut self) {
        for _ in 0..self.members.len() {
            self.write(BUDGET.writes);
        }
    }

    pub(super) fn settle(&mut self) {
        while let Some(output) = self.lease.poll_output(self.now, 0.0) {
            match output {
                Appoint(id) => self.take(id),
                Release(id) => self.lease.handle_timeout_of(id, self.now, 0.5),
                Prove(term) => {
                    let is_silent = self
                        .lease
                        .owner()
                        .is_none_or(|id| self.silent.contains(&id));
                    if !is_silent {
                        self.lease.handle_proof(term);
                    }
                }
                End(ids) => self.ended.push(ids),
                other => panic!("not known: {other:?}"),
            }
        }
    }

    /// Advances the time; the timers of running requests fire.
    pub(super) fn pass(&mut self, span: Millis) {
        let end = self.now + span;
        loop {
            let running = self.members.iter().filter(|id| !self.silent.contains(id));
            let timers = running.filter_map(|id| Some((self.lease.poll_timeout_of(*id)?, *id)));
            let Some((at, id)) = timers.min().filter(|(at, _)| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            self.lease.handle_timeout_of(id, self.now, 0.5);
            self.settle();
        }
        self.now = end;
    }
}

pub(super) const BUDGET: Budget = Budget {
    writes: 100,
    end_interval: Duration::from_secs(5),
    end_share: 8,
};
