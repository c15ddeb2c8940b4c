//! Streams of events, one after another and together.

use mcp_listen::{
    bus::Position,
    events::{
        Opening, Window,
        error::{CodeSet, EventError},
        matching::{Expected, Verdict},
    },
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    host::{name, page},
    stream_world::{Client, World, label, opening, read, values, write},
};

fn n(number: u64) -> String {
    format!(r#"{{"n":{number}}}"#)
}

fn stories(clients: &[Client]) -> Vec<Vec<String>> {
    clients.iter().map(Client::story).collect()
}

/// A small log: of each name it keeps two to three occurrences.
fn small() -> World {
    World::with(Window {
        events: 2,
        ..Window::default()
    })
}

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
fn an_event_is_an_occurrence_with_its_cursor_stamped_with_the_request() {
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
    assert!(world.streams.error(waiting, &error).is_none());
    assert!(world.streams.terminate(waiting, &error).is_none());
    assert!(
        world
            .streams
            .handle_own_page(waiting, &page(0, 1, &[(1, "{}")]), &[])
            .is_none()
    );
    assert!(world.streams.behind(&name("a")).is_empty());
    let question = world.streams.question_of(waiting).unwrap();
    let page = world.page(&question);
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
fn the_log_is_read_once_for_all_streams_of_a_type() {
    let mut world = World::new();
    let mut clients: Vec<Client> = (0..50).map(|_| world.open(opening("1", "a"))).collect();
    world.asked.clear();
    world.publish("a", &n(1), None);
    world.publish("b", &n(2), None);
    world.cue("b", &mut clients);
    world.cue("a", &mut clients);
    assert_eq!(world.asked.len(), 1);
    assert!(
        clients
            .iter()
            .all(|client| client.story() == ["active", "1"])
    );
}

#[test]
fn streams_with_equal_ids_share_bytes_and_others_have_their_own() {
    let mut world = World::new();
    let ids = ["1", "\"1\"", "1"];
    let opened = ids.map(|raw| world.open(opening(raw, "a")).stream);
    let own = world
        .open(Opening {
            expected: values("/n", "2"),
            ..opening("1", "a")
        })
        .stream;
    let same = world
        .open(Opening {
            groups: vec![label("x")],
            ..opening("1", "a")
        })
        .stream;
    for number in [1, 2] {
        world.publish("a", &n(number), None);
    }
    world.streams.handle_cue(&name("a"));
    let question = world.streams.question(&name("a")).unwrap();
    let page = world.page(&question);
    world.streams.handle_page(&name("a"), page, &[]);
    let fan = world.streams.poll_fan().unwrap();
    let [one, text, again] = opened;
    assert_eq!(
        fan.writes,
        [(one, 0), (text, 1), (again, 0), (own, 2), (same, 0)]
    );
    assert_eq!(fan.ends.len(), 3);
    assert!(world.streams.poll_fan().is_none());
}

#[test]
fn a_stream_without_room_stays_behind_and_reads_pages_of_its_own() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    clients[0].has_room = false;
    for number in 1..=3 {
        world.publish("a", &n(number), None);
        world.cue("a", &mut clients);
    }
    assert_eq!(
        stories(&clients),
        [&["active"][..], &["active", "1", "2", "3"]]
    );
    assert_eq!(world.streams.behind(&name("a")), [clients[0].stream]);
    clients[0].has_room = true;
    world.catch_up(&mut clients[0]);
    assert_eq!(clients[0].story(), ["active", "1", "2", "3"]);
    assert!(world.streams.behind(&name("a")).is_empty());
    world.asked.clear();
    world.publish("a", &n(4), None);
    world.cue("a", &mut clients);
    assert_eq!(world.asked.len(), 1, "it gets what all get again");
    assert!(
        clients
            .iter()
            .all(|client| client.story().ends_with(&["4".to_owned()]))
    );
}

#[test]
fn a_backlog_is_read_page_by_page_and_not_for_all() {
    let mut world = World::new();
    for number in 1..=9 {
        world.publish("a", &n(number), None);
    }
    world.most = 2;
    let stream = world.streams.open(Opening {
        cursor: Some(world.cursor(0).into()),
        ..opening("1", "a")
    });
    let question = world.streams.question_of(stream).unwrap();
    assert!(question.max_bytes == 262_144 && question.max_scan == 8 << 20);
    let page = world.page(&question);
    assert_eq!(
        read(&world.streams.begin(stream, &page, &[]).unwrap()).len(),
        3
    );
    world.streams.handle_cue(&name("a"));
    assert!(
        world.streams.question(&name("a")).is_none(),
        "every stream is behind"
    );
    assert!(world.streams.question_of(stream).is_some());
}

#[test]
fn a_page_that_was_overtaken_repeats_nothing() {
    let mut world = World::new();
    for number in 1..=4 {
        world.publish("a", &n(number), None);
    }
    world.most = 2;
    let cursor = Some(world.cursor(0).into());
    let stream = world.streams.open(Opening {
        cursor,
        ..opening("1", "a")
    });
    let question = world.streams.question_of(stream).unwrap();
    let early = world.page(&question);
    world.most = 3;
    let late = world.page(&question);
    world.streams.begin(stream, &early, &[]);
    let own = |world: &mut World, page| world.streams.handle_own_page(stream, page, &[]);
    let bytes = own(&mut world, &late).unwrap();
    assert_eq!(read(&bytes)[0]["params"]["data"], json!({ "n": 3 }));
    assert!(own(&mut world, &early).is_none() && own(&mut world, &late).is_none());
    let beat = read(&world.streams.heartbeat(stream).unwrap());
    assert_eq!(beat[0]["params"]["cursor"], world.cursor(3));
}

#[test]
fn a_newcomer_leaves_the_others_where_they_are() {
    let mut world = World::new();
    let first = world.open(opening("1", "a"));
    for _ in 0..5 {
        world.pass();
    }
    world.open(opening("2", "a"));
    assert!(world.streams.question_of(first.stream).is_none());
    assert!(world.streams.behind(&name("a")).is_empty());
}

#[test]
fn one_question_is_under_way_at_a_time_and_a_failed_one_is_due_again() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    assert!(
        world.streams.question(&name("a")).is_none(),
        "nothing is due"
    );
    world.publish("a", &n(1), None);
    world.streams.handle_cue(&name("a"));
    assert!(world.streams.question(&name("a")).is_some());
    world.streams.handle_cue(&name("a"));
    assert!(world.streams.question(&name("a")).is_none());
    world.streams.handle_failure(&name("a"));
    world.deliver("a", &mut clients, &[]);
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn a_cue_while_the_log_is_read_reads_it_again() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world.publish("a", &n(1), None);
    world.streams.handle_cue(&name("a"));
    let question = world.streams.question(&name("a")).unwrap();
    let page = world.page(&question);
    world.publish("a", &n(2), None);
    world.streams.handle_cue(&name("a"));
    world.streams.handle_page(&name("a"), page, &[]);
    while let Some(fan) = world.streams.poll_fan() {
        write(&fan, &mut clients);
    }
    world.deliver("a", &mut clients, &[]);
    assert_eq!(clients[0].story(), ["active", "1", "2"]);
}

#[test]
fn what_is_trimmed_past_the_streams_is_told_to_all_of_them_at_once() {
    let mut world = small();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    for number in 1..=9 {
        world.publish("a", &n(number), None);
    }
    world.asked.clear();
    world.cue("a", &mut clients);
    for client in &clients {
        let story = client.story();
        assert_eq!(
            (&*story[0], &*story[1], &*story[story.len() - 1]),
            ("active", "truncated", "9")
        );
    }
    assert_eq!(world.asked.len(), 1);
}

#[test]
fn what_is_trimmed_past_one_stream_is_told_to_that_alone() {
    let mut world = small();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    clients[0].has_room = false;
    for number in 1..=9 {
        world.publish("a", &n(number), None);
        world.cue("a", &mut clients);
    }
    world.catch_up(&mut clients[0]);
    let story = clients[0].story();
    assert_eq!((&*story[1], &*story[story.len() - 1]), ("truncated", "9"));
    assert!(!clients[1].story().contains(&"truncated".to_owned()));
}

#[test]
fn an_empty_disk_truncates_every_stream_once() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    clients[1].has_room = false;
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    world.lose_disk("f");
    world.publish("a", &n(2), None);
    world.cue("a", &mut clients);
    clients[1].has_room = true;
    for client in &mut clients {
        world.catch_up(client);
    }
    world.publish("a", &n(3), None);
    world.cue("a", &mut clients);
    assert_eq!(
        stories(&clients),
        [
            &["active", "1", "truncated", "2", "3"][..],
            &["active", "truncated", "2", "3"]
        ]
    );
}

#[test]
fn a_heartbeat_has_the_position_up_to_which_the_stream_has_everything() {
    let mut world = World::new();
    let mut clients = [world.open(Opening {
        expected: values("/n", "1"),
        ..opening("1", "a")
    })];
    world.publish("a", &n(2), None);
    world.beat(&mut clients[0]);
    assert_eq!(clients[0].position(), Some(0));
    world.cue("a", &mut clients);
    world.beat(&mut clients[0]);
    assert_eq!(clients[0].story(), ["active", "heartbeat", "heartbeat"]);
    assert_eq!(
        clients[0].position(),
        Some(1),
        "also past what did not match"
    );
    let message = &clients[0].messages[1];
    assert_eq!(
        message["params"]["_meta"],
        json!({ "io.modelcontextprotocol/subscriptionId": 1 })
    );
}

#[test]
fn a_stream_without_room_does_not_claim_what_it_did_not_get() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    clients[0].has_room = false;
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    world.beat(&mut clients[0]);
    assert_eq!(clients[0].position(), Some(0));
}

#[test]
fn positions_of_others_advance_the_cursors_of_idle_streams() {
    let mut world = World::new();
    let mut clients = [
        world.open(opening("1", "a")),
        world.open(opening("2", "a")),
        world.open(opening("3", "b")),
    ];
    clients[1].has_room = false;
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    world.publish("b", &n(2), None);
    world.streams.handle_cue(&name("b"));
    for _ in 3..=9 {
        world.pass();
    }
    world.streams.handle_through("e", Position(9));
    world.streams.handle_through("other", Position(99));
    let positions: Vec<u64> = clients
        .iter_mut()
        .map(|client| {
            world.beat(client);
            client.position().unwrap()
        })
        .collect();
    assert_eq!(
        positions,
        [9, 0, 0],
        "one is behind, and for one something is due"
    );
    world.streams.handle_through("e", Position(5));
    world.beat(&mut clients[0]);
    assert_eq!(clients[0].position(), Some(9), "never back");
    clients[1].has_room = true;
    world.catch_up(&mut clients[1]);
    assert_eq!(clients[1].story(), ["active", "heartbeat", "1"]);
}

#[test]
fn a_quiet_stream_of_a_busy_type_never_loses_its_place() {
    let mut world = small();
    let mut clients = [world.open(Opening {
        groups: vec![label("x")],
        ..opening("1", "a")
    })];
    for number in 1..=9 {
        world.publish("a", &n(number), Some("other"));
        world.streams.handle_through("e", Position(number));
    }
    world.publish("a", &n(10), Some("x"));
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "10"]);
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
                    "error": { "code": code, "message": "Forbidden", "data": { "reason": "revoked" } },
                } }),
                json!({ "jsonrpc": "2.0", "id": "s", "result": { "resultType": "complete", "_meta": meta } }),
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
fn an_error_does_not_end_a_stream() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    let error = EventError::Internal("bus".into());
    let told = read(&world.streams.error(clients[0].stream, &error).unwrap());
    assert_eq!(told[0]["method"], "notifications/events/error");
    assert_eq!(
        told[0]["params"]["error"]["data"],
        json!({ "reason": "bus" })
    );
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn a_removed_stream_leaves_nothing() {
    let mut world = World::new();
    let client = world.open(opening("1", "a"));
    world.streams.remove(client.stream);
    world.streams.remove(client.stream);
    assert!(world.streams.is_empty() && world.streams.names().next().is_none());
    let next = world.open(opening("2", "b"));
    assert_eq!(next.stream.slot(), client.stream.slot());
    assert_ne!(next.stream, client.stream);
    assert!(
        world.streams.heartbeat(client.stream).is_none(),
        "an id never names another stream"
    );
}

#[test]
fn a_stream_that_is_removed_while_a_page_is_spread_gets_nothing() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    world.streams.handle_cue(&name("a"));
    let question = world.streams.question(&name("a")).unwrap();
    let page = world.page(&question);
    world.streams.handle_page(&name("a"), page, &[]);
    world.streams.remove(clients[0].stream);
    let other = world.streams.open(opening("3", "b"));
    assert_eq!(other.slot(), clients[0].stream.slot());
    let fan = world.streams.poll_fan().unwrap();
    assert_eq!(write(&fan, &mut clients), []);
    assert_eq!(stories(&clients), [&["active"][..], &["active", "1"]]);
}

#[test]
fn the_bytes_of_a_large_page_are_handed_out_in_parts() {
    let mut world = World::new();
    let mut clients: Vec<Client> = (0..40)
        .map(|number| world.open(opening(&number.to_string(), "a")))
        .collect();
    clients[30].has_room = false;
    world.publish(
        "a",
        &format!(r#"{{"n":1,"x":"{}"}}"#, "x".repeat(100_000)),
        None,
    );
    world.streams.handle_cue(&name("a"));
    let question = world.streams.question(&name("a")).unwrap();
    let page = world.page(&question);
    world.streams.handle_page(&name("a"), page, &[]);
    let mut parts = 0;
    while let Some(fan) = world.streams.poll_fan() {
        assert!(fan.bytes.len() < 1_400_000);
        let missed = write(&fan, &mut clients);
        world.streams.handle_missed(missed);
        parts += 1;
    }
    assert!(parts > 2);
    assert_eq!(world.streams.behind(&name("a")), [clients[30].stream]);
    let whole = clients
        .iter()
        .filter(|client| client.story() == ["active", "1"]);
    assert_eq!(whole.count(), 39);
}

fn host(raw_id: &str, arguments: &str) -> Opening {
    Opening {
        expected: Expected::Host(arguments.into()),
        ..opening(raw_id, "a")
    }
}

#[test]
fn the_server_judges_once_for_equal_arguments() {
    let mut world = World::new();
    let mut clients = [
        world.open(host("1", "{}")),
        world.open(host("2", "{}")),
        world.open(host("3", r#"{"a":1}"#)),
        world.open(opening("4", "a")),
    ];
    let classes: Vec<(u32, String)> = world
        .streams
        .classes(&name("a"))
        .into_iter()
        .map(|(class, arguments)| (class, arguments.to_owned()))
        .collect();
    let arguments: Vec<&str> = classes.iter().map(|(_, arguments)| &**arguments).collect();
    assert_eq!(arguments, [r#"{"a":1}"#, "{}"]);
    assert_eq!(
        world.streams.arguments_of(clients[2].stream),
        Some(r#"{"a":1}"#)
    );
    for number in 1..=4 {
        world.publish("a", &n(number), None);
    }
    world.streams.handle_cue(&name("a"));
    let changed = Verdict::Changed(r#"{"n":20}"#.into());
    let judged = [
        (
            classes[1].0,
            vec![Verdict::Passed, changed, Verdict::Skipped, Verdict::Passed],
        ),
        (
            classes[0].0,
            vec![Verdict::Failed, Verdict::Failed, Verdict::Passed],
        ),
    ];
    world.deliver("a", &mut clients, &judged);
    assert_eq!(
        stories(&clients),
        [
            &["active", "1", "20", "4"][..],
            &["active", "1", "20", "4"],
            &["active", "error", "3", "error"],
            &["active", "1", "2", "3", "4"],
        ]
    );
    let error = &clients[2].messages[1]["params"]["error"];
    assert_eq!(
        (&error["code"], &error["data"]),
        (&json!(-32_603), &json!({ "reason": "match" }))
    );
}

#[test]
fn a_class_without_verdicts_stays_behind_until_it_is_judged() {
    let mut world = World::new();
    let mut clients = [world.open(host("1", "{}")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    assert_eq!(stories(&clients), [&["active"][..], &["active", "1"]]);
    assert_eq!(world.streams.behind(&name("a")), [clients[0].stream]);
    let stream = clients[0].stream;
    let question = world.streams.question_of(stream).unwrap();
    let page = world.page(&question);
    let bytes = world
        .streams
        .handle_own_page(stream, &page, &[Verdict::Passed])
        .unwrap();
    clients[0].messages.extend(read(&bytes));
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn the_number_of_a_class_is_not_used_for_another() {
    let mut world = World::new();
    let first = world.open(host("1", "{}"));
    let keeper = world.open(opening("2", "a"));
    let class = world.streams.classes(&name("a"))[0].0;
    world.streams.remove(first.stream);
    world.open(host("3", r#"{"a":1}"#));
    assert_ne!(world.streams.classes(&name("a"))[0].0, class);
    assert_eq!(world.streams.name_of(keeper.stream), Some(&name("a")));
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
    world
        .streams
        .handle_page(&name("a"), logless(0, 1, &[(1, r#"{"n":1}"#)]), &[]);
    while let Some(fan) = world.streams.poll_fan() {
        write(&fan, &mut clients);
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
