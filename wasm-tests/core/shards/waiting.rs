//! Follows of edges that wait for a call of their shard to the root.

use mcp_listen::{
    bus::{EdgeId, Shard},
    filter::SubscriptionFilter,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    reply::{attached, confirmed, went_on},
    shard::{NOW, PROMPTS, TOOLS, attach, followed, sent, shard},
};
use crate::{any::uri, follow};

/// The first edge adds a resource.
fn add(shard: &mut Shard, seq: u64, name: &str) {
    let added = SubscriptionFilter {
        resource_subscriptions: vec![uri(name)],
        ..SubscriptionFilter::default()
    };
    let follow = follow::change(seq, &added, &SubscriptionFilter::default());
    let received = shard.handle_message(EdgeId(0), &follow.to_json(), NOW);
    assert!(received.is_ok(), "{received:?}");
}

#[test]
fn replies_keep_the_order_of_the_follows_after_a_failed_call() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    // This one waits for the next call, and the one after it for the call in flight.
    attach(&mut shard, TOOLS, Some(3));
    attach(&mut shard, PROMPTS, None);
    shard.handle_failure(call.seq, false, NOW, 0.5);
    let later = shard.poll_timeout().unwrap();
    let call = shard.poll_call(later).unwrap();
    followed(&mut shard, &call, r#""position":8,"after":3,"events":[]"#);
    let expected = [(1, attached(8)), (2, went_on(3, 8)), (3, attached(8))];
    assert_eq!(sent(&mut shard), expected);
}

#[test]
fn after_a_refused_call_only_those_without_room_stop_waiting() {
    let mut shard = shard();
    attach(&mut shard, TOOLS, Some(5));
    attach(&mut shard, PROMPTS, None);
    attach(&mut shard, TOOLS, Some(3));
    let call = shard.poll_call(NOW).unwrap();
    let full = format!(r#"{{"v":1,"type":"full","seq":{}}}"#, call.seq);
    shard.handle_response(call.seq, &full, NOW, 0.5);
    assert_eq!(sent(&mut shard), [(2, "Full".to_owned())]);
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":3"#), "{}", call.text);
    followed(&mut shard, &call, r#""position":8,"after":3,"events":[]"#);
    let expected = [(1, went_on(5, 8)), (3, went_on(3, 8))];
    assert_eq!(sent(&mut shard), expected);
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn changes_of_one_edge_may_wait_for_different_calls() {
    let mut shard = shard();
    add(&mut shard, 2, "a");
    let call = shard.poll_call(NOW).unwrap();
    add(&mut shard, 3, "b");
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(0, confirmed(2, 7))]);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":8"#);
    assert_eq!(sent(&mut shard), [(0, confirmed(3, 8))]);
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn an_edge_that_leaves_while_it_waits_gets_no_reply_and_needs_no_call() {
    let mut shard = shard();
    let waiting = attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    let next = attach(&mut shard, TOOLS, Some(3));
    for edge in [waiting, next] {
        shard.disconnect(edge, NOW);
    }
    followed(&mut shard, &call, r#""position":8"#);
    assert_eq!(sent(&mut shard), []);
    assert_eq!(shard.poll_call(NOW), None);
}
