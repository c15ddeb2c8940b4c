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

/// What is held for subscriptions between the moment at which they are accepted and the one at which their handler listens: the
/// SDK acknowledges them in between, and who has read that may cause a change at once.
///
/// The SDK does all three in the task of the request, and names that request in the last of them only: it is the task that
/// tells which is which.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    held: Mutex<HashMap<Id, (Instant, Changes)>>,
}

impl Waiting {
    /// Holds the changes for the subscription that this task opens.
    pub(crate) fn hold(&self, changes: Changes) {
        let Some(task) = try_id() else { return };
        let now = Instant::now();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody asks any more for what could not be acknowledged.
        held.retain(|_, (since, _)| now.duration_since(*since) < MAX_WAIT);
        held.insert(task, (now, changes));
    }

    /// What this task has held; `None` where it has not, or too long ago.
    pub(crate) fn take(&self) -> Option<Changes> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&try_id()?).map(|(_, changes)| changes)
    }
}

const MAX_WAIT: Duration = Duration::from_mins(1);
