use crate::{backoff, clock::Millis};

/// The call between a bus and one of its shards that awaits its reply, at most one at a time, and
/// how long the next one waits after failures.
#[derive(Debug)]
pub(super) struct Flight<T> {
    call: Option<CallInFlight<T>>,
    failures: u32,
    not_before: Millis,
}

/// A call in flight.
#[derive(Debug)]
pub(super) struct CallInFlight<T> {
    pub(super) number: u64,
    /// What it has sent.
    pub(super) sent: T,
    deadline: Millis,
}

impl<T> Flight<T> {
    /// Whether no call is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.call.is_none()
    }

    /// Whether the next call may be made.
    pub(super) fn is_free(&self, now: Millis) -> bool {
        self.is_empty() && self.not_before <= now
    }

    pub(super) fn begin(&mut self, number: u64, sent: T, deadline: Millis) {
        self.call = Some(CallInFlight {
            number,
            sent,
            deadline,
        });
    }

    pub(super) fn call(&self) -> Option<&CallInFlight<T>> {
        self.call.as_ref()
    }

    pub(super) fn call_mut(&mut self) -> Option<&mut CallInFlight<T>> {
        self.call.as_mut()
    }

    /// Whether the call with this number is in flight.
    pub(super) fn has(&self, number: u64) -> bool {
        self.call().is_some_and(|call| call.number == number)
    }

    /// Returns the number of the call if it is overdue.
    pub(super) fn overdue(&self, now: Millis) -> Option<u64> {
        let late = self.call().filter(|call| call.deadline <= now);
        late.map(|call| call.number)
    }

    /// Ends the call.
    pub(super) fn take(&mut self) -> Option<CallInFlight<T>> {
        self.call.take()
    }

    /// Ends the call if it has this number, and returns what it has sent.
    pub(super) fn take_if(&mut self, number: u64) -> Option<T> {
        let call = self.call.take_if(|call| call.number == number)?;
        Some(call.sent)
    }

    /// Records that a call has succeeded.
    pub(super) fn handle_success(&mut self) {
        self.failures = 0;
    }

    /// Records that a call has failed.
    pub(super) fn handle_failure(&mut self, is_overloaded: bool, now: Millis, random: f64) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + backoff::after_failures(self.failures, is_overloaded, random);
    }

    /// Returns the deadline of the call, or when the next one may be made if one `is_due`.
    pub(super) fn poll_timeout(&self, is_due: bool) -> Option<Millis> {
        match self.call() {
            Some(call) => Some(call.deadline),
            None => is_due.then_some(self.not_before),
        }
    }
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self {
            call: None,
            failures: 0,
            not_before: Millis::default(),
        }
    }
}
