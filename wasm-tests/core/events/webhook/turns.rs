//! How many turns an outcome takes where many subscriptions wait.

use mcp_listen::events::{
    error::EventError,
    matching::{MatchResult, MatchRule},
    webhook::{DelivererOptions, DelivererOutput, MatchRules, MessageKind, SubscribeRequest},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, kinds, named, subscribe};

#[test]
fn an_outcome_takes_few_turns_where_ten_thousand_wait_for_one_host() {
    let mut rig = with_waiting(10_000, MatchRules::default(), |number| (number, 0));
    assert_eq!(rig.posts.len(), 2);
    check_outcomes(&mut rig, 0);
}

#[test]
fn an_outcome_takes_few_turns_where_many_wait_for_one_caller() {
    let mut rig = with_waiting(1_000, MatchRules::default(), |number| (0, number));
    assert_eq!(rig.posts.len(), 3);
    check_outcomes(&mut rig, 0);
}

#[test]
fn an_outcome_takes_few_turns_where_many_wait_for_the_shares_of_two_callers() {
    let mut rig = with_waiting(1_000, MatchRules::default(), |number| (number % 2, number));
    assert_eq!(rig.posts.len(), 4);
    check_outcomes(&mut rig, 0);
}

#[test]
fn an_outcome_takes_few_turns_where_many_wait_for_slow_hosts() {
    let mut rig = with_waiting(1_000, MatchRules::default(), |number| (number, number % 7));
    for _ in 0..50 {
        rig.pass(SLOW);
        respond(&mut rig);
    }
    rig.pass(0);
    assert_eq!(rig.posts.len(), 3);
    check_outcomes(&mut rig, SLOW);
}

#[test]
fn a_match_takes_few_turns_where_many_wait_for_one() {
    for callers in [1_000, 1] {
        let rules = MatchRules::from_iter([(named("order.paid"), MatchRule::Host)]);
        let mut rig = with_waiting(1_000, rules, |number| (number % callers, number));
        for _ in 0..100 {
            let turns = rig.deliverer.counts().turns;
            respond_to_match(&mut rig);
            check_turns(&rig, turns);
            let turns = rig.deliverer.counts().turns;
            respond(&mut rig);
            check_turns(&rig, turns);
        }
    }
}

#[test]
fn a_subscription_that_waits_for_a_match_sends_that_it_has_ended() {
    let names = ["order.paid", "order.sent"];
    let rules = names.map(|name| (named(name), MatchRule::Host));
    let mut rig = Rig::with(DelivererOptions::default(), MatchRules::from_iter(rules));
    for number in 1..=6 {
        rig.begin(&SubscribeRequest {
            name: named(names[usize::from(number == 6)]),
            ..subscribe(number)
        });
    }
    for name in names {
        rig.publish(name, "{}");
    }
    let ended = named("order.sent");
    let error = EventError::Forbidden { reason: None };
    rig.deliverer.handle_ended(&ended, &error, rig.now).unwrap();
    rig.drain();
    assert_eq!(kinds(&rig.posts), [MessageKind::Terminated]);
}

/// An occurrence for many subscriptions, each of the caller and to the host with the numbers that
/// `place` returns.
fn with_waiting(count: u32, match_rules: MatchRules, place: impl Fn(u32) -> (u32, u32)) -> Rig {
    let mut rig = Rig::with(DelivererOptions::default(), match_rules);
    let first = subscribe(1).id;
    rig.begin(&subscribe(1));
    rig.disk
        .copy(&first, (2..=count).map(|number| subscribe(number).id));
    for number in 1..=count {
        let (caller, host) = place(number);
        rig.disk.edit(&subscribe(number).id, |row| {
            row.replace(r#""ann""#, &format!(r#""caller {caller}""#))
                .replace("h1.example.com", &format!("h{host}.example.com"))
        });
    }
    rig.restart();
    rig.publish("order.paid", "{}");
    rig
}

/// Checks that each of many outcomes takes few turns, and makes room for another message.
fn check_outcomes(rig: &mut Rig, millis: u64) {
    let posts = rig.posts.len();
    for _ in 0..100 {
        rig.pass(millis);
        assert_eq!(rig.posts.len(), posts);
        let turns = rig.deliverer.counts().turns;
        respond(rig);
        check_turns(rig, turns);
    }
}

fn check_turns(rig: &Rig, before: u64) {
    let turns = rig.deliverer.counts().turns - before;
    assert!(turns <= 16, "{turns} turns");
}

/// Responds to the oldest message.
fn respond(rig: &mut Rig) {
    let post = rig.posts[0].clone();
    rig.respond(&post, 200);
}

fn respond_to_match(rig: &mut Rig) {
    let is_match = |output: &DelivererOutput| matches!(output, DelivererOutput::Match { .. });
    let place = rig.outputs.iter().position(is_match).expect("a match");
    if let DelivererOutput::Match { read, .. } = rig.outputs.remove(place) {
        rig.deliverer
            .handle_match_results(read, &[MatchResult::Matched], rig.now)
            .unwrap();
        rig.drain();
    }
}

/// Milliseconds after which a message has taken long.
const SLOW: u64 = 1_001;
