use std::{cell::Cell, sync::Arc};

use mcp_listen::metrics::Metrics;

/// What all requests of a server share, besides the service of the core.
#[derive(Default)]
pub(super) struct Shared {
    /// The counters of its streams.
    pub(super) metrics: Arc<Metrics>,
    /// The `serverInfo` that was discovered last, of which streams keep no copies.
    server_info: Cell<Option<Arc<str>>>,
}

impl Shared {
    /// Returns the shared copy of this `serverInfo`.
    pub(super) fn server_info(&self, text: &str) -> Arc<str> {
        let known = self.server_info.take().filter(|known| **known == *text);
        let shared = known.unwrap_or_else(|| text.into());
        self.server_info.set(Some(shared.clone()));
        shared
    }

    /// Returns the counters as in `Service.counts`.
    pub(super) fn counts(&self) -> Vec<f64> {
        let counted = self.metrics.read();
        let counts = [
            counted.events,
            counted.frames,
            counted.collapsed,
            counted.waited,
        ];
        counts.into_iter().chain(counted.waits).map(count).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
fn count(count: u64) -> f64 {
    count as f64
}
