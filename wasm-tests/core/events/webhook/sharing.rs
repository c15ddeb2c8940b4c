//! How callers share the messages of a deliverer.

use mcp_listen::{
    clock::Millis,
    events::{
        error::EventError,
        webhook::{MessageKind, Post, SubscribeRequest},
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::delivering::begun;
use super::rig::{Rig, echo, kinds, subscribe};

#[test]
fn a_caller_with_slow_endpoints_leaves_room_for_others() {
    let mut rig = Rig::new();
    for number in 1..=9 {
        rig.subscribe(&of_eve(number)).unwrap();
    }
    rig.subscribe(&subscribe(10)).unwrap();
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    let is_of_ann = |post: &Post| post.subscription == subscribe(10).id;
    assert_eq!(
        (rig.posts.len(), rig.posts.iter().any(is_of_ann)),
        (4, true)
    );
    let posts = rig.respond_all(200);
    assert_eq!(posts.len(), 10);
}

/// Whatever these have to send: a place that becomes free goes to a caller that has fewer.
#[test]
fn a_caller_waits_for_a_place_only_while_the_messages_under_way_last() {
    for slow in 1..=5 {
        let mut rig = Rig::new();
        for number in 1..=slow * 9 {
            rig.subscribe(&of_caller(number % slow, number)).unwrap();
        }
        rig.subscribe(&subscribe(99)).unwrap();
        rig.pass(1_000);
        rig.publish("order.paid", "{}");
        let is_of_ann = |post: &Post| post.subscription == subscribe(99).id;
        if slow < 3 {
            assert!(rig.posts.iter().any(is_of_ann), "of {slow}");
        }
        for post in rig.posts.clone() {
            if rig.posts.iter().any(is_of_ann) {
                break;
            }
            rig.respond(&post, 500);
        }
        assert!(rig.posts.iter().any(is_of_ann), "of {slow}");
    }
}

#[test]
fn challenges_leave_room_for_messages_and_wait_for_each_other() {
    let mut rig = begun();
    let calls: Vec<u32> = (2..=7)
        .map(|number| rig.call(&asking_of_eve(number)))
        .collect();
    assert_eq!(kinds(&rig.posts), [MessageKind::Verification; 3]);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.posts[3].kind, MessageKind::Event);
    let first = rig.posts.remove(0);
    rig.settle(&first, &echo(r#"{"challenge":"challenge"}"#));
    assert!(rig.result(calls[0]).unwrap().is_ok());
    assert_eq!(rig.posts[3].kind, MessageKind::Verification);
    rig.respond_all(500);
    for call in &calls[1..] {
        assert!(rig.result(*call).unwrap().is_err());
    }
}

#[test]
fn a_challenge_that_has_waited_for_ten_seconds_is_given_up() {
    let mut rig = begun();
    let calls: Vec<u32> = (2..=5)
        .map(|number| rig.call(&asking_of_eve(number)))
        .collect();
    rig.now = rig.now + Millis(10_000);
    rig.respond_all(500);
    let limit = EventError::ResourceExhausted {
        limit: "challenges".into(),
        max: 3,
    };
    assert_eq!(rig.result(calls[3]), Some(Err(limit)));
}

fn of_caller(caller: u32, number: u32) -> SubscribeRequest {
    SubscribeRequest {
        principal: format!("caller {caller}").into(),
        ..subscribe(number)
    }
}

/// Gives a subscription of another caller, to an endpoint that no other has.
fn of_eve(number: u32) -> SubscribeRequest {
    SubscribeRequest {
        principal: "eve".into(),
        ..subscribe(number)
    }
}

fn asking_of_eve(number: u32) -> SubscribeRequest {
    SubscribeRequest {
        is_allowed: false,
        ..of_eve(number)
    }
}
