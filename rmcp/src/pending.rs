use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_listen_tower::Changes;
use tokio::{
    task::{Id, try_id},
    time::Instant,
};

/// Subscriptions that were accepted, but whose handler does not listen yet. The SDK acknowledges
/// them in between, and a client may cause a change as soon as it has read the acknowledgment.
///
/// The SDK accepts, acknowledges and calls the handler in the task of the request, and only the
/// handler sees the request: so the task identifies the subscription.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    entries: Mutex<HashMap<Id, (Instant, Changes)>>,
}

impl Pending {
    /// Holds the changes for the subscription that the current task opens.
    pub(crate) fn hold(&self, changes: Changes) {
        let Some(task) = try_id() else { return };
        self.entries().insert(task, (Instant::now(), changes));
    }

    /// Takes the changes that the current task holds; `None` if there are none, or they were held
    /// for too long.
    pub(crate) fn take(&self) -> Option<Changes> {
        self.entries()
            .remove(&try_id()?)
            .map(|(_, changes)| changes)
    }

    /// Drops what was held for too long: a subscription that could not be acknowledged is never
    /// taken, and has a place on the bus.
    pub(crate) fn expire(&self) {
        let now = Instant::now();
        self.entries()
            .retain(|_, (since, _)| now.duration_since(*since) < MAX_WAIT);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Id, (Instant, Changes)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long an accepted subscription is held.
const MAX_WAIT: Duration = Duration::from_mins(1);
