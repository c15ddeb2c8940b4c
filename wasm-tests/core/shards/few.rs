//! When a shard reports that its edges are few.

use mcp_listen::{bus::Shard, clock::Millis};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::shard::{NOW, TOOLS, attach, followed};

#[test]
fn few_edges_are_reported_after_the_configured_span() {
    for span in [Millis(0), Millis(1), Millis(3_600_000)] {
        let mut shard = Shard::new(0).with_low_span(span);
        let edge = attach(&mut shard, TOOLS, None);
        let call = shard.poll_call(NOW).unwrap();
        followed(&mut shard, &call, r#""position":7"#);
        shard.disconnect(edge, NOW);
        assert_eq!(shard.poll_timeout(), Some(NOW + span));
        shard.handle_timeout(NOW + span, 0.5);
        let call = shard.poll_call(NOW + span).unwrap();
        assert!(call.text.contains(r#""low":true"#), "{}", call.text);
    }
}
