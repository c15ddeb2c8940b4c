//! What a subscriber loses that is disconnected, and when the deliverer learns of it late.

use mcp_listen::{
    clock::Millis,
    events::{
        error::{CodeSet, EventError},
        webhook::{MessageKind, SubscribeRequest},
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, echo, kinds, subscribe};

#[test]
fn a_disconnected_subscriber_gets_the_error_numbers_that_it_knows() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.begin(&SubscribeRequest {
        codes: CodeSet::Sketch,
        ..subscribe(2)
    });
    rig.begin(&SubscribeRequest {
        principal: "bob".into(),
        ..subscribe(3)
    });
    rig.disconnect("ann", rig.now, rig.now);
    let posts = rig.respond_all(200);
    let bodies: Vec<&str> = posts.iter().map(|post| &*post.body).collect();
    let expected = [-32_024, -32_012].map(|code| {
        format!(r#"{{"type":"terminated","error":{{"code":{code},"message":"Forbidden"}}}}"#)
    });
    assert_eq!(bodies, expected);
    assert!(
        posts
            .iter()
            .all(|post| post.kind == MessageKind::Terminated)
    );
    assert!(posts[0].message.starts_with("msg_terminated_"));
    assert_eq!(rig.rows(), 1);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.post().subscription, subscribe(3).id);
}

#[test]
fn a_call_that_waits_is_refused_when_its_caller_is_disconnected() {
    let mut rig = Rig::new();
    let call = rig.call(&SubscribeRequest {
        is_allowed: false,
        ..subscribe(1)
    });
    let post = rig.post();
    rig.disconnect("ann", rig.now, rig.now);
    let error = EventError::Forbidden { reason: None };
    assert_eq!(rig.result(call), Some(Err(error)));
    rig.settle(&post, &echo("{\"challenge\":\"challenge\"}"));
    assert_eq!((rig.rows(), rig.outputs.len()), (0, 0));
}

#[test]
fn a_call_from_before_its_caller_was_disconnected_is_refused() {
    let mut rig = Rig::new();
    rig.disconnect("ann", rig.now, rig.now);
    let asked_at = |asked_at: Millis| SubscribeRequest {
        asked_at,
        ..subscribe(1)
    };
    let disconnected_at = rig.now;
    rig.pass(5_000);
    let error = EventError::Forbidden { reason: None };
    assert_eq!(rig.subscribe(&asked_at(disconnected_at)), Err(error));
    let of_bob = SubscribeRequest {
        principal: "bob".into(),
        ..asked_at(disconnected_at)
    };
    assert!(rig.subscribe(&of_bob).is_ok());
    let later = disconnected_at + Millis(1);
    assert!(rig.subscribe(&asked_at(later)).is_ok());
}

#[test]
fn a_disconnect_that_is_learned_late_spares_what_was_made_or_renewed_after_it() {
    let mut rig = Rig::new();
    let asked = |number: u32, asked_at: Millis| SubscribeRequest {
        asked_at,
        ..subscribe(number)
    };
    for number in 1..=3 {
        rig.begin(&asked(number, rig.now));
    }
    let disconnected_at = rig.now;
    rig.pass(5_000);
    rig.begin(&asked(2, rig.now));
    // The server received this renewal before, and authorized it slowly.
    rig.begin(&asked(3, disconnected_at));
    rig.begin(&asked(4, rig.now));
    rig.restart();
    rig.pass(5_000);
    rig.disconnect("ann", disconnected_at, disconnected_at);
    let ended: Vec<Box<str>> = rig
        .posts
        .iter()
        .map(|post| post.subscription.clone())
        .collect();
    assert_eq!(ended, [1, 3].map(|number| subscribe(number).id));
    assert_eq!(kinds(&rig.posts), [MessageKind::Terminated; 2]);
    rig.respond_all(200);
    rig.publish("order.paid", "{}");
    assert_eq!(kinds(&rig.respond_all(200)), [MessageKind::Event; 2]);
}

#[test]
fn a_call_that_waits_is_refused_by_a_late_disconnect_only_if_it_is_from_before() {
    let mut rig = Rig::new();
    let disconnected_at = rig.now;
    rig.pass(5_000);
    let [before, after] = [disconnected_at, rig.now].map(|asked_at| {
        rig.call(&SubscribeRequest {
            is_allowed: false,
            asked_at,
            ..subscribe(1)
        })
    });
    let error = EventError::Forbidden { reason: None };
    rig.disconnect("ann", disconnected_at, disconnected_at);
    assert_eq!(rig.result(before), Some(Err(error)));
    assert_eq!(rig.result(after), None);
    for post in std::mem::take(&mut rig.posts) {
        rig.settle(&post, &echo("{\"challenge\":\"challenge\"}"));
    }
    assert!(rig.result(after).unwrap().is_ok());
}

#[test]
fn a_subscription_from_before_a_disconnect_ends_whatever_the_clocks_say() {
    for (asked_at, published_at) in [
        (Millis(0), SKEW),
        (SKEW, Millis(0)),
        (SKEW, SKEW),
        (Millis(0), Millis(0)),
    ] {
        let mut rig = Rig::new();
        let begun = rig.now;
        rig.begin(&SubscribeRequest {
            asked_at: begun + asked_at,
            ..subscribe(1)
        });
        let at = rig.now;
        rig.pass(60_000);
        rig.disconnect("ann", begun + published_at, at);
        assert_eq!(rig.post().kind, MessageKind::Terminated);
    }
}

#[test]
fn a_disconnect_that_is_learned_again_changes_nothing() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    let disconnected_at = rig.now;
    rig.disconnect("ann", disconnected_at, disconnected_at);
    rig.pass(1_000);
    rig.begin(&subscribe(2));
    rig.restart();
    rig.ring();
    let writes = rig.writes();
    rig.disconnect("ann", disconnected_at, disconnected_at);
    assert_eq!(rig.writes(), writes);
    let asked_before = SubscribeRequest {
        asked_at: disconnected_at,
        ..subscribe(3)
    };
    let error = EventError::Forbidden { reason: None };
    assert_eq!(rig.subscribe(&asked_before), Err(error));
    rig.respond_all(200);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.post().subscription, subscribe(2).id);
}

#[test]
fn a_call_from_before_a_disconnect_does_not_outlive_it_however_late_it_ends() {
    let mut rig = Rig::new();
    // The clock of the server is ahead of that of the bus.
    let ahead = |rig: &Rig, number: u32| SubscribeRequest {
        asked_at: rig.now + SKEW,
        ..subscribe(number)
    };
    let published_at = rig.now;
    rig.begin(&ahead(&rig, 1));
    rig.holds_reads = true;
    let before = rig.call(&ahead(&rig, 2));
    rig.pass(1_000);
    let disconnected_at = rig.now;
    rig.pass(1_000);
    let after = rig.call(&ahead(&rig, 3));
    rig.pass(5_000);
    rig.release_reads();
    assert!(rig.result(before).unwrap().is_ok() && rig.result(after).unwrap().is_ok());
    rig.restart();
    rig.disconnect("ann", published_at, disconnected_at);
    rig.respond_all(200);
    assert_eq!(rig.rows(), 1);
    rig.publish("order.paid", "{}");
    rig.pass(1_000);
    assert_eq!(rig.post().subscription, subscribe(3).id);
}

#[test]
fn a_row_without_when_its_call_was_received_counts_as_received_when_it_was_granted() {
    for (disconnected_after, ends) in [(0, true), (1_000, true), (2_000, false)] {
        let mut rig = Rig::new();
        rig.pass(1_000);
        rig.begin(&SubscribeRequest {
            asked_at: rig.now + SKEW,
            ..subscribe(1)
        });
        let granted_at = rig.now - Millis(1_000);
        rig.disk.edit(&subscribe(1).id, |text| {
            text.replace(&format!(r#","receivedAt":{}"#, granted_at.0), "")
        });
        assert!(!rig.disk.text(&subscribe(1).id).contains("receivedAt"));
        rig.restart();
        let at = granted_at + Millis(1_000) - Millis(disconnected_after);
        rig.disconnect("ann", rig.now, at);
        assert_eq!(rig.posts.len(), usize::from(ends), "{disconnected_after}");
    }
}

/// By how much clocks disagree.
const SKEW: Millis = Millis(3_600_000);
