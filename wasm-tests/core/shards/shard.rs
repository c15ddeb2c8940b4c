use mcp_listen::{
    bus::{EdgeCloseReason, EdgeId, FollowCall, Persist, Shard, ShardOutput, ShardReceived},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    limits::Limits,
    position::{Cursor, Position},
    wire::{Follow, ProtocolError},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    reply::{attached, replied, went_on},
    root::sharded,
};
use crate::{any::updated, follow};

pub(super) const NOW: Millis = Millis(0);

pub(super) fn attach(shard: &mut Shard, filter: &str, since: Option<u64>) -> EdgeId {
    let filter = SubscriptionFilter::from_json(filter, &Limits::default());
    let edge = shard.connect();
    let follow = follow::fresh(1, &filter.unwrap());
    let received = since.map(|position| Cursor {
        epoch: "e".into(),
        position: Position(position),
    });
    let follow = match received {
        Some(cursor) => follow.since(&cursor),
        None => follow,
    };
    take(shard, edge, &follow);
    edge
}

/// The edge follows everything.
fn attach_to_everything(shard: &mut Shard) {
    let edge = shard.connect();
    take(shard, edge, &follow::everything(1));
}

pub(super) fn take(shard: &mut Shard, edge: EdgeId, follow: &Follow) {
    let received = shard.handle_message(edge, &follow.to_json(), NOW);
    let persist = Persist::All;
    let session = None;
    assert_eq!(received, Ok(ShardReceived::Followed { persist, session }));
}

pub(super) fn sent(shard: &mut Shard) -> Vec<(u32, String)> {
    let mut sent = Vec::new();
    while let Some(output) = shard.poll_output() {
        match output {
            ShardOutput::Send(delivery) => {
                let edges = delivery.edges.iter();
                sent.extend(edges.map(|edge| (edge.0, delivery.message.clone())));
            }
            ShardOutput::Close(edge, reason) => sent.push((edge.0, format!("{reason:?}"))),
            _ => {}
        }
    }
    sent
}

pub(super) fn followed(shard: &mut Shard, call: &FollowCall, members: &str) {
    let seq = call.seq;
    let reply = format!(r#"{{"v":1,"type":"followed","seq":{seq},"epoch":"e",{members}}}"#);
    shard.handle_response(call.seq, &reply, NOW, 0.5);
}

pub(super) fn batch(shard: &mut Shard, members: &str) -> String {
    let text = format!(r#"{{"v":1,"type":"batch","epoch":"e",{members}}}"#);
    shard.handle_batch(&text, NOW).unwrap()
}

pub(super) fn event(position: u64, previous: u64) -> String {
    follow::batch(previous, position, &ServerEvent::ToolsListChanged)
}

pub(super) const TOOLS: &str = r#"{"toolsListChanged":true}"#;
pub(super) const PROMPTS: &str = r#"{"promptsListChanged":true}"#;

/// A shard that follows the tools up to 7, with one edge.
pub(super) fn shard() -> Shard {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(0, attached(7))]);
    shard
}

#[test]
fn an_attach_waits_for_the_root() {
    let mut shard = Shard::new(4);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    assert_eq!(
        call.text,
        r#"{"v":1,"type":"follow","seq":5,"fresh":true,"add":["tools"],"edges":1}"#
    );
    // These need no more than is in flight, and wait for the same reply.
    attach(&mut shard, TOOLS, None);
    assert_eq!(shard.poll_call(NOW), None);
    assert_eq!(sent(&mut shard), []);
    // Events published after the root replied may arrive before its reply.
    batch(
        &mut shard,
        r#""through":9,"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]"#,
    );
    assert_eq!(sent(&mut shard), []);
    followed(&mut shard, &call, r#""position":7"#);
    let expected = [0, 1].map(|edge| [(edge, replied(1, 7, 9)), (edge, event(9, 7))]);
    assert_eq!(sent(&mut shard), expected.concat());
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn a_batch_for_an_earlier_instance_proves_nothing() {
    let mut shard = Shard::new(4);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    batch(&mut shard, r#""through":5,"events":[]"#);
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(sent(&mut shard), [(0, attached(7))]);
    // 6 and 7 will not be sent here, so an edge that has received up to 5 has to request them.
    attach(&mut shard, TOOLS, Some(5));
    assert_eq!(sent(&mut shard), []);
    assert!(shard.poll_call(NOW).unwrap().text.contains(r#""since":5"#));
}

#[test]
fn followed_topics_get_a_reply_without_a_call() {
    let mut shard = shard();
    attach(&mut shard, TOOLS, None);
    attach(&mut shard, TOOLS, Some(7));
    assert_eq!(shard.poll_call(NOW), None);
    assert_eq!(sent(&mut shard), [(1, attached(7)), (2, went_on(7, 7))]);
}

#[test]
fn attaches_during_a_call_share_the_next_one() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    attach(&mut shard, TOOLS, Some(3));
    attach(&mut shard, TOOLS, Some(5));
    attach_to_everything(&mut shard);
    assert_eq!(shard.poll_call(NOW), None);
    followed(&mut shard, &call, r#""position":8"#);
    assert_eq!(sent(&mut shard), [(1, attached(8))]);
    let call = shard.poll_call(NOW).unwrap();
    assert_eq!(
        call.text,
        r#"{"v":1,"type":"follow","seq":3,"add":["everything"],"since":3,"edges":5}"#
    );
    let missed = r#""after":3,"events":[{"position":5,"event":{"kind":"tools_list_changed"}}]"#;
    followed(&mut shard, &call, &format!(r#""position":8,{missed}"#));
    let expected = [
        (2, went_on(3, 8)),
        (2, event(5, 3)),
        (3, went_on(5, 8)),
        (4, attached(8)),
    ];
    assert_eq!(sent(&mut shard), expected);
}

#[test]
fn an_unknown_past_gets_the_end_of_the_log() {
    let mut shard = shard();
    attach(&mut shard, TOOLS, Some(2));
    attach(&mut shard, TOOLS, Some(99));
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":8,"after":4,"events":[]"#);
    assert_eq!(sent(&mut shard), [(1, attached(8)), (2, attached(8))]);
}

#[test]
fn events_missing_before_a_batch_are_requested() {
    let mut shard = shard();
    let reply = batch(
        &mut shard,
        r#""previous":8,"through":9,"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]"#,
    );
    assert_eq!(reply, r#"{"v":1,"type":"ack","edges":1}"#);
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert_eq!(
        call.text,
        r#"{"v":1,"type":"follow","seq":2,"since":7,"edges":1}"#
    );
    let missed = r#""after":7,"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]"#;
    followed(&mut shard, &call, &format!(r#""position":10,{missed}"#));
    assert_eq!(sent(&mut shard), [(0, event(9, 7))]);
    assert_eq!(shard.cursor().unwrap().position, Position(10));
    // A repeated follow changes nothing.
    batch(
        &mut shard,
        r#""previous":8,"through":9,"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]"#,
    );
    assert_eq!(sent(&mut shard), []);
}

#[test]
fn unrecoverable_events_close_the_edges() {
    let mut shard = shard();
    batch(&mut shard, r#""previous":8,"through":8,"events":[]"#);
    let call = shard.poll_call(NOW).unwrap();
    attach(&mut shard, TOOLS, Some(9));
    followed(&mut shard, &call, r#""position":10,"after":9,"events":[]"#);
    assert_eq!(sent(&mut shard), [(0, "Lost".to_owned())]);
    assert_eq!(shard.cursor().unwrap().position, Position(10));
    assert!(shard.poll_call(NOW).is_some());
}

#[test]
fn a_new_epoch_closes_all_edges() {
    for is_reply in [false, true] {
        let mut shard = shard();
        if is_reply {
            attach(&mut shard, PROMPTS, None);
            let call = shard.poll_call(NOW).unwrap();
            let reply = r#"{"v":1,"type":"followed","seq":2,"epoch":"f","position":1}"#;
            shard.handle_response(call.seq, reply, NOW, 0.5);
            assert_eq!(sent(&mut shard).len(), 2);
        } else {
            let text = r#"{"v":1,"type":"batch","epoch":"f","through":1,"events":[]}"#;
            shard.handle_batch(text, NOW).unwrap();
            assert_eq!(sent(&mut shard), [(0, "Lost".to_owned())]);
        }
        attach(&mut shard, TOOLS, None);
        let call = shard.poll_call(NOW).unwrap();
        assert!(call.text.contains(r#""fresh":true"#), "{}", call.text);
    }
}

#[test]
fn an_unknown_shard_closes_all_edges_and_accepts_none() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    shard.handle_response(call.seq, r#"{"v":1,"type":"unknown"}"#, NOW, 0.5);
    let moved = |edge: u32| (edge, "Redirected".to_owned());
    assert_eq!(sent(&mut shard), [moved(0), moved(1)]);
    assert!(shard.is_retired());
    attach(&mut shard, TOOLS, None);
    assert_eq!(sent(&mut shard), [moved(2)]);
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn the_last_batch_closes_all_edges() {
    let mut shard = shard();
    let reply = batch(&mut shard, r#""through":9,"events":[],"last":true"#);
    assert_eq!(reply, r#"{"v":1,"type":"ack","edges":0,"retired":true}"#);
    assert_eq!(
        sent(&mut shard),
        [(0, format!("{:?}", EdgeCloseReason::Redirected))]
    );
}

#[test]
fn a_stale_call_number_is_raised() {
    let mut shard = Shard::new(2);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    shard.handle_response(call.seq, r#"{"v":1,"type":"stale","seq":40}"#, NOW, 0.5);
    let again = shard.poll_call(NOW).unwrap();
    assert_eq!(again.seq, 41);
    assert!(again.text.contains(r#""add":["tools"]"#), "{}", again.text);
}

#[test]
fn calls_to_a_silent_root_back_off() {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..4 {
        let call = shard.poll_call(now).unwrap();
        shard.handle_failure(call.seq, false, now, 0.5);
        assert_eq!(shard.poll_call(now), None);
        waits.push((shard.poll_timeout().unwrap() - now).0);
        now = shard.poll_timeout().unwrap();
    }
    assert_eq!(waits, [150, 250, 450, 850]);
    shard.poll_call(now).unwrap();
    assert_eq!(shard.poll_timeout(), Some(now + Millis(4_000)));
    shard.handle_timeout(now + Millis(4_000), 0.0);
    assert!(shard.poll_call(now + Millis(4_100)).is_some());
}

#[test]
fn the_backoff_is_shorter_than_the_wait_of_an_edge() {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    let mut now = NOW;
    let mut fail = |is_overloaded| {
        let call = shard.poll_call(now).unwrap();
        shard.handle_failure(call.seq, is_overloaded, now, 1.0);
        let pause = shard.poll_timeout().unwrap() - now;
        now = now + pause;
        pause
    };
    let longest = (0..20).map(|_| fail(false)).max();
    // A stream that is not attached within 3 s is refused: this leaves more than a second for the
    // call.
    assert_eq!(longest, Some(Millis(1_600)));
    assert_eq!(fail(true), Millis(6_400), "an overloaded root gets a pause");
}

#[test]
fn an_invalid_reply_is_a_failed_call() {
    let mut shard = Shard::new(0);
    attach(&mut shard, TOOLS, None);
    let call = shard.poll_call(NOW).unwrap();
    shard.handle_response(call.seq, "{}", NOW, 0.5);
    assert!(shard.poll_call(Millis(150)).is_some());
    assert!(shard.handle_batch("{}", NOW).is_err());
    let edge = shard.connect();
    assert_eq!(
        shard.handle_message(edge, "{}", NOW),
        Err(ProtocolError::Malformed)
    );
    let gone = EdgeId(99);
    let text = follow::everything(1).to_json();
    assert_eq!(
        shard.handle_message(gone, &text, NOW),
        Err(ProtocolError::OutOfPlace)
    );
}

#[test]
fn a_settled_reply_moves_the_cursor() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, None);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":90"#);
    assert_eq!(shard.cursor().unwrap().position, Position(7));
    attach(&mut shard, r#"{"resourcesListChanged":true}"#, None);
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":90,"settled":true"#);
    assert_eq!(shard.cursor().unwrap().position, Position(90));
}

#[test]
fn few_edges_are_reported_once_if_they_stay_few() {
    let mut shard = shard();
    let edges: Vec<EdgeId> = (0..4).map(|_| attach(&mut shard, TOOLS, None)).collect();
    for edge in &edges[..3] {
        shard.disconnect(*edge, NOW);
    }
    assert_eq!(shard.poll_timeout(), Some(Millis(10_000)));
    attach(&mut shard, TOOLS, None);
    assert_eq!(shard.poll_timeout(), None);
    shard.disconnect(edges[3], Millis(500));
    shard.handle_timeout(Millis(10_499), 0.5);
    assert_eq!(shard.poll_call(Millis(10_499)), None);
    shard.handle_timeout(Millis(10_500), 0.5);
    let call = shard.poll_call(Millis(10_500)).unwrap();
    assert_eq!(
        call.text,
        r#"{"v":1,"type":"follow","seq":2,"edges":2,"low":true}"#
    );
    followed(&mut shard, &call, r#""position":7"#);
    assert_eq!(shard.poll_timeout(), None);
}

#[test]
fn many_attaches_with_the_same_filter_cost_one_call() {
    let mut world = sharded(&[]);
    let before = world.calls;
    for _ in 0..20 {
        world.listen(super::root::tools(), "OC");
    }
    world.come_to_rest();
    // One in each direction for each opened shard, for any number of attaches.
    assert_eq!(world.calls - before, 14);
    world.publish(&updated("a"));
    assert_eq!(world.calls - before, 14);
}
