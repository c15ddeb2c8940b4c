//! Calls that make, renew and remove subscriptions.

use mcp_listen::{
    clock::Millis,
    events::{
        Window,
        error::EventError,
        webhook::{
            DelivererOptions, MatchRules, MessageKind, Outcome, RequestedTtl, SubscribeRequest,
            TtlOptions,
        },
    },
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, echo, failure, response, subscribe};

pub(crate) fn asking(number: u32) -> SubscribeRequest {
    SubscribeRequest {
        is_allowed: false,
        ..subscribe(number)
    }
}

fn callback(reason: &'static str) -> EventError {
    EventError::CallbackEndpoint(reason.into())
}

#[test]
fn an_endpoint_consents_before_a_subscription_is_made() {
    let mut rig = Rig::new();
    let call = rig.call(&asking(1));
    let post = rig.post();
    assert_eq!(post.kind, MessageKind::Verification);
    assert_eq!(
        post.body,
        r#"{"type":"verification","challenge":"challenge"}"#
    );
    assert!(post.message.starts_with("msg_verification_"));
    assert_eq!(*post.url, *asking(1).url);
    assert_eq!(post.secrets, [asking(1).secret]);
    assert_eq!((rig.rows(), rig.result(call)), (0, None));
    rig.settle(&post, &echo(r#"{"challenge":"challenge"}"#));
    assert!(rig.result(call).unwrap().is_ok());
    assert_eq!(rig.rows(), 1);
}

#[test]
fn an_endpoint_that_does_not_return_the_challenge_gets_nothing() {
    for (outcome, reason) in [
        (echo(r#"{"challenge":"challengf"}"#), "challenge_failed"),
        (echo(r#"{"challenge":"challenge1"}"#), "challenge_failed"),
        (echo("challenge"), "challenge_failed"),
        (echo("{}"), "challenge_failed"),
        (response(204), "challenge_failed"),
        (response(302), "challenge_failed"),
        (response(500), "challenge_failed"),
        (failure(), "connection_refused"),
    ] {
        let mut rig = Rig::new();
        let call = rig.call(&asking(1));
        let post = rig.post();
        rig.settle(&post, &outcome);
        assert_eq!(rig.result(call), Some(Err(callback(reason))));
        rig.publish("order.paid", "{}");
        rig.pass(5_000);
        assert_eq!((rig.rows(), rig.posts.len()), (0, 0), "{outcome:?}");
    }
}

#[test]
fn a_challenge_that_the_host_could_not_send_is_not_blamed_on_the_endpoint() {
    let mut rig = Rig::new();
    let call = rig.call(&asking(1));
    let post = rig.post();
    rig.settle(&post, &Outcome::Unsent);
    let unavailable = EventError::Internal("webhook".into());
    assert_eq!(rig.result(call), Some(Err(unavailable)));
    assert_eq!(rig.rows(), 0);
}

#[test]
fn consent_holds_for_a_day_for_one_subscriber_and_url() {
    let mut rig = Rig::new();
    rig.call(&asking(1));
    let post = rig.post();
    rig.settle(&post, &echo(r#"{"challenge":"challenge"}"#));
    let same_url = SubscribeRequest {
        url: asking(1).url,
        ..asking(2)
    };
    assert!(rig.subscribe(&same_url).is_ok());
    rig.call(&SubscribeRequest {
        principal: "bob".into(),
        id: asking(3).id,
        ..same_url.clone()
    });
    assert_eq!(rig.post().kind, MessageKind::Verification);
    for _ in 0..24 {
        assert!(rig.subscribe(&same_url).is_ok());
        rig.pass(3_590_000);
    }
    for _ in 0..2 {
        assert!(rig.subscribe(&same_url).is_ok(), "a renewal");
        rig.pass(300_000);
    }
    rig.call(&SubscribeRequest {
        id: asking(4).id,
        ..same_url
    });
    assert_eq!(rig.post().kind, MessageKind::Verification);
}

#[test]
fn the_result_has_the_expiry_and_the_cursor() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{}", "");
    let result = rig.subscribe(&subscribe(1)).unwrap();
    let expected = format!(
        r#"{{"id":"{}","refreshBefore":"2027-01-15T09:00:00.000Z","cursor":"{}","truncated":false}}"#,
        subscribe(1).id,
        rig.cursor(1),
    );
    assert_eq!(result, expected);
}

#[test]
fn a_subscription_without_an_end_is_granted_only_where_the_server_says_so() {
    let endless = SubscribeRequest {
        ttl: RequestedTtl::Endless,
        ..subscribe(1)
    };
    let result = Rig::new().subscribe(&endless).unwrap();
    assert!(
        result.contains(r#""refreshBefore":"2027-01-16T08:00:00.000Z""#),
        "{result}"
    );
    let options = DelivererOptions {
        ttl: TtlOptions {
            no_expiry: true,
            ..TtlOptions::default()
        },
        ..DelivererOptions::default()
    };
    let result = Rig::with(options, MatchRules::default())
        .subscribe(&endless)
        .unwrap();
    assert!(result.contains(r#""refreshBefore":null"#), "{result}");
}

#[test]
fn a_subscription_begins_now_or_after_its_cursor() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{\"n\":1}", "");
    rig.append("order.paid", "{\"n\":2}", "");
    rig.begin(&subscribe(1));
    assert!(rig.posts.is_empty());
    let replay = SubscribeRequest {
        cursor: Some(rig.cursor(1).into()),
        ..subscribe(2)
    };
    rig.begin(&replay);
    assert!(rig.post().body.contains("{\"n\":2}"));
}

#[test]
fn a_lost_place_is_reported_in_the_result() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{\"n\":1}", "");
    for cursor in ["nonsense", "", &rig.cursor(1).replace("ZTE", "ZTI")] {
        let lost = SubscribeRequest {
            cursor: Some(cursor.into()),
            ..subscribe(1)
        };
        let result = rig.subscribe(&lost).unwrap();
        assert!(result.contains("\"truncated\":true"), "{cursor} {result}");
        assert!(
            result.contains(&rig.cursor(0)),
            "it goes on from the oldest one: {result}"
        );
        rig.deliverer.handle_unsubscribe(&lost.id, rig.now).unwrap();
    }
}

#[test]
fn what_is_older_than_max_age_is_left_out() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{\"n\":1}", "");
    rig.pass(10_000);
    rig.append("order.paid", "{\"n\":2}", "");
    let young = SubscribeRequest {
        cursor: Some(rig.cursor(0).into()),
        max_age_ms: Some(Millis(5_000)),
        ..subscribe(1)
    };
    let result = rig.subscribe(&young).unwrap();
    assert!(result.contains("\"truncated\":true"), "{result}");
    rig.pass(1_000);
    assert!(rig.post().body.contains("{\"n\":2}"));
}

#[test]
fn a_bus_that_is_away_refuses_new_subscriptions_and_not_renewals() {
    let mut rig = Rig::new();
    rig.subscribe(&subscribe(1)).unwrap();
    rig.is_bus_away = true;
    let error = EventError::Internal("bus".into());
    assert_eq!(rig.subscribe(&subscribe(2)), Err(error));
    assert!(rig.subscribe(&subscribe(1)).is_ok());
}

#[test]
fn nothing_is_sent_within_a_second_of_the_response() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{}", "");
    let replay = SubscribeRequest {
        cursor: Some(rig.cursor(0).into()),
        ..subscribe(1)
    };
    rig.subscribe(&replay).unwrap();
    rig.wake("order.paid");
    rig.pass(999);
    assert!(rig.posts.is_empty());
    rig.pass(1);
    assert_eq!(rig.posts.len(), 1);
}

#[test]
fn the_first_message_is_in_time_while_another_is_under_way() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    let replay = SubscribeRequest {
        principal: "bob".into(),
        cursor: Some(rig.cursor(0).into()),
        ..subscribe(2)
    };
    rig.subscribe(&replay).unwrap();
    rig.pass(1_500);
    assert_eq!(rig.posts.len(), 2);
}

#[test]
fn a_renewal_keeps_the_place_unless_its_cursor_is_ahead() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    for _ in 0..3 {
        rig.publish("order.paid", "{}");
    }
    let posts = std::mem::take(&mut rig.posts);
    assert_eq!(posts.len(), 2);
    rig.respond(&posts[0], 200);
    rig.respond(&posts[1], 500);
    let behind = SubscribeRequest {
        cursor: Some(rig.cursor(0).into()),
        ..subscribe(1)
    };
    let result = rig.subscribe(&behind).unwrap();
    assert!(result.contains(&rig.cursor(1)), "{result}");
    assert!(result.contains(r#""lastError":"http_5xx""#), "{result}");
    let ahead = SubscribeRequest {
        cursor: Some(rig.cursor(2).into()),
        ..subscribe(1)
    };
    let result = rig.subscribe(&ahead).unwrap();
    assert!(result.contains(&rig.cursor(2)), "{result}");
}

#[test]
fn a_replaced_secret_signs_for_a_quarter_of_an_hour_more() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    let rotated = SubscribeRequest {
        secret: "sealed two".into(),
        secret_digest: "2".into(),
        ..subscribe(1)
    };
    rig.begin(&rotated);
    rig.publish("order.paid", "{}");
    let post = rig.post();
    assert_eq!(
        post.secrets,
        ["sealed two".into(), "sealed one".into()] as [Box<str>; 2]
    );
    rig.respond(&post, 200);
    rig.pass(15 * 60_000);
    rig.publish("order.paid", "{}");
    assert_eq!(rig.post().secrets, ["sealed two".into()] as [Box<str>; 1]);
}

#[test]
fn a_secret_that_is_sealed_again_is_the_same_one() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.begin(&SubscribeRequest {
        secret: "sealed again".into(),
        ..subscribe(1)
    });
    rig.publish("order.paid", "{}");
    assert_eq!(rig.post().secrets, ["sealed again".into()] as [Box<str>; 1]);
}

#[test]
fn a_removed_subscription_gets_nothing_more() {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    let post = rig.post();
    let removed = rig.deliverer.handle_unsubscribe(&subscribe(1).id, rig.now);
    assert_eq!(removed, Ok(true));
    rig.drain();
    rig.respond(&post, 500);
    rig.publish("order.paid", "{}");
    rig.pass(100_000);
    assert_eq!((rig.posts.len(), rig.rows(), rig.alarm), (0, 0, None));
    let removed = rig.deliverer.handle_unsubscribe(&subscribe(1).id, rig.now);
    assert_eq!(removed, Ok(false));
}

#[test]
fn subscriptions_of_other_logs_begin_with_the_oldest_occurrence() {
    let mut rig = Rig::new();
    rig.append("order.paid", "{\"n\":1}", "");
    let cursor = rig.cursor(1);
    rig.empty_log(Window::default());
    rig.append("order.paid", "{\"n\":2}", "");
    rig.begin(&SubscribeRequest {
        cursor: Some(cursor.into()),
        ..subscribe(1)
    });
    assert!(rig.post().body.contains("{\"n\":2}"));
}
