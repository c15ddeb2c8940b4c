use std::sync::Arc;

use wasm_bindgen::prelude::*;

use mcp_listen::metrics;

/// Counters for the streams of one server.
#[wasm_bindgen]
#[derive(Default)]
pub struct StreamMetrics(pub(crate) Arc<metrics::Metrics>);

#[wasm_bindgen]
impl StreamMetrics {
    /// Creates counters at zero.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Events; notifications written; events that collapsed; the sum of the write delays of
    /// notifications, in milliseconds; then the number of notifications by write delay: up to 5,
    /// 20, 100, 500, 2,000, 10,000 ms, and longer.
    #[wasm_bindgen(getter)]
    pub fn counts(&self) -> Vec<f64> {
        let counted = self.0.read();
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
