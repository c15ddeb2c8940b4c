//! Streams of events, one at a time.

use mcp_listen::events::{
    Opening,
    error::{CodeSet, EventError},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    host::page,
    stream_world::{Client, World, label, n, opening, read, small, stories, values, write},
};

#[test]
fn the_first_message_says_where_the_stream_begins() {
    let mut world = World::new();
    world.publish("a", &n(1), None);
    let client = world.open(opening("\"s\"", "a"));
    assert_eq!(
        client.messages,
        [json!({
            "jsonrpc": "2.0", "method": "notifications/events/active",
            "params": {
                "_meta": { "io.modelcontextprotocol/subscriptionId": "s" },
                "cursor": world.cursor(1), "truncated": false,
            },
        })]
    );
    assert!(
        world
            .streams
            .begin(client.stream, &page(0, 0, &[]), &[])
            .is_none(),
        "once"
    );
}

#[test]
fn an_event_is_an_occurrence_with_its_cursor_and_the_id_of_its_request() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world.publish("a", r#"{ "n": 1.50 }"#, None);
    world.cue("a", &mut clients);
    assert_eq!(
        clients[0].messages[1],
        json!({
            "jsonrpc": "2.0", "method": "notifications/events/event",
            "params": {
                "_meta": { "io.modelcontextprotocol/subscriptionId": 1 },
                "eventId": "evt_e_1", "name": "a", "timestamp": "2025-11-25T08:00:00.000Z",
                "data": { "n": 1.5 }, "cursor": world.cursor(1),
            },
        })
    );
}

#[test]
fn nothing_is_sent_before_the_stream_has_begun() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    let waiting = world.streams.open(opening("2", "a"));
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "1"]);
    let error = EventError::Forbidden { reason: None };
    assert!(world.streams.heartbeat(waiting).is_none());
    assert!(world.streams.terminate(waiting, &error).is_none());
    assert!(
        world
            .streams
            .handle_own_page(waiting, &page(0, 1, &[(1, "{}")]), &[])
            .is_none()
    );
    let query = world.streams.query_of(waiting).unwrap();
    let page = world.page(&query);
    let first = read(&world.streams.begin(waiting, &page, &[]).unwrap());
    assert_eq!(
        (first.len(), &first[0]["params"]["cursor"]),
        (1, &json!(world.cursor(1)))
    );
}

#[test]
fn a_stream_resumes_after_its_cursor() {
    let mut world = World::new();
    for number in 1..=3 {
        world.publish("a", &n(number), None);
    }
    let cursor = Some(world.cursor(1).into());
    let mut clients = [world.open(Opening {
        cursor,
        ..opening("1", "a")
    })];
    assert_eq!(clients[0].story(), ["active", "2", "3"]);
    assert_eq!(clients[0].messages[0]["params"]["cursor"], world.cursor(1));
    world.publish("a", &n(4), None);
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "2", "3", "4"]);
}

#[test]
fn a_stream_that_begins_later_than_its_cursor_says_so() {
    let mut world = small();
    for number in 1..=9 {
        world.publish("a", &n(number), None);
    }
    for cursor in [world.cursor(1), "unreadable".to_owned(), String::new()] {
        let cursor = Some(cursor.into());
        let story = world
            .open(Opening {
                cursor,
                ..opening("1", "a")
            })
            .story();
        assert_eq!((&*story[0], &*story[story.len() - 1]), ("truncated", "9"));
    }
    let recent = Some(world.cursor(8).into());
    assert_eq!(
        world
            .open(Opening {
                cursor: recent,
                ..opening("1", "a")
            })
            .story(),
        ["active", "9"]
    );
}

#[test]
fn occurrences_of_other_groups_are_not_sent() {
    let mut world = World::new();
    let groups = |own: &[&str]| own.iter().map(|text| label(text)).collect();
    let mut clients = [
        world.open(opening("1", "a")),
        world.open(Opening {
            groups: groups(&["x"]),
            ..opening("2", "a")
        }),
        world.open(Opening {
            groups: groups(&["y", "x", "y"]),
            ..opening("3", "a")
        }),
    ];
    for (number, group) in [(1, Some("x")), (2, None), (3, Some("y")), (4, Some("z"))] {
        world.publish("a", &n(number), group);
    }
    world.cue("a", &mut clients);
    assert_eq!(
        stories(&clients),
        [
            &["active", "2"][..],
            &["active", "1", "2"],
            &["active", "1", "2", "3"]
        ]
    );
    let asked = &world.asked.last().unwrap().groups;
    assert_eq!(
        *asked,
        [label("x"), label("y")],
        "only what a stream may have leaves the bus"
    );
}

#[test]
fn a_change_of_groups_counts_from_then_on() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world
        .streams
        .handle_groups(clients[0].stream, vec![label("x")]);
    world.publish("a", &n(1), Some("x"));
    world.cue("a", &mut clients);
    world.streams.handle_groups(clients[0].stream, Vec::new());
    world.publish("a", &n(2), Some("x"));
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn arguments_narrow_what_a_stream_gets() {
    let mut world = World::new();
    let of = |value: &str| Opening {
        expected: values("/n", value),
        ..opening("1", "a")
    };
    let mut clients = [
        world.open(of("1")),
        world.open(of("2")),
        world.open(opening("1", "a")),
    ];
    for number in [1, 2, 1] {
        world.publish("a", &n(number), None);
    }
    world.cue("a", &mut clients);
    assert_eq!(
        stories(&clients),
        [
            &["active", "1", "1"][..],
            &["active", "2"],
            &["active", "1", "2", "1"]
        ]
    );
}

#[test]
fn an_ended_subscription_gets_its_error_and_the_result_and_nothing_more() {
    for (codes, code) in [(CodeSet::Sep, -32_024), (CodeSet::Sketch, -32_012)] {
        let mut world = World::new();
        let mut clients = [world.open(Opening {
            codes,
            ..opening("\"s\"", "a")
        })];
        let stream = clients[0].stream;
        let error = EventError::from_json(r#"{"forbidden":{"reason":"revoked"}}"#).unwrap();
        clients[0]
            .messages
            .extend(read(&world.streams.terminate(stream, &error).unwrap()));
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": "s" });
        assert_eq!(
            clients[0].messages[1..],
            [
                json!({ "jsonrpc": "2.0", "method": "notifications/events/terminated", "params": {
                    "_meta": meta,
                    "error": {
                        "code": code, "message": "Forbidden", "data": { "reason": "revoked" },
                    },
                } }),
                json!({
                    "jsonrpc": "2.0", "id": "s",
                    "result": { "resultType": "complete", "_meta": meta },
                }),
            ]
        );
        world.publish("a", &n(1), None);
        world.cue("a", &mut clients);
        world.beat(&mut clients[0]);
        assert!(world.streams.terminate(stream, &error).is_none());
        assert_eq!(clients[0].messages.len(), 3);
    }
}

#[test]
fn a_removed_stream_leaves_nothing() {
    let mut world = World::new();
    let client = world.open(opening("1", "a"));
    world.streams.remove(client.stream);
    world.streams.remove(client.stream);
    assert_eq!(world.streams.id_at(client.stream.slot()), None);
    assert_eq!(world.streams.names().next(), None);
    let next = world.open(opening("2", "b"));
    assert_eq!(next.stream.slot(), client.stream.slot());
    assert_ne!(next.stream, client.stream);
    assert!(
        world.streams.heartbeat(client.stream).is_none(),
        "an id never names another stream"
    );
}

#[test]
fn without_a_log_a_stream_learns_that_it_has_lost_something() {
    let mut world = World::new();
    let stream = world.streams.open(opening("1", "a"));
    let logless = |from: u64, through: u64, events: &[(u64, &str)]| {
        let mut page = page(from, through, events);
        page.epoch = "".into();
        page
    };
    let begun = world.streams.begin(stream, &logless(0, 0, &[]), &[]);
    assert!(begun.is_some());
    let late = logless(5, 6, &[(6, r#"{"n":6}"#)]);
    let bytes = world.streams.handle_own_page(stream, &late, &[]).unwrap();
    let messages = read(&bytes);
    assert_eq!(messages[0]["params"]["truncated"], true);
    assert_eq!(messages[1]["params"]["data"]["n"], 6);
}

#[test]
fn without_a_log_all_cursors_are_null() {
    let mut world = World::new();
    let stream = world.streams.open(Opening {
        cursor: Some("x".into()),
        ..opening("1", "a")
    });
    let mut clients = [Client {
        stream,
        has_room: true,
        messages: Vec::new(),
    }];
    let logless = |from: u64, through: u64, events: &[(u64, &str)]| {
        let mut page = page(from, through, events);
        page.epoch = "".into();
        page
    };
    clients[0].messages.extend(read(
        &world
            .streams
            .begin(stream, &logless(0, 0, &[]), &[])
            .unwrap(),
    ));
    let reading = world.cued("a").unwrap();
    world.read("a", &reading, logless(0, 1, &[(1, r#"{"n":1}"#)]));
    while let Some(batch) = world.streams.poll_batch() {
        write(&batch, &mut clients);
    }
    world.beat(&mut clients[0]);
    assert_eq!(clients[0].story(), ["active", "1", "heartbeat"]);
    assert!(
        clients[0]
            .messages
            .iter()
            .all(|message| message["params"]["cursor"] == Value::Null)
    );
}
