use crate::{
    clock::Millis,
    fanout::StreamId,
    lease::{Lease, LeaseOutput},
};

use super::Isolate;

/// The lease of the connection. Every stream of the isolate is a member.
impl Isolate {
    /// Returns the lease of the connection.
    pub fn lease(&mut self) -> &mut Lease<StreamId> {
        &mut self.lease
    }

    /// Returns the next output of the lease, or `None` until something is handled again. `random`
    /// is drawn from [0, 1). Poll it after [`Isolate::poll_output`] and after a stream was removed.
    pub fn poll_lease(&mut self, now: Millis, random: f64) -> Option<LeaseOutput<StreamId>> {
        let output = self.lease.poll_output(now, random);
        self.handle_lease(now);
        output
    }

    /// Handles the end of a lease, which ends its connection.
    pub(super) fn handle_lease(&mut self, now: Millis) {
        if self.lease.take_moved() {
            self.handle_moved(now);
        }
    }
}
