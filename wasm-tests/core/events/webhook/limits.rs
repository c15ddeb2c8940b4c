//! How many subscriptions and challenges there may be.

use mcp_listen::{
    clock::Millis,
    events::{
        error::{CodeSet, EventError},
        webhook::{DelivererOptions, MatchRules, SubscribeRequest},
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    rig::{Rig, echo, subscribe},
    subscribing::asking,
};

fn exhausted(limit: &'static str, max: u64) -> EventError {
    EventError::ResourceExhausted {
        limit: limit.into(),
        max,
    }
}

#[test]
fn challenges_are_limited_for_a_subscriber_and_for_a_host() {
    let mut rig = Rig::new();
    let refused = |rig: &mut Rig, subscribe: &SubscribeRequest| {
        let call = rig.call(subscribe);
        rig.posts.clear();
        rig.result(call)
    };
    for number in 1..=10 {
        assert_eq!(refused(&mut rig, &asking(number)), None);
    }
    let limit = Some(Err(exhausted("challenges", 10)));
    assert_eq!(refused(&mut rig, &asking(11)), limit);
    for number in 12..72 {
        let other = SubscribeRequest {
            principal: format!("p{number}").into(),
            host: "one.example.com".into(),
            ..asking(number)
        };
        assert_eq!(refused(&mut rig, &other), None, "{number}");
    }
    let more = SubscribeRequest {
        principal: "zoe".into(),
        host: "one.example.com".into(),
        ..asking(80)
    };
    let limit = Some(Err(exhausted("challenges", 60)));
    assert_eq!(refused(&mut rig, &more), limit);
    rig.now = rig.now + Millis(60_000);
    assert_eq!(refused(&mut rig, &more), None);
}

#[test]
fn subscriptions_are_limited_and_renewals_are_not() {
    let mut rig = Rig::new();
    for number in 1..=100 {
        assert!(rig.subscribe(&subscribe(number)).is_ok());
    }
    let result = rig.subscribe(&subscribe(101));
    assert_eq!(result, Err(exhausted("subscriptions", 100)));
    assert!(rig.subscribe(&subscribe(100)).is_ok());
    let other = SubscribeRequest {
        principal: "bob".into(),
        total: 10_000,
        ..subscribe(102)
    };
    assert_eq!(
        rig.subscribe(&other),
        Err(exhausted("subscriptions", 10_000))
    );
    let last = SubscribeRequest {
        total: 9_999,
        ..other
    };
    assert!(rig.subscribe(&last).is_ok());
}

#[test]
fn a_client_renews_more_subscriptions_at_once_than_it_may_have_challenges() {
    let mut rig = Rig::new();
    for number in 1..=11 {
        rig.call(&asking(number));
        let post = rig.post();
        rig.settle(&post, &echo(r#"{"challenge":"challenge"}"#));
        rig.pass(60_000);
    }
    for _ in 0..27 {
        for number in 1..=11 {
            assert!(rig.subscribe(&asking(number)).is_ok(), "{number}");
        }
        rig.pass(3_540_000);
    }
    assert!(rig.posts.is_empty());
}

#[test]
fn a_deliverer_holds_ten_thousand_subscriptions_and_refuses_the_next_one() {
    let mut rig = Rig::new();
    rig.subscribe(&subscribe(1)).unwrap();
    let copies = (2..=9_999).map(|number| subscribe(number).id);
    rig.disk.copy(&subscribe(1).id, copies);
    rig.restart();
    let of_bob = |number: u32| SubscribeRequest {
        principal: "bob".into(),
        ..subscribe(number)
    };
    assert!(rig.subscribe(&of_bob(10_000)).is_ok());
    assert_eq!(rig.rows(), 10_000);
    let error = exhausted("subscriptions", 10_000);
    assert_eq!(
        error.to_object(CodeSet::Sep),
        r#"{"code":-32025,"message":"Limit reached","data":{"limit":"subscriptions","max":10000}}"#
    );
    assert_eq!(rig.subscribe(&of_bob(10_001)), Err(error));
    assert!(rig.subscribe(&of_bob(10_000)).is_ok());
    rig.deliverer
        .handle_unsubscribe(&subscribe(1).id, rig.now)
        .unwrap();
    rig.drain();
    assert!(rig.subscribe(&of_bob(10_001)).is_ok());
}

#[test]
fn calls_that_wait_count_to_the_limit_of_the_bus() {
    let options = DelivererOptions {
        max_total: 5,
        ..DelivererOptions::default()
    };
    let mut rig = Rig::with(options, MatchRules::default());
    // Two subscriptions are elsewhere; the host has counted before any of these calls.
    let counted = |number: u32| SubscribeRequest {
        total: 2,
        ..asking(number)
    };
    let calls = [1, 2, 3, 4].map(|number| rig.call(&counted(number)));
    let limit = Some(Err(exhausted("subscriptions", 5)));
    assert_eq!(
        calls.map(|call| rig.result(call)),
        [None, None, None, limit]
    );
}

#[test]
fn a_refusal_for_a_limit_comes_before_a_challenge() {
    let mut rig = Rig::new();
    let full = SubscribeRequest {
        total: 10_000,
        ..asking(1)
    };
    assert_eq!(
        rig.subscribe(&full),
        Err(exhausted("subscriptions", 10_000))
    );
    assert!(rig.posts.is_empty());
}

#[test]
fn a_deliverer_may_hold_fewer_subscriptions_than_the_bus() {
    let options = DelivererOptions {
        max_held: 2,
        ..DelivererOptions::default()
    };
    let mut rig = Rig::with(options, MatchRules::default());
    let of = |number: u32, principal: &str| SubscribeRequest {
        principal: principal.into(),
        ..subscribe(number)
    };
    let waiting = rig.call(&SubscribeRequest {
        is_allowed: false,
        ..of(1, "ann")
    });
    rig.subscribe(&of(2, "bob")).unwrap();
    let full = Err(exhausted("subscriptions", 2));
    assert_eq!(rig.subscribe(&of(3, "eve")), full, "one waits for consent");
    let post = rig.post();
    rig.settle(&post, &echo(r#"{"challenge":"challenge"}"#));
    assert!(rig.result(waiting).unwrap().is_ok());
    assert!(rig.subscribe(&of(2, "bob")).is_ok(), "a renewal");
}
