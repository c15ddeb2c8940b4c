//! What a deliverer asks the server about one subscription.

use std::time::Duration;

use mcp_listen::events::{
    Window,
    matching::{MatchResult, MatchRule},
    webhook::{Authorization, DelivererOptions, DelivererOutput, MatchRules, SubscribeRequest},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, named, subscribe};

/// Fails the matches that the second subscription requested, and responds to all others. Returns
/// how many it failed.
fn settle_matches(rig: &mut Rig) -> usize {
    let mut failed = 0;
    while let Some(at) = rig
        .outputs
        .iter()
        .position(|output| matches!(output, DelivererOutput::Match { .. }))
    {
        let DelivererOutput::Match {
            read, arguments, ..
        } = rig.outputs.remove(at)
        else {
            continue;
        };
        if arguments.contains("broken") {
            failed += 1;
            rig.deliverer
                .handle_read_failed(read, rig.now, 0.5)
                .unwrap();
        } else {
            rig.deliverer
                .handle_match_results(read, &[MatchResult::Matched], rig.now)
                .unwrap();
        }
        rig.drain();
    }
    failed
}

#[test]
fn a_match_that_fails_delays_only_its_subscription() {
    let rules: MatchRules = [(named("order.paid"), MatchRule::Host)]
        .into_iter()
        .collect();
    let mut rig = Rig::with(DelivererOptions::default(), rules);
    let mut broken = subscribe(2);
    broken.arguments = r#"{"broken":true}"#.into();
    rig.subscribe(&broken).unwrap();
    rig.begin(&subscribe(1));
    let mut failed = 0;
    for _ in 0..20 {
        rig.publish("order.paid", "{}");
        failed += settle_matches(&mut rig);
        let posts = rig.respond_all(200);
        let ids: Vec<&str> = posts.iter().map(|post| &*post.subscription).collect();
        assert_eq!(ids, [&*subscribe(1).id]);
        rig.pass(3_000);
        failed += settle_matches(&mut rig);
    }
    // After 1, 2, 4, 8, 16 and 32 seconds.
    assert_eq!(failed, 6);
}

/// Responds to the requests to match, one occurrence each. Returns how many there were.
fn respond_to_matches(rig: &mut Rig) -> usize {
    let mut count = 0;
    while let Some(output) = rig.outputs.pop() {
        if let DelivererOutput::Match { read, page, .. } = output {
            let results = vec![MatchResult::Matched; page.matches("eventId").count()];
            rig.deliverer
                .handle_match_results(read, &results, rig.now)
                .unwrap();
            rig.drain();
            count += 1;
        }
        assert!(count < 10, "it requests the same again");
    }
    count
}

#[test]
fn a_page_is_matched_once_whatever_was_read_from_its_place_before() {
    let rules: MatchRules = [(named("order.paid"), MatchRule::Host)]
        .into_iter()
        .collect();
    let mut rig = Rig::with(DelivererOptions::default(), rules);
    rig.begin(&subscribe(1));
    // A new log has no occurrences, so this is the page that is read first.
    rig.empty_log(Window::default());
    rig.wake("order.paid");
    rig.respond_all(200);
    assert_eq!(respond_to_matches(&mut rig), 0);
    rig.publish("order.paid", "{}");
    assert_eq!(respond_to_matches(&mut rig), 1);
    assert_eq!(rig.respond_all(200).len(), 1);
    // A second subscription reads on from there, and further than the first.
    let cursor = rig.cursor(0);
    rig.publish("order.paid", "{}");
    respond_to_matches(&mut rig);
    rig.respond_all(200);
    rig.begin(&SubscribeRequest {
        cursor: Some(cursor.into()),
        ..subscribe(2)
    });
    assert!(respond_to_matches(&mut rig) <= 2);
    assert_eq!(rig.respond_all(200).len(), 2);
}

#[test]
fn an_authorization_from_before_a_renewal_changes_nothing() {
    let options = DelivererOptions {
        authorization_ttl: Some(Duration::from_mins(10)),
        ..DelivererOptions::default()
    };
    let mut rig = Rig::with(options, MatchRules::default());
    rig.begin(&subscribe(1));
    rig.pass(599_000);
    assert!(matches!(
        rig.outputs.last(),
        Some(DelivererOutput::Authorize { .. })
    ));
    rig.subscribe(&subscribe(1)).unwrap();
    let id = subscribe(1).id;
    rig.deliverer
        .handle_authorized(&id, Authorization::Denied, rig.now)
        .unwrap();
    rig.drain();
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    assert_eq!(&*rig.post().message, "evt_e1_1");
}

/// A deliverer whose server matches the occurrences of these event types.
fn matching(names: &[String]) -> Rig {
    let rules = names.iter().map(|name| (named(name), MatchRule::Host));
    Rig::with(DelivererOptions::default(), rules.collect())
}

fn of_caller(caller: u32, number: u32) -> SubscribeRequest {
    SubscribeRequest {
        principal: format!("caller {caller}").into(),
        ..subscribe(number)
    }
}

/// Returns the number of requests to match that wait for their results.
fn waiting_matches(rig: &Rig) -> usize {
    let is_match = |output: &&DelivererOutput| matches!(output, DelivererOutput::Match { .. });
    rig.outputs.iter().filter(is_match).count()
}

/// Responds to the oldest request to match. Returns whether there was one.
fn respond_to_oldest(rig: &mut Rig, result: &MatchResult) -> bool {
    let is_match = |output: &DelivererOutput| matches!(output, DelivererOutput::Match { .. });
    let Some(at) = rig.outputs.iter().position(is_match) else {
        return false;
    };
    if let DelivererOutput::Match { read, page, .. } = rig.outputs.remove(at) {
        let results = vec![result.clone(); page.matches("eventId").count()];
        rig.deliverer
            .handle_match_results(read, &results, rig.now)
            .unwrap();
        rig.drain();
    }
    true
}

#[test]
fn more_event_types_than_there_are_pages_in_memory_are_matched() {
    let names: Vec<String> = (1..=17).map(|number| format!("t{number}")).collect();
    let mut rig = matching(&names);
    for (number, name) in (1..).zip(&names) {
        let request = SubscribeRequest {
            name: named(name),
            ..of_caller(number, number)
        };
        rig.subscribe(&request).unwrap();
    }
    rig.pass(1_000);
    for name in &names {
        rig.publish(name, "{}");
    }
    let mut posts = 0;
    for _ in 0..34 {
        respond_to_oldest(&mut rig, &MatchResult::Matched);
        posts += rig.respond_all(200).len();
    }
    assert_eq!(posts, 17);
}

#[test]
fn a_page_is_matched_for_eight_subscriptions_at_a_time() {
    let mut rig = matching(&["order.paid".into()]);
    for number in 1..=50 {
        rig.subscribe(&of_caller(number % 20, number)).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    assert_eq!(waiting_matches(&rig), 8);
    let mut posts = 0;
    while respond_to_oldest(&mut rig, &MatchResult::Matched) {
        assert!(waiting_matches(&rig) <= 8);
        posts += rig.respond_all(200).len();
    }
    assert_eq!(posts, 50);
}

#[test]
fn a_caller_whose_matches_take_long_leaves_room_for_others() {
    let mut rig = matching(&["order.paid".into()]);
    for number in 1..=9 {
        rig.subscribe(&of_caller(1, number)).unwrap();
    }
    let own = SubscribeRequest {
        arguments: r#"{"of":"another"}"#.into(),
        ..of_caller(2, 10)
    };
    rig.subscribe(&own).unwrap();
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    let mut asked = rig.outputs.iter().filter_map(|output| match output {
        DelivererOutput::Match { arguments, .. } => Some(arguments),
        _ => None,
    });
    assert!(asked.any(|arguments| *arguments == own.arguments));
    assert!(waiting_matches(&rig) < 8);
}

/// A payload that the function of a server makes of a small one.
fn large() -> MatchResult {
    let text = "x".repeat(190_000);
    MatchResult::Transformed(format!(r#"{{"text":"{text}"}}"#).into())
}

#[test]
fn pages_in_memory_are_counted_with_the_payloads_that_the_server_made() {
    let mut rig = matching(&["order.paid".into()]);
    for number in 1..=5 {
        rig.subscribe(&of_caller(number, number)).unwrap();
    }
    rig.pass(1_000);
    for number in 0..12 {
        rig.publish("order.paid", "{}");
        while respond_to_oldest(&mut rig, &large()) {
            let status = if number == 0 { 500 } else { 200 };
            assert_eq!(rig.respond_all(status).len(), 1);
        }
    }
    let reads = rig.reads;
    rig.pass(6_000);
    assert_eq!(rig.reads, reads + 1);
    let mut posts = rig.respond_all(200).len();
    while respond_to_oldest(&mut rig, &large()) {
        posts += rig.respond_all(200).len();
    }
    assert_eq!(posts, 5);
}

#[test]
fn what_the_server_made_of_one_page_is_limited_too() {
    let mut rig = matching(&["order.paid".into()]);
    for number in 1..=50 {
        rig.subscribe(&of_caller(number, number)).unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{}");
    while respond_to_oldest(&mut rig, &large()) {
        assert_eq!(rig.respond_all(500).len(), 1);
    }
    rig.pass(6_000);
    let mut matches = 0;
    let mut posts = rig.respond_all(200).len();
    while respond_to_oldest(&mut rig, &large()) {
        posts += rig.respond_all(200).len();
        matches += 1;
    }
    assert_eq!(posts, 50);
    assert!(matches >= 25, "{matches}");
}
