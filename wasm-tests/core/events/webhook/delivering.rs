//! What is sent, when, and how often.

use mcp_listen::{
    clock::Millis,
    events::webhook::{EndpointResponse, MessageKind, Outcome, RequestedTtl, SubscribeRequest},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, kinds, named, response, subscribe};

pub(crate) fn begun() -> Rig {
    let mut rig = Rig::new();
    rig.begin(&SubscribeRequest {
        ttl: RequestedTtl::For(Millis(86_400_000)),
        ..subscribe(1)
    });
    rig.pass(60_000);
    rig
}

/// Gives a subscription of another caller to an endpoint on this host.
fn at_host(number: u32, host: &str) -> SubscribeRequest {
    SubscribeRequest {
        principal: format!("p{number}").into(),
        host: host.into(),
        ..subscribe(number)
    }
}

#[test]
fn an_occurrence_is_sent_with_the_watermark() {
    let mut rig = begun();
    let text = r#","eventId":"evt-7","timestamp":"2026-11-25T08:00:00+01:00""#;
    rig.append("order.paid", r#"{"id":7}"#, text);
    rig.wake("order.paid");
    let post = rig.post();
    let expected = format!(
        r#"{{"eventId":"evt-7","name":"order.paid","timestamp":"2026-11-25T08:00:00+01:00","data":{{"id":7}},"cursor":"{}"}}"#,
        rig.cursor(0),
    );
    assert_eq!(post.body, expected);
    assert_eq!((&*post.message, post.kind), ("evt-7", MessageKind::Event));
    assert_eq!(post.subscription, subscribe(1).id);
    rig.respond(&post, 204);
    rig.publish("order.paid", "{}");
    assert!(rig.post().body.contains(&rig.cursor(1)));
}

#[test]
fn two_are_sent_to_a_host_at_a_time_and_six_by_a_deliverer() {
    let mut rig = Rig::new();
    for number in 0..12 {
        rig.subscribe(&at_host(number, &format!("h{}", number / 3)))
            .unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.posts.len(), 6);
    let mut seen = Vec::new();
    while !rig.posts.is_empty() {
        assert!(rig.posts.len() <= 6);
        for host in 0..4 {
            let of_host = |url: &str| {
                (host * 3..host * 3 + 3).any(|number| url.contains(&format!("//h{number}.")))
            };
            let count = rig.posts.iter().filter(|post| of_host(&post.url)).count();
            assert!(count <= 2, "{count}");
        }
        let post = rig.posts.remove(0);
        rig.respond(&post, 200);
        seen.push(post.subscription);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 12);
}

#[test]
fn occurrences_are_sent_in_order_and_two_of_a_subscription_at_a_time() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    let mut positions = Vec::new();
    for _ in 0..9 {
        positions.push(rig.publish("order.paid", "{}"));
    }
    assert_eq!(rig.posts.len(), 2);
    let mut sent = Vec::new();
    while !rig.posts.is_empty() {
        assert!(rig.posts.len() <= 2);
        let post = rig.posts.remove(0);
        rig.respond(&post, 200);
        sent.push(post.message);
    }
    let expected: Vec<Box<str>> = positions
        .iter()
        .map(|position| format!("evt_e1_{position}").into())
        .collect();
    assert_eq!(sent, expected);
}

#[test]
fn one_page_serves_every_subscription_to_a_name() {
    let mut rig = Rig::new();
    for number in 0..50 {
        rig.subscribe(&subscribe(number)).unwrap();
    }
    rig.pass(1_000);
    let reads = rig.reads;
    rig.publish("order.paid", "{}");
    rig.respond_all(200);
    assert_eq!(rig.reads - reads, 1);
}

#[test]
fn a_failed_message_is_sent_again_after_growing_waits_and_then_abandoned() {
    let mut rig = begun();
    rig.publish("order.paid", "{\"n\":1}");
    let failed = rig.post();
    rig.respond(&failed, 500);
    for wait in [5_000, 30_000, 120_000, 480_000] {
        // Others are accepted: the endpoint is not down.
        rig.publish("order.paid", "{}");
        assert_eq!(rig.respond_all(200).len(), 1);
        rig.pass(wait - 1);
        assert!(rig.posts.is_empty(), "{wait}");
        rig.pass(1);
        let post = rig.post();
        assert_eq!(post.message, failed.message);
        rig.respond(&post, 500);
    }
    rig.pass(3_600_000);
    assert!(rig.posts.is_empty());
    rig.publish("order.paid", "{}");
    let post = rig.post();
    assert!(
        post.body.contains(&rig.cursor(5)),
        "the watermark has passed it"
    );
}

#[test]
fn each_message_waits_for_itself() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    let first = rig.post();
    rig.respond(&first, 500);
    rig.pass(3_000);
    rig.publish("order.paid", "{}");
    let second = rig.post();
    rig.respond(&second, 500);
    for (wait, post) in [(2_000, first), (3_000, second)] {
        rig.pass(wait - 1);
        assert!(rig.posts.is_empty());
        rig.pass(1);
        assert_eq!(rig.post().message, post.message);
    }
}

/// Has an occurrence abandoned, at position 1.
fn abandoned() -> Rig {
    let mut rig = begun();
    rig.publish("order.paid", "{\"n\":1}");
    for attempt in 1..=5 {
        let post = rig.post();
        rig.respond(&post, 500);
        if attempt < 5 {
            rig.publish("order.paid", "{}");
            rig.respond_all(200);
            rig.pass_until_sent();
        }
    }
    rig
}

#[test]
fn a_gap_is_reported_at_the_next_success_and_in_the_next_renewal() {
    let mut rig = abandoned();
    rig.pass(600_000);
    assert!(rig.posts.is_empty(), "not while the last message failed");
    rig.publish("order.paid", "{}");
    let other = rig.post();
    rig.respond(&other, 200);
    let gap = rig.post();
    assert_eq!(gap.kind, MessageKind::Gap);
    assert_eq!(
        gap.body,
        format!(r#"{{"type":"gap","cursor":"{}"}}"#, rig.cursor(0))
    );
    assert!(gap.message.starts_with("msg_gap_"));
    rig.respond(&gap, 200);
    assert!(rig.posts.is_empty());
    let result = |rig: &mut Rig| rig.subscribe(&subscribe(1)).unwrap();
    for _ in 0..2 {
        assert!(
            result(&mut rig).contains("\"truncated\":true"),
            "a result may be lost"
        );
        rig.pass(59_999);
    }
    rig.pass(1);
    assert!(result(&mut rig).contains("\"truncated\":false"));
}

#[test]
fn a_row_of_an_earlier_build_contains_when_a_gap_was_reported() {
    let mut rig = abandoned();
    let request = subscribe(1);
    let reported = rig.subscribe(&request).unwrap();
    assert!(reported.contains("\"truncated\":true"), "{reported}");
    rig.disk.edit(&request.id, |row| {
        let earlier = row.replace("truncationReportedAt", "truncatedToldAt");
        assert_ne!(earlier, row);
        earlier
    });
    rig.restart();
    rig.pass(60_000);
    let result = rig.subscribe(&request).unwrap();
    assert!(result.contains("\"truncated\":false"), "{result}");
}

#[test]
fn a_gap_is_sent_again_as_other_messages_are_and_counts_for_nothing() {
    let mut rig = abandoned();
    rig.publish("order.paid", "{}");
    let other = rig.post();
    rig.respond(&other, 200);
    let posts = rig.pass_with(3_600_000, &response(500));
    assert_eq!(kinds(&posts), [MessageKind::Gap; 5]);
    assert!(posts.iter().all(|post| post.message == posts[0].message));
    assert_eq!(rig.deliverer.counts().throttled, 0);
}

#[test]
fn retry_after_is_honored_within_a_quarter_of_an_hour() {
    let outcome = |millis| {
        Outcome::Response(EndpointResponse {
            status: 429,
            retry_after_ms: Some(Millis(millis)),
            body: "".into(),
        })
    };
    for (asked, wait) in [(60_000, 60_000), (1_000, 5_000), (7_200_000, 900_000)] {
        let mut rig = begun();
        rig.publish("order.paid", "{}");
        let post = rig.post();
        rig.settle(&post, &outcome(asked));
        rig.pass(wait - 1);
        assert!(rig.posts.is_empty(), "{asked}");
        rig.pass(1);
        assert_eq!(rig.posts.len(), 1, "{asked}");
    }
}

#[test]
fn what_an_endpoint_declines_is_not_sent_again() {
    for status in [410, 413] {
        let mut rig = begun();
        rig.publish("order.paid", "{}");
        let post = rig.post();
        rig.respond(&post, status);
        rig.pass(900_000);
        assert!(rig.posts.is_empty());
        rig.publish("order.paid", "{}");
        assert!(
            rig.post().body.contains(&rig.cursor(1)),
            "the watermark has passed it"
        );
        assert_eq!(rig.rows(), 1);
    }
}

#[test]
fn a_redirect_is_a_failure() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    let post = rig.post();
    rig.respond(&post, 307);
    rig.pass(6_000);
    assert_eq!(rig.post().url, post.url);
}

#[test]
fn an_occurrence_that_no_endpoint_accepts_does_not_hold_up_others() {
    let mut rig = begun();
    rig.publish("order.paid", "{\"bad\":1}");
    rig.pass_with(2_000_000, &response(500));
    assert_eq!(rig.deliverer.counts().throttled, 1);
    rig.publish("order.paid", "{}");
    let begun = rig.now;
    loop {
        rig.pass_until_sent();
        let post = rig.post();
        let is_bad = post.body.contains("bad");
        rig.respond(&post, if is_bad { 500 } else { 200 });
        if !is_bad {
            break;
        }
    }
    assert!(rig.now - begun <= Millis(120_000));
}

#[test]
fn a_503_soon_after_a_subscribe_does_not_count_against_the_endpoint() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    for _ in 0..6 {
        rig.publish("order.paid", "{}");
    }
    assert!(rig.pass_with(58_000, &response(503)).len() >= 12);
    assert_eq!(rig.deliverer.counts().throttled, 0);
    rig.pass_with(200_000, &response(503));
    assert_eq!(rig.deliverer.counts().throttled, 1);
}

#[test]
fn what_comes_due_while_a_message_is_under_way_is_sent() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    let slow = rig.post();
    rig.subscribe(&SubscribeRequest {
        name: named("order.sent"),
        ..subscribe(2)
    })
    .unwrap();
    rig.publish("order.sent", "{}");
    rig.pass(3_000);
    rig.respond(&slow, 200);
    let sent = rig.pass_with(1_000, &response(200));
    assert_eq!(kinds(&sent), [MessageKind::Event]);
}

#[test]
fn an_alarm_that_has_gone_off_is_not_set_again_for_what_it_has_sent() {
    let mut rig = Rig::new();
    for number in [1, 2] {
        rig.begin(&at_host(number, &format!("h{number}")));
    }
    rig.publish("order.paid", "{}");
    let failed = rig.posts.remove(1);
    rig.respond(&failed, 500);
    rig.pass(4_950);
    // The subscriptions are scanned now, and not again when the message is due.
    rig.wake("order.refunded");
    rig.now = rig.now + Millis(50);
    rig.ring();
    assert_eq!(
        rig.posts.len(),
        2,
        "one is under way, and one is sent again"
    );
    assert!(rig.alarm.unwrap() > rig.now);
}
