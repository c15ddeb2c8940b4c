//! What is stored, and what a deliverer knows after a restart.

use mcp_listen::{
    clock::Millis,
    events::webhook::{
        Deliverer, DelivererOptions, DelivererOutput, MatchRules, MessageKind, SubscribeRequest,
        WebhookStore, WebhookSubscription,
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, failure, kinds, subscribe};

/// A deliverer of a hundred subscriptions, with nothing to do.
fn hundred() -> Rig {
    let mut rig = Rig::new();
    for number in 0..100 {
        rig.subscribe(&subscribe(number)).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    rig.respond_all(200);
    rig
}

#[test]
fn an_occurrence_for_a_hundred_subscriptions_is_one_row() {
    let mut rig = hundred();
    let writes = rig.writes();
    rig.publish("order.paid", "{}");
    assert_eq!(rig.respond_all(200).len(), 100);
    assert_eq!(rig.writes() - writes, 1);
}

#[test]
fn a_failure_is_a_row_of_its_own() {
    let mut rig = hundred();
    let writes = rig.writes();
    rig.publish("order.paid", "{}");
    let post = rig.posts.remove(0);
    rig.settle(&post, &failure());
    rig.respond_all(200);
    assert_eq!(rig.writes() - writes, 2);
}

#[test]
fn after_a_restart_nothing_is_sent_again_that_was_stored() {
    let mut rig = hundred();
    rig.restart();
    rig.ring();
    assert!(rig.posts.is_empty());
    rig.publish("order.paid", "{}");
    assert_eq!(rig.respond_all(200).len(), 100);
    rig.restart();
    rig.ring();
    assert!(rig.posts.is_empty());
}

#[test]
fn after_a_restart_what_was_under_way_is_sent_again() {
    let mut rig = hundred();
    rig.publish("order.paid", "{}");
    let post = rig.posts.remove(0);
    rig.respond(&post, 200);
    assert_eq!(rig.posts.len(), 3);
    rig.restart();
    rig.pass(30_000);
    assert_eq!(rig.respond_all(200).len(), 100, "the alarm was set before");
}

#[test]
fn after_a_restart_attempts_and_breakers_go_on() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    let mut times = Vec::new();
    for _ in 0..8_000 {
        for post in std::mem::take(&mut rig.posts) {
            rig.settle(&post, &failure());
            times.push(rig.now.0 / 1_000);
            rig.restart();
        }
        rig.pass(100);
    }
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits, [5, 30, 120, 480, 48, 48, 48], "{times:?}");
}

#[test]
fn nothing_due_is_no_alarm_but_for_the_expiry() {
    let mut rig = hundred();
    let end = Some(rig.now + Millis(3_599_000));
    assert_eq!(rig.alarm, end);
    for number in 0..100 {
        rig.deliverer
            .handle_unsubscribe(&subscribe(number).id, rig.now)
            .unwrap();
        rig.drain();
    }
    assert_eq!(rig.alarm, None);
}

#[test]
fn a_deliverer_without_subscriptions_sets_no_alarm() {
    let mut rig = Rig::new();
    rig.wake("order.paid");
    rig.ring();
    assert_eq!((rig.alarm, rig.writes()), (None, 0));
}

#[test]
fn a_restart_keeps_the_alarm_of_what_was_under_way() {
    let mut rig = hundred();
    rig.publish("order.paid", "{}");
    let alarm = rig.alarm;
    rig.restart();
    // Something else comes first.
    rig.publish("order.sent", "{}");
    assert_eq!(rig.alarm, alarm);
    rig.pass(30_000);
    assert_eq!(rig.respond_all(200).len(), 100);
}

#[test]
fn the_first_call_after_a_restart_does_what_is_due() {
    let mut rig = hundred();
    rig.publish("order.paid", "{}");
    let post = rig.posts.remove(0);
    rig.settle(&post, &failure());
    rig.respond_all(200);
    rig.now = rig.now + Millis(60_000);
    rig.alarm = Some(rig.now + Millis(30_000));
    rig.restart();
    // Something else comes first.
    rig.publish("order.sent", "{}");
    assert_eq!(rig.post().message, post.message);
}

#[test]
fn a_restart_without_an_alarm_has_the_log_read() {
    let mut rig = hundred();
    rig.append("order.paid", "{}", "");
    rig.alarm = None;
    rig.restart();
    // Something else comes first.
    rig.publish("order.sent", "{}");
    assert_eq!(rig.respond_all(200).len(), 100);
}

#[test]
fn subscriptions_are_stored_before_the_response() {
    let mut rig = Rig::new();
    rig.subscribe(&subscribe(1)).unwrap();
    rig.restart();
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    assert_eq!(kinds(&rig.posts), [MessageKind::Event]);
}

#[test]
fn a_store_that_fails_is_an_error() {
    let mut rig = Rig::new();
    rig.disk.break_down();
    rig.deliverer
        .handle_subscribe(1, subscribe(1), rig.now)
        .unwrap();
    rig.deliverer.poll_output().unwrap();
    let unsubscribed = rig.deliverer.handle_unsubscribe(&subscribe(1).id, rig.now);
    assert_eq!(unsubscribed, Ok(false));
    assert!(rig.disk.clone().remove("sub").is_err());
}

#[test]
fn rows_are_read_as_they_were_written() {
    let mut rig = Rig::new();
    rig.begin(&SubscribeRequest {
        secret: "s\"1".into(),
        arguments: "{\"a\":\"\u{e9}\"}".into(),
        groups: vec![mcp_listen::scope::Name::new("a").unwrap()],
        ..subscribe(1)
    });
    for _ in 0..5 {
        rig.publish("order.paid", "{}");
    }
    rig.respond_all(500);
    for (_, row) in rig.disk.subscriptions().unwrap() {
        let text = row.to_json();
        let read = WebhookSubscription::from_json(&text).unwrap();
        assert_eq!(read, row);
        let shown = format!("{row:?}");
        for hidden in ["ann", "example.com", "s\\\"1", "\u{e9}"] {
            assert!(!shown.contains(hidden), "{shown}");
        }
    }
    assert_eq!(WebhookSubscription::from_json("{}"), None);
    let disk = rig.disk.clone();
    assert!(
        Deliverer::new(
            disk,
            DelivererOptions::default(),
            MatchRules::default(),
            None
        )
        .is_ok()
    );
}

#[test]
fn debug_texts_show_neither_secrets_nor_urls() {
    let mut rig = Rig::new();
    let request = subscribe(1);
    rig.begin(&request);
    rig.publish("order.paid", "{}");
    let output = DelivererOutput::Post(rig.post());
    let rows = rig.disk.subscriptions().unwrap();
    let shown = format!("{request:?} {output:?} {rows:?} {:?}", rig.deliverer);
    for hidden in ["ann", "example.com", "sealed one"] {
        assert!(!shown.contains(hidden), "{shown}");
    }
}
