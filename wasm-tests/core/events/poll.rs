//! The response to a poll.

use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    events::{
        cursor,
        exchange::{EventService, EventStep},
        matching::MatchResult,
        page::Page,
    },
    position::{Cursor, Position},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::host::{NOW, ask, page, result, service};

fn polled_at(service: &Arc<EventService>, arguments: &Value, page: Page, now: Millis) -> Value {
    let params = json!({ "name": "order.paid", "arguments": arguments, "cursor": "x" });
    let mut exchange = ask(service, "events/poll", &params);
    assert!(matches!(exchange.poll(), EventStep::Page(_)));
    exchange.handle_page(page, now);
    result(&mut exchange)
}

fn polled(page: Page) -> Value {
    polled_at(&service(&json!({})), &json!({}), page, NOW)
}

fn at(position: u64) -> Value {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(position),
    };
    cursor::to_text(&cursor).into()
}

fn ids(result: &Value) -> Vec<&str> {
    let events = result["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["eventId"].as_str().unwrap())
        .collect()
}

#[test]
fn a_poll_returns_occurrences_without_cursors_and_one_cursor_after_them() {
    assert_eq!(
        polled(page(3, 9, &[(5, r#"{"n":1.50}"#), (7, "{}")])),
        json!({
            "resultType": "complete",
            "events": [
                {
                    "eventId": "evt_e_5", "name": "order.paid",
                    "timestamp": "2025-11-25T08:00:00.000Z", "data": { "n": 1.5 },
                },
                {
                    "eventId": "evt_e_7", "name": "order.paid",
                    "timestamp": "2025-11-25T08:00:00.000Z", "data": {},
                },
            ],
            "cursor": at(9), "truncated": false, "hasMore": false, "nextPollMs": 5_000,
        })
    );
}

#[test]
fn a_first_poll_returns_a_fresh_cursor_and_nothing_else() {
    let first = polled(page(9, 9, &[]));
    assert_eq!((ids(&first), &first["cursor"]), (vec![], &at(9)));
    assert_eq!(
        (&first["truncated"], &first["hasMore"]),
        (&json!(false), &json!(false))
    );
}

#[test]
fn a_client_that_has_lost_something_learns_that_before_it_gets_the_rest() {
    for (more, events, has_more) in [
        (false, &[(5, "{}")][..], true),
        (true, &[], true),
        (false, &[], false),
    ] {
        let mut page = page(4, 9, events);
        (page.trimmed, page.more) = (true, more);
        let lost = polled(page);
        assert_eq!((ids(&lost), &lost["cursor"]), (vec![], &at(4)));
        assert_eq!(
            (&lost["truncated"], &lost["hasMore"]),
            (&json!(true), &json!(has_more))
        );
    }
}

#[test]
fn occurrences_that_are_too_old_are_skipped_in_the_same_result() {
    let mut page = page(4, 9, &[(5, "{}")]);
    page.skipped = true;
    let young = polled(page);
    assert_eq!(
        (ids(&young), &young["truncated"]),
        (vec!["evt_e_5"], &json!(true))
    );
}

#[test]
fn there_may_be_more_where_nothing_matched() {
    let mut page = page(4, 9, &[(5, r#"{"customer":{"id":"b"}}"#)]);
    page.more = true;
    let none = polled_at(&service(&json!({})), &json!({ "customer": "a" }), page, NOW);
    assert_eq!(
        (ids(&none), &none["cursor"], &none["hasMore"]),
        (vec![], &at(9), &json!(true))
    );
}

#[test]
fn arguments_narrow_what_a_poll_returns() {
    let events = [
        (5, r#"{"customer":{"id":"a"}}"#),
        (6, r#"{"customer":{"id":"b"}}"#),
        (7, "{}"),
    ];
    let own = polled_at(
        &service(&json!({})),
        &json!({ "customer": "b" }),
        page(4, 9, &events),
        NOW,
    );
    assert_eq!((ids(&own), &own["cursor"]), (vec!["evt_e_6"], &at(9)));
}

#[test]
fn the_next_poll_is_soon_only_if_something_came_in_the_last_minute() {
    for (passed, wait) in [(0, 5_000), (59_999, 5_000), (60_000, 30_000)] {
        let page = page(4, 9, &[(5, "{}")]);
        let now = Millis(NOW.0 + passed);
        let polled = polled_at(&service(&json!({})), &json!({}), page, now);
        assert_eq!(polled["nextPollMs"], wait);
    }
    assert_eq!(polled(page(4, 9, &[]))["nextPollMs"], 30_000);
}

#[test]
fn a_result_has_at_most_1_mib_and_goes_on_where_it_ends() {
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(190_000));
    let events: Vec<(u64, &str)> = (5..13).map(|position| (position * 2, &*large)).collect();
    let mut exchange = ask(
        &service(&json!({})),
        "events/poll",
        &json!({ "name": "news", "cursor": "x" }),
    );
    exchange.poll();
    exchange.handle_page(page(4, 30, &events), NOW);
    let EventStep::Respond(response) = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    let length = response.body.unwrap().len();
    assert!(length <= 1 << 20, "{length}");
    let part = result(&mut exchange);
    assert_eq!(ids(&part).len(), 5);
    assert_eq!((&part["cursor"], &part["hasMore"]), (&at(19), &json!(true)));
}

#[test]
fn the_server_matches_a_page_if_it_decides_what_matches() {
    let service = service(&json!({ "events": { "order.paid": { "match": "host" } } }));
    let params = json!({ "name": "order.paid", "arguments": { "min": 5 }, "cursor": "x" });
    let mut exchange = ask(&service, "events/poll", &params);
    exchange.poll();
    let events: Vec<(u64, &str)> = (5..10).map(|position| (position, r#"{"n":1}"#)).collect();
    exchange.handle_page(page(4, 9, &events), NOW);
    let EventStep::Match { subject } = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    assert_eq!(
        (&*subject.name, &*subject.arguments),
        ("order.paid", r#"{"min":5}"#)
    );
    let changed = MatchResult::Transformed(r#"{"n":2}"#.into());
    exchange.handle_match_results(&[
        MatchResult::Matched,
        MatchResult::NotMatched,
        changed,
        MatchResult::Failed,
    ]);
    let judged = result(&mut exchange);
    assert_eq!(
        ids(&judged),
        ["evt_e_5", "evt_e_7"],
        "without a yes nothing is sent"
    );
    assert_eq!(
        (&judged["events"][1]["data"], &judged["cursor"]),
        (&json!({ "n": 2 }), &at(9))
    );
}

#[test]
fn an_empty_page_needs_no_match_results() {
    let service = service(&json!({ "events": { "order.paid": { "match": "host" } } }));
    assert_eq!(
        ids(&polled_at(&service, &json!({}), page(4, 9, &[]), NOW)),
        [""; 0]
    );
}

#[test]
fn the_question_names_the_groups_of_the_caller() {
    let mut exchange = ask(
        &service(&json!({})),
        "events/poll",
        &json!({ "name": "news" }),
    );
    let caller = r#"{"groups":["a","b"]}"#;
    exchange.handle_caller(mcp_listen::events::exchange::Caller::from_json(caller).unwrap());
    let EventStep::Page(query) = exchange.poll() else {
        panic!("{:?}", exchange.poll());
    };
    let groups: Vec<&str> = query.groups.iter().map(|group| &**group).collect();
    assert_eq!((&*query.name, groups), ("news", vec!["a", "b"]));
}
