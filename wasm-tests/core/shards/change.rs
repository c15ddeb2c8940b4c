//! An edge of a shard adds and drops topics, as at a bus.

use mcp_listen::{
    bus::{Bus, EdgeId, Persist, Shard, ShardId, ShardReceived},
    clock::Millis,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    topic::{Delta, Topic},
    wire::{FollowResponse, ProtocolError},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::bus_with_shards;
use super::{
    reply::{attached, confirmed},
    shard::{NOW, PROMPTS, TOOLS, attach, batch, followed, sent, shard},
};
use crate::{any::uri, follow};

/// When a call may be repeated after a failure.
const LATER: Millis = Millis(60_000);

fn watching(names: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: names.iter().map(|name| uri(name)).collect(),
        ..SubscriptionFilter::default()
    }
}

fn change(
    shard: &mut Shard,
    edge: u32,
    seq: u64,
    add: &[&str],
    drop: &[&str],
) -> Result<ShardReceived, ProtocolError> {
    let text = follow::change(seq, &watching(add), &watching(drop)).to_json();
    shard.handle_message(EdgeId(edge), &text, NOW)
}

/// The log ended at 7 when the root followed the additions.
fn changed(seq: u64) -> String {
    confirmed(seq, 7)
}

const EVENT: &str =
    r#""through":8,"events":[{"position":8,"event":{"kind":"resource_updated","uri":"a"}}]"#;

#[test]
fn additions_are_confirmed_once_the_root_follows_them() {
    let mut shard = shard();
    let received = change(&mut shard, 0, 2, &["a"], &[]);
    let Ok(ShardReceived::Followed { persist: keeps, .. }) = received else {
        panic!("{received:?}");
    };
    let delta = Delta {
        add: vec![Topic::Resource(uri("a"))],
        drop: Vec::new(),
    };
    assert_eq!(keeps, Persist::Delta(delta));
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert!(
        call.text.contains(r#""add":["resource:a"]"#),
        "{}",
        call.text
    );
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(0, changed(2))]);
    batch(&mut shard, EVENT);
    assert_eq!(sent(&mut shard).len(), 1);
}

#[test]
fn followed_topics_are_confirmed_at_once() {
    let mut shard = shard();
    attach(&mut shard, r#"{"resourceSubscriptions":["a"]}"#, None);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(1, attached(7))]);
    change(&mut shard, 0, 5, &["a"], &[]).unwrap();
    assert_eq!(sent(&mut shard), [(0, changed(5))]);
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn a_failed_call_is_repeated_and_then_confirms() {
    let mut shard = shard();
    change(&mut shard, 0, 2, &["a"], &[]).unwrap();
    let call = shard.poll_call(NOW).unwrap();
    shard.handle_failure(call.seq, false, NOW, 0.5);
    let later = shard.poll_timeout().unwrap();
    let call = shard.poll_call(later).unwrap();
    assert!(call.text.contains("resource:a"));
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(0, changed(2))]);
}

#[test]
fn dropped_topics_are_reported_with_the_next_call() {
    let mut shard = shard();
    change(&mut shard, 0, 2, &["a"], &[]).unwrap();
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":7"#);
    sent(&mut shard);
    change(&mut shard, 0, 3, &[], &["a"]).unwrap();
    assert_eq!(sent(&mut shard), [(0, changed(3))]);
    batch(&mut shard, EVENT);
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert!(
        call.text.contains(r#""drop":["resource:a"]"#),
        "{}",
        call.text
    );
}

#[test]
fn an_edge_that_waits_for_its_first_reply_changes_nothing() {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    let refused = change(&mut shard, 0, 2, &["a"], &[]);
    assert_eq!(refused, Err(ProtocolError::OutOfPlace));
    let stranger = change(&mut shard, 9, 2, &["a"], &[]);
    assert_eq!(stranger, Err(ProtocolError::OutOfPlace));
}

#[test]
fn beyond_the_room_of_the_shard_nothing_is_added() {
    let mut shard = Shard::new(0);
    shard.set_room(3_200, 8);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":7"#);
    sent(&mut shard);
    // The reserved room of one in eight.
    let [fits, beyond] = [200 - 64, 200 - 64 + 1].map(|length| "x".repeat(length));
    change(&mut shard, 0, 2, &[&beyond], &[]).unwrap();
    let refused = r#"{"v":1,"type":"full","seq":2,"room":200}"#;
    assert_eq!(sent(&mut shard), [(0, refused.to_owned())]);
    assert_eq!(
        (shard.registry().name_bytes(), shard.poll_call(NOW)),
        (0, None)
    );
    change(&mut shard, 0, 3, &[&fits], &[]).unwrap();
    assert_eq!(shard.registry().name_bytes(), 200);
    let names: Vec<String> = (0..40).map(|number| format!("\"n{number}\"")).collect();
    attach(
        &mut shard,
        &format!(r#"{{"resourceSubscriptions":[{}]}}"#, names.join(",")),
        None,
    );
    assert_eq!(sent(&mut shard), [(1, "Full".to_owned())]);
    assert_eq!(shard.registry().name_bytes(), 200);
}

/// A root with room for this many bytes, and one shard that follows the tools.
fn root(max_bytes: usize) -> (Bus, Shard) {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(7),
    };
    let mut root = bus_with_shards(cursor, Position(7), 0, 1);
    root.route("EU", 1, None);
    root.set_room(max_bytes, 0);
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    ask(&mut root, &mut shard);
    assert_eq!(sent(&mut shard), [(0, attached(7))]);
    (root, shard)
}

fn ask(root: &mut Bus, shard: &mut Shard) -> FollowResponse {
    ask_at(root, shard, NOW)
}

fn ask_at(root: &mut Bus, shard: &mut Shard, now: Millis) -> FollowResponse {
    let call = shard.poll_call(now).unwrap();
    let reply = root.handle_follow(ShardId(1), &call.text).unwrap();
    let frame = reply.finish(root).remove(0);
    shard.handle_response(call.seq, &frame, now, 0.5);
    FollowResponse::from_json(&frame).unwrap()
}

#[test]
fn a_shard_refuses_what_its_root_has_no_room_for() {
    // Half of the rest is reserved for other shards.
    let (_, mut shard) = root(400);
    let [fits, beyond] = [200 - 64, 200 - 64 + 1].map(|length| "x".repeat(length));
    change(&mut shard, 0, 2, &[&beyond], &[]).unwrap();
    assert!(sent(&mut shard)[0].1.contains(r#""type":"full""#));
    change(&mut shard, 0, 3, &[&fits], &[]).unwrap();
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert!(!call.text.contains(&beyond) && call.text.contains(&fits));
}

#[test]
fn a_refusal_of_the_root_reaches_the_waiting_edges() {
    let (mut root, mut shard) = root(4_000);
    root.set_room(100, 0);
    attach(&mut shard, PROMPTS, None);
    attach(
        &mut shard,
        r#"{"resourceSubscriptions":["note://too-much-for-the-root-now"]}"#,
        None,
    );
    change(&mut shard, 0, 2, &["note://another-that-is-too-much"], &[]).unwrap();
    assert!(matches!(
        ask(&mut root, &mut shard),
        FollowResponse::Full { .. }
    ));
    let reported = sent(&mut shard);
    assert!(
        reported[0].1.contains(r#""type":"full","seq":2"#),
        "{reported:?}"
    );
    assert_eq!(
        reported[1].0, 1,
        "it waits for the same call, and may come back"
    );
    assert_eq!(reported[2], (2, "Full".to_owned()));
    assert_eq!(shard.registry().name_bytes(), 0);
    assert_eq!(root.wanted().resource_subscriptions, []);
    // Present edges stay, and receive their topics.
    batch(
        &mut shard,
        r#""through":8,"events":[{"position":8,"event":{"kind":"tools_list_changed"}}]"#,
    );
    assert_eq!(sent(&mut shard).len(), 1);
}

#[test]
fn the_topics_of_shards_are_wanted_until_they_close() {
    let (mut root, mut shard) = root(usize::MAX);
    change(&mut shard, 0, 2, &["a", "b"], &[]).unwrap();
    ask(&mut root, &mut shard);
    assert_eq!(root.wanted().resource_subscriptions, [uri("a"), uri("b")]);
    assert_eq!(root.poll_wanted(), None);
    // A restarted shard has reported nothing.
    let mut restarted = Shard::new(9);
    attach(&mut restarted, r#"{"resourceSubscriptions":["b"]}"#, None);
    ask(&mut root, &mut restarted);
    assert_eq!(root.wanted().resource_subscriptions, [uri("b")]);
    let changed = root.poll_wanted().unwrap().resource_subscriptions;
    assert!(changed.contains(&uri("a")));
}

/// Makes the next call of the shard. The root handles it, and its reply is lost.
fn ask_in_vain(root: &mut Bus, shard: &mut Shard) {
    let call = shard.poll_call(NOW).unwrap();
    let reply = root.handle_follow(ShardId(1), &call.text).unwrap();
    reply.finish(root);
    shard.handle_failure(call.seq, false, NOW, 0.5);
}

#[test]
fn a_topic_whose_confirmation_was_lost_is_dropped_once_unwanted() {
    let (mut root, mut shard) = root(usize::MAX);
    change(&mut shard, 0, 2, &["a"], &[]).unwrap();
    ask_in_vain(&mut root, &mut shard);
    assert_eq!(root.wanted().resource_subscriptions, [uri("a")]);
    change(&mut shard, 0, 3, &["b"], &["a"]).unwrap();
    ask_at(&mut root, &mut shard, LATER);
    assert_eq!(root.wanted().resource_subscriptions, [uri("b")]);
}

#[test]
fn a_topic_whose_confirmation_was_lost_is_dropped_after_a_refusal() {
    let (mut root, mut shard) = root(4_000);
    change(&mut shard, 0, 2, &["a"], &[]).unwrap();
    ask_in_vain(&mut root, &mut shard);
    root.set_room(100, 0);
    change(&mut shard, 0, 3, &["note://too-much-for-the-root-now"], &[]).unwrap();
    let refused = ask_at(&mut root, &mut shard, LATER);
    assert!(matches!(refused, FollowResponse::Full { .. }));
    attach(&mut shard, PROMPTS, None);
    ask_at(&mut root, &mut shard, LATER);
    assert_eq!(root.wanted().resource_subscriptions, []);
}

#[test]
fn a_topic_whose_drop_was_refused_is_dropped_once_unwanted_again() {
    let (mut root, mut shard) = root(4_000);
    change(&mut shard, 0, 2, &["a"], &[]).unwrap();
    ask(&mut root, &mut shard);
    root.set_room(65, 0);
    attach(&mut shard, PROMPTS, None);
    change(&mut shard, 0, 3, &["note://b"], &["a"]).unwrap();
    let call = shard.poll_call(NOW).unwrap();
    change(&mut shard, 0, 4, &["a"], &[]).unwrap();
    let reply = root.handle_follow(ShardId(1), &call.text).unwrap();
    let refused = reply.finish(&mut root).remove(0);
    shard.handle_response(call.seq, &refused, NOW, 0.5);
    change(&mut shard, 0, 5, &[], &["a"]).unwrap();
    ask(&mut root, &mut shard);
    assert_eq!(root.wanted().resource_subscriptions, []);
}

#[test]
fn a_shard_without_room_asks_its_root_again() {
    let (mut root, mut shard) = root(100);
    let [first, second] = ["note://a", "note://b"];
    change(&mut shard, 0, 2, &[first], &[]).unwrap();
    assert!(sent(&mut shard)[0].1.contains(r#""type":"full""#));
    root.set_room(10_000, 0);
    assert!(matches!(
        ask(&mut root, &mut shard),
        FollowResponse::Followed(_)
    ));
    change(&mut shard, 0, 3, &[first, second], &[]).unwrap();
    ask(&mut root, &mut shard);
    assert_eq!(sent(&mut shard), [(0, changed(3))]);
}
