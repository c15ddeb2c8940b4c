use mcp_listen::bus::Shard;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    reply::{attached, went_on},
    shard::{NOW, PROMPTS, TOOLS, attach, batch, event, followed, sent, shard},
};

/// Events from before a topic was followed were not sent here, even those after the cursor.
#[test]
fn a_topic_added_before_a_pending_batch_is_complete_only_after_it() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, Some(7));
    let call = shard.poll_call(NOW).unwrap();
    // A batch up to 9 is pending after a failure; it lacks a change of the prompts at 8.
    followed(&mut shard, &call, r#""position":9,"after":9,"events":[]"#);
    assert_eq!(sent(&mut shard), [(1, attached(9))]);
    attach(&mut shard, PROMPTS, Some(7));
    assert_eq!(sent(&mut shard), []);
    assert!(shard.poll_call(NOW).unwrap().text.contains(r#""since":7"#));
    batch(&mut shard, r#""previous":7,"through":9,"events":[]"#);
    attach(&mut shard, TOOLS, Some(9));
    assert_eq!(sent(&mut shard), [(3, went_on(9, 9))]);
}

/// The root has restarted, and its log begins after 9: its first batch leaves out everything
/// before.
#[test]
fn events_left_out_before_the_first_reply_are_requested() {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, Some(5));
    let call = shard.poll_call(NOW).unwrap();
    batch(&mut shard, r#""previous":9,"through":9,"events":[]"#);
    followed(&mut shard, &call, r#""position":7,"after":5,"events":[]"#);
    assert_eq!(sent(&mut shard), [(0, went_on(5, 7))]);
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":7"#));
    followed(&mut shard, &call, r#""position":9,"after":9,"events":[]"#);
    assert_eq!(sent(&mut shard), [(0, "Lost".into())]);
}

/// The reply in flight was written before it.
#[test]
fn events_during_a_recovery_are_requested_next() {
    let mut shard = shard();
    batch(&mut shard, r#""previous":8,"through":8,"events":[]"#);
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":7"#));
    batch(&mut shard, &changed_after_a_gap());
    followed(&mut shard, &call, r#""position":8,"after":7,"events":[]"#);
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":8"#));
    let reply = format!(r#""position":9,"after":8,"events":{CHANGED}"#);
    followed(&mut shard, &call, &reply);
    assert_eq!(sent(&mut shard).len(), 1);
}

/// The reply in flight was written for a call that requested no events.
#[test]
fn events_left_out_during_a_call_that_requests_none_are_requested_next() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    assert!(!call.text.contains("since"), "{}", call.text);
    batch(&mut shard, &changed_after_a_gap());
    followed(&mut shard, &call, r#""position":9,"settled":true"#);
    assert_eq!(sent(&mut shard), [(1, attached(9))], "no edge is closed");
    check_requested_next(&mut shard);
}

/// The reply in flight was written for an edge that has received more than the shard.
#[test]
fn events_left_out_during_a_call_for_a_later_edge_are_requested_next() {
    let mut shard = shard();
    attach(&mut shard, TOOLS, Some(8));
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":8"#), "{}", call.text);
    batch(&mut shard, &changed_after_a_gap());
    let missed = format!(r#""position":9,"after":8,"events":{CHANGED}"#);
    followed(&mut shard, &call, &missed);
    assert_eq!(sent(&mut shard), [(1, went_on(8, 9)), (1, event(9, 8))]);
    check_requested_next(&mut shard);
}

/// Checks that the next call requests the events that were left out, and that the shard then
/// delivers them.
fn check_requested_next(shard: &mut Shard) {
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":7"#), "{}", call.text);
    let missed = format!(r#""position":9,"after":7,"events":{CHANGED}"#);
    followed(shard, &call, &missed);
    assert_eq!(sent(shard), [(0, event(9, 7))]);
    assert_eq!(shard.poll_call(NOW), None);
}

/// Events that are still missing after they were requested are gone, even if a batch arrives in
/// the meantime.
#[test]
fn events_that_were_requested_in_vain_close_the_edges() {
    let mut shard = shard();
    batch(&mut shard, r#""previous":8,"through":8,"events":[]"#);
    let call = shard.poll_call(NOW).unwrap();
    batch(&mut shard, &changed_after_a_gap());
    followed(&mut shard, &call, r#""position":9,"after":9,"events":[]"#);
    assert_eq!(sent(&mut shard), [(0, "Lost".into())]);
}

/// A batch with a change at 9; events up to 8 are missing.
fn changed_after_a_gap() -> String {
    format!(r#""previous":8,"through":9,"events":{CHANGED}"#)
}

const CHANGED: &str = r#"[{"position":9,"event":{"kind":"tools_list_changed"}}]"#;
