//! How subscriptions end.

use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    events::{
        EventName,
        error::{EventError, Missing},
        webhook::{
            Authorization, DelivererOptions, DelivererOutput, MatchRules, MessageKind,
            RequestedTtl, SubscribeRequest,
        },
    },
    scope::Name,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    outages::endless,
    rig::{Rig, failure, named, subscribe},
};

#[test]
fn an_expired_subscription_is_removed_without_a_message() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.pass(3_598_000);
    assert_eq!(rig.rows(), 1);
    rig.outputs.clear();
    rig.pass(1_000);
    assert_eq!((rig.rows(), rig.posts.len(), rig.alarm), (0, 0, None));
    assert_eq!(
        rig.outputs,
        [DelivererOutput::Unfollow(named("order.paid"))]
    );
}

#[test]
fn a_read_that_waited_for_others_begins_as_soon_as_their_subscriptions_have_expired() {
    let mut options = DelivererOptions::default();
    options.ttl.default_ttl = Duration::from_secs(10);
    let mut rig = Rig::with(options, MatchRules::default());
    for name in ["order.sent"; 4].into_iter().chain(["order.paid"]) {
        rig.append(name, "{}", "");
    }
    for number in 0..4 {
        let after = Some(rig.cursor(number.into()).into());
        rig.subscribe(&SubscribeRequest {
            name: named("order.sent"),
            cursor: after,
            ..subscribe(number)
        })
        .unwrap();
    }
    rig.subscribe(&SubscribeRequest {
        cursor: Some(rig.cursor(0).into()),
        ttl: RequestedTtl::For(Millis(3_600_000)),
        ..subscribe(4)
    })
    .unwrap();
    rig.holds_reads = true;
    rig.pass(1_000);
    assert_eq!(read_names(&mut rig), ["order.sent"; 4].map(named));
    rig.now = rig.now + Millis(9_000);
    rig.ring();
    assert_eq!(read_names(&mut rig), [named("order.paid")]);
}

/// Takes the outputs. Returns the event types that are read.
fn read_names(rig: &mut Rig) -> Vec<EventName> {
    let outputs = std::mem::take(&mut rig.outputs);
    let names = outputs.into_iter().filter_map(|output| match output {
        DelivererOutput::Read { query, .. } => Some(query.name),
        _ => None,
    });
    names.collect()
}

#[test]
fn an_event_type_that_is_removed_ends_its_subscriptions() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.begin(&SubscribeRequest {
        name: named("order.sent"),
        ..subscribe(2)
    });
    let error = EventError::NotFound(Missing::Event);
    rig.deliverer
        .handle_ended(&named("order.paid"), &error, rig.now)
        .unwrap();
    rig.drain();
    let post = rig.post();
    assert!(
        post.body.contains(r#""data":{"kind":"event"}"#),
        "{}",
        post.body
    );
    rig.respond(&post, 200);
    assert_eq!(rig.rows(), 1);
}

#[test]
fn the_last_message_is_sent_five_times_at_most() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.disconnect("ann", rig.now, rig.now);
    let mut count = 0;
    for _ in 0..200 {
        for post in std::mem::take(&mut rig.posts) {
            rig.settle(&post, &failure());
            rig.restart();
            count += 1;
        }
        rig.pass(10_000);
    }
    assert_eq!((count, rig.rows(), rig.alarm), (5, 0, None));
}

#[test]
fn a_subscription_that_has_ended_may_be_made_again() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    rig.disconnect("ann", rig.now, rig.now);
    let unsubscribed = rig.deliverer.handle_unsubscribe(&subscribe(1).id, rig.now);
    assert_eq!(unsubscribed, Ok(false));
    rig.begin(&subscribe(1));
    rig.respond_all(200);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.post().kind, MessageKind::Event);
}

#[test]
fn an_endless_subscription_ends_after_three_days_of_failure() {
    let (mut rig, _) = endless();
    rig.publish("order.paid", "{}");
    let begun = rig.now;
    while rig.deliverer.counts().subscriptions > 0 {
        for post in std::mem::take(&mut rig.posts) {
            rig.settle(&post, &failure());
        }
        let alarm = rig.alarm.unwrap();
        rig.pass((alarm - rig.now).0);
    }
    let hours = (rig.now - begun).0 / 3_600_000;
    assert_eq!(hours, 72);
    let post = rig.post();
    assert_eq!(post.kind, MessageKind::Terminated);
    assert!(
        post.body.contains(r#"{"reason":"connection_refused"}"#),
        "{}",
        post.body
    );
}

fn granting() -> Rig {
    let options = DelivererOptions {
        authorization_ttl: Some(Duration::from_mins(10)),
        ..DelivererOptions::default()
    };
    let mut rig = Rig::with(options, MatchRules::default());
    rig.begin(&subscribe(1));
    rig.outputs.clear();
    rig.pass(599_000);
    rig
}

#[test]
fn a_subscription_is_authorized_again_and_waits_meanwhile() {
    let mut rig = granting();
    let asked = DelivererOutput::Authorize {
        subscription: subscribe(1).id,
        principal: "ann".into(),
        groups: Vec::new(),
        name: named("order.paid"),
        arguments: "{}".into(),
    };
    assert_eq!(rig.outputs, std::slice::from_ref(&asked));
    rig.publish("order.paid", "{}");
    let id = subscribe(1).id;
    rig.deliverer
        .handle_authorized(&id, Authorization::Unknown, rig.now)
        .unwrap();
    rig.drain();
    assert_eq!((rig.posts.len(), rig.outputs.len()), (0, 1));
    rig.pass(60_000);
    assert_eq!(rig.outputs, [asked.clone(), asked]);
    rig.deliverer
        .handle_authorized(&id, Authorization::Allowed(None), rig.now)
        .unwrap();
    rig.drain();
    assert_eq!(rig.posts.len(), 1);
    rig.restart();
    rig.outputs.clear();
    rig.pass(599_999);
    assert!(rig.outputs.is_empty());
    rig.pass(1);
    assert_eq!(rig.outputs.len(), 1);
}

#[test]
fn a_subscription_that_is_no_longer_authorized_ends() {
    let mut rig = granting();
    rig.publish("order.paid", "{}");
    let id = subscribe(1).id;
    rig.deliverer
        .handle_authorized(&id, Authorization::Denied, rig.now)
        .unwrap();
    rig.drain();
    let post = rig.post();
    assert_eq!(post.kind, MessageKind::Terminated);
    assert!(post.body.contains("-32024"), "{}", post.body);
    rig.respond(&post, 410);
    assert_eq!(rig.rows(), 0);
}

#[test]
fn an_authorization_may_change_the_groups() {
    let group = |name: &str| Name::new(name).unwrap();
    let mut rig = granting();
    rig.subscribe(&SubscribeRequest {
        groups: vec![group("a")],
        ..subscribe(1)
    })
    .unwrap();
    rig.pass(500_000);
    rig.append("order.paid", "{}", r#","group":"a""#);
    rig.append("order.paid", "{}", r#","group":"b""#);
    rig.pass(100_000);
    let groups_of = |output: &DelivererOutput| match output {
        DelivererOutput::Authorize { groups, .. } => groups.clone(),
        _ => Vec::new(),
    };
    let is_it = |output: &DelivererOutput| groups_of(output) == [group("a")];
    assert!(rig.outputs.iter().any(is_it), "{:?}", rig.outputs);
    let allowed = Authorization::Allowed(Some(vec![group("b")]));
    rig.deliverer
        .handle_authorized(&subscribe(1).id, allowed, rig.now)
        .unwrap();
    rig.drain();
    rig.wake("order.paid");
    assert_eq!(&*rig.post().message, "evt_e1_2");
    rig.restart();
    rig.pass(30_000);
    assert_eq!(&*rig.post().message, "evt_e1_2");
}

#[test]
fn an_occurrence_of_a_group_that_was_lost_is_not_sent_again() {
    let group = |name: &str| Name::new(name).unwrap();
    let mut rig = granting();
    rig.begin(&SubscribeRequest {
        groups: vec![group("a")],
        ..subscribe(1)
    });
    rig.pass(590_000);
    rig.append("order.paid", "{}", r#","group":"a""#);
    rig.wake("order.paid");
    let post = rig.post();
    rig.respond(&post, 500);
    rig.now = rig.now + Millis(10_000);
    rig.ring();
    rig.deliverer
        .handle_authorized(
            &subscribe(1).id,
            Authorization::Allowed(Some(Vec::new())),
            rig.now,
        )
        .unwrap();
    rig.drain();
    rig.pass(60_000);
    assert!(rig.posts.is_empty());
    assert_eq!(rig.deliverer.counts().waiting, 0);
}
