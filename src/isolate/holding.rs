use crate::{
    clock::Millis,
    fanout::StreamId,
    lease::{Lease, LeaseOutput},
};

use super::Isolate;

/// Which stream's request has the connection. Every stream that is held is a member of the lease.
impl Isolate {
    /// The lease of the connection, to be read and driven.
    pub fn lease(&mut self) -> &mut Lease<StreamId> {
        &mut self.lease
    }

    /// What is to be done about the lease, or `None` until something is handled again; `random` is drawn from [0, 1). To be polled after
    /// [`Isolate::poll_output`], and after a stream was removed.
    pub fn poll_lease(&mut self, now: Millis, random: f64) -> Option<LeaseOutput<StreamId>> {
        let output = self.lease.poll_output(now, random);
        self.handle_lease(now);
        output
    }

    /// A connection ends with the lease of it.
    pub(super) fn handle_lease(&mut self, now: Millis) {
        if self.lease.take_moved() {
            self.handle_moved(now);
        }
    }
}
