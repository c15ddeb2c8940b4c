//! Which occurrences a subscription receives, and what a deliverer does around them.

use mcp_listen::{
    clock::Millis,
    events::{
        Window,
        matching::{MatchField, MatchResult, MatchRule},
        webhook::{
            DelivererOptions, DelivererOutput, Failure, MatchRules, MessageKind, Outcome,
            SubscribeRequest,
        },
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::delivering::begun;
use super::rig::{Rig, kinds, named, response, subscribe};

#[test]
fn only_occurrences_of_its_groups_reach_a_subscription() {
    let mut rig = Rig::new();
    let tenant = |name: &str| mcp_listen::scope::Name::new(name).unwrap();
    rig.subscribe(&subscribe(1)).unwrap();
    rig.subscribe(&SubscribeRequest {
        groups: vec![tenant("a")],
        ..subscribe(2)
    })
    .unwrap();
    rig.pass(1_000);
    rig.append("order.paid", "{\"n\":1}", r#","group":"a""#);
    rig.append("order.paid", "{\"n\":2}", r#","group":"b""#);
    rig.append("order.paid", "{\"n\":3}", "");
    rig.wake("order.paid");
    let posts = rig.respond_all(200);
    let of = |number: u32| {
        let id = subscribe(number).id;
        let posts = posts.iter().filter(|post| post.subscription == id);
        let number = |body: &str| body.split("\"n\":").nth(1).map(|rest| rest[..1].to_owned());
        posts
            .filter_map(|post| number(&post.body))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(1), ["3"]);
    assert_eq!(of(2), ["1", "3"]);
}

#[test]
fn a_changed_group_counts_for_what_was_read_before() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.append("order.paid", "{\"n\":1}", "");
    rig.append("order.paid", "{\"n\":2}", r#","group":"a""#);
    let cursor = rig.cursor(0);
    rig.wake("order.paid");
    rig.respond_all(200);
    rig.begin(&SubscribeRequest {
        groups: vec![mcp_listen::scope::Name::new("a").unwrap()],
        cursor: Some(cursor.into()),
        ..subscribe(2)
    });
    assert_eq!(rig.respond_all(200).len(), 2);
}

#[test]
fn a_group_that_is_added_during_a_read_counts_for_its_page() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.holds_reads = true;
    rig.append("order.paid", "{}", r#","group":"a""#);
    rig.wake("order.paid");
    rig.subscribe(&SubscribeRequest {
        groups: vec![mcp_listen::scope::Name::new("a").unwrap()],
        ..subscribe(1)
    })
    .unwrap();
    rig.release_reads();
    rig.pass(1_000);
    assert_eq!(&*rig.post().message, "evt_e1_1");
}

#[test]
fn arguments_narrow_what_a_subscription_receives() {
    let fields = vec![MatchField {
        argument: "shop".into(),
        pointer: "/shop".into(),
    }];
    let rules: MatchRules = [(named("order.paid"), MatchRule::Fields(fields))]
        .into_iter()
        .collect();
    let mut rig = Rig::with(DelivererOptions::default(), rules);
    for (number, arguments) in [(1, "{\"shop\":1}"), (2, "{\"shop\":2}"), (3, "{}")] {
        rig.subscribe(&SubscribeRequest {
            arguments: arguments.into(),
            ..subscribe(number)
        })
        .unwrap();
    }
    rig.pass(1_000);
    rig.publish("order.paid", "{\"shop\":2}");
    let posts = rig.respond_all(200);
    let ids: Vec<Box<str>> = posts.into_iter().map(|post| post.subscription).collect();
    assert_eq!(ids, [subscribe(2).id, subscribe(3).id]);
}

#[test]
fn a_function_of_the_server_decides_about_a_page_and_may_change_payloads() {
    let rules: MatchRules = [(named("order.paid"), MatchRule::Host)]
        .into_iter()
        .collect();
    let mut rig = Rig::with(DelivererOptions::default(), rules);
    rig.begin(&subscribe(1));
    for n in 0..4 {
        rig.append("order.paid", &format!("{{\"n\":{n}}}"), "");
    }
    rig.wake("order.paid");
    let Some(DelivererOutput::Match {
        read,
        name,
        arguments,
        page,
    }) = rig.outputs.pop()
    else {
        panic!("{:?}", rig.outputs);
    };
    assert_eq!((&*name, &*arguments), ("order.paid", "{}"));
    assert_eq!(page.matches("eventId").count(), 4);
    let changed = MatchResult::Transformed("{\"changed\":true}".into());
    let results = [
        MatchResult::NotMatched,
        changed,
        MatchResult::Failed,
        MatchResult::Matched,
    ];
    rig.deliverer
        .handle_match_results(read, &results, rig.now)
        .unwrap();
    rig.drain();
    let posts = rig.respond_all(200);
    assert_eq!(posts.len(), 2);
    assert!(
        posts[0].body.contains("{\"changed\":true}"),
        "{}",
        posts[0].body
    );
    assert!(posts[1].body.contains("{\"n\":3}"));
    rig.publish("order.paid", "{}");
    assert!(matches!(
        rig.outputs.pop(),
        Some(DelivererOutput::Match { .. })
    ));
}

#[test]
fn an_outage_of_the_bus_delays_and_loses_nothing() {
    let mut rig = begun();
    rig.is_bus_away = true;
    rig.publish("order.paid", "{}");
    rig.pass(100_000);
    assert!(rig.posts.is_empty());
    rig.is_bus_away = false;
    assert_eq!(rig.pass_with(100_000, &response(200)).len(), 1);
}

#[test]
fn what_the_log_no_longer_has_is_a_gap() {
    let mut rig = begun();
    let window = Window {
        events: 10,
        ..Window::default()
    };
    rig.empty_log(window);
    rig.publish("order.paid", "{}");
    let posts = rig.respond_all(200);
    assert_eq!(kinds(&posts), [MessageKind::Gap, MessageKind::Event]);
    assert!(posts[0].body.contains(&rig.cursor(0)));
    for _ in 0..20 {
        rig.append("order.paid", "{}", "");
    }
    rig.wake("order.paid");
    let posts = rig.respond_all(200);
    assert_eq!(posts[0].kind, MessageKind::Gap);
    assert!((2..=12).contains(&posts.len()), "{}", posts.len());
    assert!(
        rig.subscribe(&subscribe(1))
            .unwrap()
            .contains("\"truncated\":true")
    );
}

#[test]
fn a_subscription_gets_a_new_log_from_its_beginning_wherever_others_begin() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(5));
    rig.empty_log(Window::default());
    rig.append("order.paid", "{}", "");
    rig.append("order.paid", "{}", "");
    rig.subscribe(&subscribe(5)).unwrap();
    let cursor = Some(rig.cursor(1).into());
    rig.subscribe(&SubscribeRequest {
        cursor,
        ..subscribe(2)
    })
    .unwrap();
    rig.pass(1_000);
    let posts = rig.respond_all(200);
    let own = posts
        .iter()
        .filter(|post| post.subscription == subscribe(5).id);
    let events = own.filter(|post| post.kind == MessageKind::Event);
    let messages: Vec<&str> = events.map(|post| &*post.message).collect();
    assert_eq!(messages, ["evt_e2_1", "evt_e2_2"]);
}

#[test]
fn a_message_that_waits_for_another_attempt_may_be_gone_by_then() {
    let mut rig = begun();
    rig.empty_log(Window {
        events: 10,
        ..Window::default()
    });
    rig.publish("order.paid", "{\"n\":1}");
    rig.respond_all(200);
    rig.publish("order.paid", "{\"n\":2}");
    let post = rig.post();
    rig.respond(&post, 500);
    for _ in 0..200 {
        rig.publish("order.paid", "{}");
        rig.respond_all(200);
    }
    rig.pass(5_500);
    assert_eq!(kinds(&rig.respond_all(200)), [MessageKind::Gap]);
}

#[test]
fn a_name_without_subscriptions_is_not_followed() {
    let mut rig = Rig::new();
    rig.wake("order.paid");
    assert_eq!(
        rig.outputs,
        [DelivererOutput::Unfollow(named("order.paid"))]
    );
    rig.outputs.clear();
    rig.subscribe(&subscribe(1)).unwrap();
    assert_eq!(rig.outputs, [DelivererOutput::Follow(named("order.paid"))]);
    rig.outputs.clear();
    rig.subscribe(&subscribe(2)).unwrap();
    assert!(rig.outputs.is_empty());
}

#[test]
fn a_message_whose_outcome_is_unknown_counts_as_failed() {
    let mut rig = begun();
    rig.publish("order.paid", "{}");
    let lost = rig.post();
    rig.pass(31_000);
    rig.pass(6_000);
    let post = rig.post();
    assert_eq!(post.message, lost.message);
    rig.settle(&lost, &response(200));
    rig.settle(&post, &Outcome::Failure(Failure::Timeout));
    assert_eq!(rig.deliverer.counts().waiting, 1);
}

#[test]
fn a_deliverer_rests_after_ten_seconds() {
    let mut rig = begun();
    for _ in 0..100 {
        rig.append("order.paid", "{}", "");
    }
    rig.wake("order.paid");
    for _ in 0..9 {
        rig.now = rig.now + Millis(1_000);
        let post = rig.posts.remove(0);
        rig.respond(&post, 200);
        assert_eq!(rig.posts.len(), 2);
    }
    rig.now = rig.now + Millis(1_000);
    let posts = std::mem::take(&mut rig.posts);
    for post in posts {
        rig.respond(&post, 200);
    }
    assert!(rig.posts.is_empty());
    assert_eq!(rig.alarm, Some(rig.now), "it goes on at once");
    rig.ring();
    assert_eq!(rig.posts.len(), 2);
}
