//! How callers share the messages of a deliverer.

use mcp_listen::{
    clock::Millis,
    events::{
        error::EventError,
        webhook::{Failure, MessageKind, Outcome, Post, SubscribeRequest},
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::delivering::begun;
use super::rig::{Rig, echo, kinds, named, response, subscribe};

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
fn hosts_that_time_out_share_half_of_the_places() {
    let mut rig = with_nine_slow_hosts();
    rig.pass(5_000);
    assert_eq!(rig.posts.len(), 3);
    check_prompt(&mut rig, 99);
    assert_eq!(rig.posts.len(), 3);
}

#[test]
fn after_a_restart_too_hosts_that_have_timed_out_share_half_of_the_places() {
    let mut rig = with_nine_slow_hosts();
    rig.restart();
    rig.pass(5_000);
    assert_eq!(rig.posts.len(), 3);
    check_prompt(&mut rig, 99);
}

#[test]
fn slow_hosts_delay_no_other_host_of_their_caller() {
    let mut rig = Rig::new();
    for number in 1..=9 {
        rig.subscribe(&of_eve(number)).unwrap();
    }
    rig.pass(1_000);
    time_out(&mut rig, |post| post.subscription != of_eve(9).id);
    rig.pass(5_000);
    assert_eq!(rig.posts.len(), 2);
    check_prompt(&mut rig, 9);
    assert_eq!(rig.posts.len(), 2);
}

#[test]
fn every_slow_host_has_its_turn() {
    let mut rig = with_nine_slow_hosts();
    rig.pass(5_000);
    let mut seen = Vec::new();
    while let Some(post) = rig.posts.first().cloned() {
        rig.now = rig.now + Millis(500);
        rig.settle(&post, &Outcome::Failure(Failure::Timeout));
        seen.push(post.subscription);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 9);
}

#[test]
fn a_host_is_slow_once_a_message_takes_more_than_a_second() {
    for (millis, count) in [(SLOW_AFTER, 5), (SLOW_AFTER + 1, 3)] {
        let mut rig = with_three_callers();
        rig.publish("order.paid", "{}");
        assert_eq!(rig.posts.len(), 3);
        rig.pass(millis);
        rig.publish("order.paid", "{}");
        assert_eq!(rig.posts.len(), count, "after {millis}");
    }
}

#[test]
fn a_host_is_no_longer_slow_once_it_responds_within_a_second() {
    for (millis, count) in [(SLOW_AFTER, 5), (SLOW_AFTER + 1, 3)] {
        let mut rig = with_three_callers();
        time_out(&mut rig, |_| true);
        rig.pass(5_000);
        rig.pass(millis);
        assert_eq!(rig.respond_all(200).len(), 3);
        rig.publish("order.paid", "{}");
        rig.publish("order.paid", "{}");
        assert_eq!(rig.posts.len(), count, "after {millis}");
    }
}

#[test]
fn a_host_is_slow_for_every_subscription_that_leads_to_it() {
    let mut rig = with_three_callers();
    subscribe_again(&mut rig);
    time_out(&mut rig, |_| true);
    rig.publish("order.sent", "{}");
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 3);
}

#[test]
fn a_host_is_slow_for_later_subscriptions_too_until_it_responds_to_one_of_them() {
    let mut rig = with_three_callers();
    time_out(&mut rig, |_| true);
    subscribe_again(&mut rig);
    rig.publish("order.sent", "{}");
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 3);
    rig.respond_all(200);
    rig.publish("order.sent", "{}");
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 5);
    rig.respond_all(200);
    rig.pass(5_000);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.posts.len(), 5);
}

#[test]
fn after_a_restart_a_host_is_slow_for_every_subscription_that_leads_to_it() {
    let mut rig = with_three_callers();
    subscribe_again(&mut rig);
    time_out(&mut rig, |_| true);
    rig.restart();
    rig.publish("order.sent", "{}");
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 3);
}

#[test]
fn hosts_that_begin_to_hang_leave_a_place_to_slow_hosts() {
    let mut rig = Rig::new();
    for number in 1..=2 {
        rig.subscribe(&of_caller(number, number)).unwrap();
    }
    rig.pass(1_000);
    time_out(&mut rig, |_| true);
    for number in 3..=5 {
        rig.subscribe(&to("order.sent", &of_eve(number))).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.sent", "{}");
    rig.pass(SLOW_AFTER + 1);
    assert_eq!(rig.posts.len(), 3);
    // One of the two slow hosts gets the place, then the other one.
    rig.publish("order.paid", "{}");
    assert_eq!(rig.posts.len(), 4);
    let first = rig.posts.remove(3);
    rig.settle(&first, &Outcome::Failure(Failure::Timeout));
    assert_eq!(rig.posts.len(), 4);
    assert_ne!(rig.posts[3].subscription, first.subscription);
}

#[test]
fn the_place_of_slow_hosts_is_not_for_those_that_begin_to_hang() {
    let mut rig = Rig::new();
    rig.subscribe(&of_caller(1, 1)).unwrap();
    rig.pass(1_000);
    time_out(&mut rig, |_| true);
    for number in 2..=3 {
        rig.subscribe(&to("order.sent", &of_eve(number))).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.sent", "{}");
    rig.pass(SLOW_AFTER + 1);
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 2);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.posts.len(), 3);
}

#[test]
fn the_last_place_is_left_to_a_caller_without_any() {
    let mut rig = Rig::new();
    for number in 1..=2 {
        rig.subscribe(&of_eve(number)).unwrap();
    }
    rig.pass(1_000);
    time_out(&mut rig, |_| true);
    for number in 3..=5 {
        let other = to("order.sent", &of_caller(number, number));
        rig.subscribe(&other).unwrap();
    }
    rig.subscribe(&to("order.lost", &of_eve(6))).unwrap();
    rig.subscribe(&to("order.lost", &of_caller(7, 7))).unwrap();
    rig.pass(5_000);
    assert_eq!(rig.posts.len(), 2);
    rig.publish("order.sent", "{}");
    assert_eq!(rig.posts.len(), 5);
    rig.publish("order.lost", "{}");
    let sent: Vec<_> = rig.posts[5..]
        .iter()
        .map(|post| &post.subscription)
        .collect();
    assert_eq!(sent, [&of_caller(7, 7).id]);
    let first = rig.posts.remove(2);
    rig.respond(&first, 200);
    assert_eq!(rig.posts.len(), 5);
    let first = rig.posts.remove(2);
    rig.respond(&first, 200);
    assert_eq!(rig.posts[4].subscription, of_eve(6).id);
}

#[test]
fn challenges_to_slow_hosts_share_the_places_of_these() {
    let mut rig = with_nine_slow_hosts();
    rig.pass(5_000);
    assert_eq!(rig.posts.len(), 3);
    let is_idle = |number: &u32| {
        let id = subscribe(*number).id;
        rig.posts.iter().all(|post| post.subscription != id)
    };
    let idle = (1..=9).find(is_idle).unwrap();
    let asking = SubscribeRequest {
        host: subscribe(idle).host,
        ..asking_of_eve(20)
    };
    rig.call(&asking);
    assert_eq!(rig.posts.len(), 3);
    let first = rig.posts.remove(0);
    rig.settle(&first, &Outcome::Failure(Failure::Timeout));
    assert_eq!(rig.posts.len(), 3);
    assert_eq!(rig.posts[2].kind, MessageKind::Verification);
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

/// Three callers with three hosts each, which have timed out, and one with a host that responds.
fn with_nine_slow_hosts() -> Rig {
    let mut rig = Rig::new();
    for number in 1..=9 {
        rig.subscribe(&of_caller(number % 3, number)).unwrap();
    }
    rig.subscribe(&subscribe(99)).unwrap();
    rig.pass(1_000);
    time_out(&mut rig, |post| post.subscription != subscribe(99).id);
    rig
}

/// Three callers with a host each.
fn with_three_callers() -> Rig {
    let mut rig = Rig::new();
    for number in 1..=3 {
        rig.subscribe(&of_caller(number, number)).unwrap();
    }
    rig.pass(1_000);
    rig
}

/// Makes a second subscription of each of three callers, to the same host.
fn subscribe_again(rig: &mut Rig) {
    for number in 1..=3 {
        let other = SubscribeRequest {
            host: subscribe(number).host,
            ..of_caller(number, number + 3)
        };
        rig.subscribe(&to("order.sent", &other)).unwrap();
    }
    rig.pass(1_000);
}

/// Publishes an occurrence, to which some endpoints do not respond in time, and the others at once.
fn time_out(rig: &mut Rig, is_slow: impl Fn(&Post) -> bool) {
    rig.publish("order.paid", "{}");
    while let Some(post) = rig.posts.first().cloned() {
        let outcome = if is_slow(&post) {
            Outcome::Failure(Failure::Timeout)
        } else {
            response(200)
        };
        rig.settle(&post, &outcome);
    }
}

/// Checks that each of many occurrences is sent to a subscription at once.
fn check_prompt(rig: &mut Rig, number: u32) {
    for _ in 0..20 {
        rig.publish("order.paid", "{}");
        let is_it = |post: &Post| post.subscription == subscribe(number).id;
        let place = rig.posts.iter().position(is_it).expect("sent at once");
        let post = rig.posts.remove(place);
        rig.respond(&post, 200);
    }
}

/// Gives a subscription to another event type.
fn to(name: &str, subscribe: &SubscribeRequest) -> SubscribeRequest {
    SubscribeRequest {
        name: named(name),
        ..subscribe.clone()
    }
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

/// Milliseconds after which a message takes long.
const SLOW_AFTER: u64 = 1_000;
