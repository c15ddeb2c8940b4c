use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use mcp_listen_tower::Changes;
use tokio::{
    task::{Id, try_id},
    time::Instant,
};

/// Holds the changes for a subscription from its acceptance until its handler listens: the SDK
/// acknowledges it in between, and a client that has read the acknowledgment may cause a change at
/// once.
///
/// The SDK does all three in the task of the request, and reveals the request only in the last: so
/// the task identifies the subscription.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    held: Mutex<HashMap<Id, (Instant, Changes)>>,
}

impl Waiting {
    /// Holds the changes for the subscription that the current task opens.
    pub(crate) fn hold(&self, changes: Changes) {
        let Some(task) = try_id() else { return };
        let now = Instant::now();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // A subscription that could not be acknowledged is never taken.
        held.retain(|_, (since, _)| now.duration_since(*since) < MAX_WAIT);
        held.insert(task, (now, changes));
    }

    /// Returns the changes that the current task holds; `None` if there are none, or they were held
    /// for too long.
    pub(crate) fn take(&self) -> Option<Changes> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&try_id()?).map(|(_, changes)| changes)
    }
}

const MAX_WAIT: Duration = Duration::from_mins(1);
