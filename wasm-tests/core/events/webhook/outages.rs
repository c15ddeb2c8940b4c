//! What happens while messages cannot be delivered for long.

use mcp_listen::{
    clock::Millis,
    events::{
        Window,
        page::Page,
        webhook::{
            DelivererOptions, DelivererOutput, MatchRules, MessageKind, Outcome, RequestedTtl,
            SubscribeRequest, TtlOptions,
        },
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    delivering::begun,
    rig::{Rig, failure, kinds, response, subscribe},
};

/// A subscription without an expiry, and its request.
pub(super) fn endless() -> (Rig, SubscribeRequest) {
    let options = DelivererOptions {
        ttl: TtlOptions {
            no_expiry: true,
            ..TtlOptions::default()
        },
        ..DelivererOptions::default()
    };
    let mut rig = Rig::with(options, MatchRules::default());
    let endless = SubscribeRequest {
        ttl: RequestedTtl::Endless,
        ..subscribe(1)
    };
    rig.begin(&endless);
    (rig, endless)
}

/// An endpoint that is down, with `count` occurrences to deliver.
fn down(count: usize) -> Rig {
    let mut rig = begun();
    for _ in 0..count {
        rig.publish("order.paid", "{}");
    }
    while rig.deliverer.counts().throttled == 0 {
        for post in std::mem::take(&mut rig.posts) {
            rig.settle(&post, &failure());
        }
        rig.pass(5_000);
    }
    rig
}

#[test]
fn an_endpoint_that_is_down_is_tried_twice_a_minute_at_most() {
    let mut rig = down(20);
    let mut posts = Vec::new();
    for _ in 0..3_600 {
        rig.pass(1_000);
        assert!(rig.posts.len() <= 1);
        for post in std::mem::take(&mut rig.posts) {
            rig.settle(&post, &failure());
            posts.push((rig.now, post.message));
        }
    }
    assert!((60..=180).contains(&posts.len()), "{}", posts.len());
    let oldest: Vec<Millis> = posts
        .iter()
        .filter(|(_, message)| &**message == "evt_e1_1")
        .map(|(at, _)| *at)
        .collect();
    let pauses = oldest.windows(2).map(|pair| (pair[1] - pair[0]).0);
    assert!(
        pauses.max().unwrap() <= 60_000,
        "the oldest is tried every minute"
    );
}

#[test]
fn nothing_is_abandoned_while_an_endpoint_is_down() {
    let mut rig = down(20);
    rig.pass_with(36_000_000, &failure());
    let posts = rig.pass_with(60_000, &response(200));
    assert!(kinds(&posts).iter().all(|kind| *kind == MessageKind::Event));
    let mut seen: Vec<Box<str>> = posts.into_iter().map(|post| post.message).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20);
    assert_eq!(rig.deliverer.counts().throttled, 0);
}

#[test]
fn a_single_occurrence_survives_an_outage() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    rig.pass_with(3_000_000, &failure());
    assert_eq!(rig.deliverer.counts().throttled, 1);
    assert_eq!(
        kinds(&rig.pass_with(60_000, &response(200))),
        [MessageKind::Event]
    );
}

#[test]
fn new_occurrences_are_first_sent_in_order_while_an_endpoint_is_down() {
    for failed in 0..4 {
        let mut rig = down(1);
        for _ in 0..failed {
            rig.pass_until_sent();
            let probe = rig.post();
            rig.settle(&probe, &failure());
        }
        rig.pass_until_sent();
        let probe = rig.post();
        rig.respond(&probe, 410);
        assert_eq!(rig.deliverer.counts().waiting, 0);
        for _ in 0..3 {
            rig.append("order.paid", "{}", "");
        }
        rig.wake("order.paid");
        let posts = rig.pass_with(600_000, &failure());
        let mut sent: Vec<&str> = Vec::new();
        for post in &posts {
            if !sent.contains(&&*post.message) {
                sent.push(&post.message);
            }
        }
        let expected = ["evt_e1_2", "evt_e1_3", "evt_e1_4"];
        assert_eq!(sent, expected, "after {failed} probes");
        assert_eq!(rig.deliverer.counts().throttled, 1);
    }
}

#[test]
fn a_renewal_has_an_endpoint_tried_again() {
    let mut rig = down(3);
    rig.respond_all(500);
    rig.subscribe(&subscribe(1)).unwrap();
    rig.pass(1_000);
    let post = rig.post();
    rig.respond(&post, 200);
    assert_eq!(rig.deliverer.counts().throttled, 0);
}

#[test]
fn an_endpoint_that_is_down_is_not_hurried_by_a_503_after_a_renewal() {
    let mut rig = down(3);
    rig.subscribe(&subscribe(1)).unwrap();
    let posts = rig.pass_with(60_000, &response(503));
    assert!((2..=4).contains(&posts.len()), "{}", posts.len());
}

#[test]
fn a_message_that_the_host_cannot_sign_waits_and_is_no_failure_of_its_endpoint() {
    let (mut rig, endless) = endless();
    for _ in 0..12 {
        rig.publish("order.paid", "{}");
    }
    for _ in 0..4 * 24 {
        let posts = rig.pass_with(3_600_000, &Outcome::Unsent);
        assert!(posts.iter().all(|post| post.kind == MessageKind::Event));
        assert!((50..=150).contains(&posts.len()), "{}", posts.len());
    }
    let result = rig.subscribe(&endless).unwrap();
    assert!(result.contains(NOTHING_FAILED), "{result}");
    let mut delivered: Vec<Box<str>> = rig
        .pass_with(60_000, &response(200))
        .into_iter()
        .map(|post| post.message)
        .collect();
    delivered.sort_by_key(|id| (id.len(), id.clone()));
    let all: Vec<Box<str>> = (1..=12).map(|n| format!("evt_e1_{n}").into()).collect();
    assert_eq!(delivered, all);
}

#[test]
fn a_failure_from_before_the_host_could_not_sign_does_not_end_a_subscription() {
    let (mut rig, endless) = endless();
    rig.publish("order.paid", "{}");
    rig.respond_all(500);
    let posts = rig.pass_with(4 * 86_400_000, &Outcome::Unsent);
    assert!(posts.iter().all(|post| post.kind == MessageKind::Event));
    let result = rig.subscribe(&endless).unwrap();
    assert!(result.contains(r#""lastError":"http_5xx""#), "{result}");
    rig.pass(1_000);
    let post = rig.post();
    rig.respond(&post, 200);
    assert_eq!(rig.rows(), 1);
}

#[test]
fn what_the_host_cannot_sign_leaves_what_is_known_of_the_endpoint() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    rig.respond_all(500);
    let failed = rig.subscribe(&subscribe(1)).unwrap();
    assert!(failed.contains(r#""lastError":"http_5xx""#), "{failed}");
    let posts = rig.pass_with(1_800_000, &Outcome::Unsent);
    assert!(posts.len() > 5);
    let status = |result: &str| result[result.find("deliveryStatus").unwrap()..].to_owned();
    let result = rig.subscribe(&subscribe(1)).unwrap();
    assert_eq!(status(&result), status(&failed));
}

#[test]
fn a_gap_that_the_host_cannot_sign_is_sent_later() {
    let mut rig = begun();
    rig.empty_log(Window::default());
    rig.wake("order.paid");
    let posts = rig.pass_with(3_600_000, &Outcome::Unsent);
    assert!(posts.iter().all(|post| post.kind == MessageKind::Gap));
    assert!(posts.len() > 5);
    let sent = rig.pass_with(120_000, &response(200));
    assert_eq!(kinds(&sent), [MessageKind::Gap]);
    assert_eq!(sent[0].message, posts[0].message);
}

#[test]
fn a_renewal_has_what_the_host_could_not_sign_sent_at_once() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    rig.pass_with(1_800_000, &Outcome::Unsent);
    rig.subscribe(&subscribe(1)).unwrap();
    rig.pass(1_000);
    assert_eq!(rig.post().kind, MessageKind::Event);
}

#[test]
fn reads_that_fail_together_are_one_failure_and_a_wake_ends_the_wait() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.append("order.paid", "{}", "");
    }
    for number in [1, 2] {
        let cursor = Some(rig.cursor(number).into());
        let number = u32::try_from(number).unwrap();
        rig.subscribe(&SubscribeRequest {
            cursor,
            ..subscribe(number)
        })
        .unwrap();
    }
    rig.holds_reads = true;
    rig.pass(1_000);
    assert_eq!(fail_reads(&mut rig), 2);
    assert_eq!(rig.alarm, Some(rig.now + Millis(1_000)));
    rig.wake("order.paid");
    assert_eq!(fail_reads(&mut rig), 2);
    assert_eq!(rig.alarm, Some(rig.now + Millis(2_000)));
}

/// Fails the reads that wait. Returns how many there were.
fn fail_reads(rig: &mut Rig) -> usize {
    let mut failed = 0;
    for output in std::mem::take(&mut rig.outputs) {
        if let DelivererOutput::Read { read, .. } = output {
            let now = rig.now;
            rig.deliverer.handle_read_failed(read, now, 0.5).unwrap();
            failed += 1;
        }
    }
    rig.drain();
    failed
}

#[test]
fn a_failure_is_retried_in_time_while_another_endpoint_does_not_respond() {
    let mut rig = Rig::new();
    for number in [1, 2] {
        rig.subscribe(&subscribe(number)).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    let failed = rig.posts.remove(0);
    rig.now = rig.now + Millis(50);
    rig.respond(&failed, 500);
    assert_eq!(rig.alarm, Some(rig.now + Millis(5_000)));
}

#[test]
fn a_read_that_failed_is_repeated_in_time_while_an_endpoint_does_not_respond() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    rig.holds_reads = true;
    rig.publish("order.paid", "{}");
    rig.now = rig.now + Millis(50);
    assert_eq!(fail_reads(&mut rig), 1);
    assert_eq!(rig.alarm, Some(rig.now + Millis(1_000)));
}

/// A bus that was restored from a backup goes on in the same log, with fewer occurrences.
#[test]
fn a_log_that_ends_before_its_known_end_is_read_again_after_a_pause() {
    let mut rig = begun();
    let end = rig.cursor_at(0);
    rig.holds_reads = true;
    rig.publish("order.paid", "{}");
    for wait in [1_000, 2_000, 4_000] {
        assert_eq!(read_as(&mut rig, &Page::at_end(&end)), 1);
        assert_eq!(read_as(&mut rig, &Page::at_end(&end)), 0);
        assert_eq!(rig.alarm, Some(rig.now + Millis(wait)));
        rig.pass(wait);
    }
    rig.release_reads();
    assert_eq!(rig.respond_all(200).len(), 1);
}

/// Responds to the reads that wait with a page. Returns how many there were.
fn read_as(rig: &mut Rig, page: &Page) -> usize {
    let mut responses = 0;
    for output in std::mem::take(&mut rig.outputs) {
        if let DelivererOutput::Read { read, .. } = output {
            let now = rig.now;
            rig.deliverer.handle_page(read, page.clone(), now).unwrap();
            responses += 1;
        }
    }
    rig.drain();
    responses
}

#[test]
fn an_alarm_that_the_host_has_lost_is_set_again() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    let post = rig.post();
    rig.respond(&post, 500);
    rig.alarm = None;
    rig.now = rig.now + Millis(60_000);
    rig.publish("order.sent", "{}");
    assert_eq!(rig.post().message, post.message);
    assert!(rig.alarm > Some(rig.now));
}

#[test]
fn an_alarm_that_was_lost_before_a_restart_is_set_again() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    let post = rig.post();
    rig.respond(&post, 500);
    rig.now = rig.now + Millis(60_000);
    rig.restart();
    rig.alarm = None;
    rig.publish("order.sent", "{}");
    assert_eq!(rig.alarm, Some(rig.now));
}

/// The status of a delivery without failures.
const NOTHING_FAILED: &str =
    r#""deliveryStatus":{"active":true,"throttled":false,"lastError":null}"#;
