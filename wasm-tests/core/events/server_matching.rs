//! Streams for which a function of the server decides what matches.

use mcp_listen::events::{
    Opening,
    matching::{Expected, MatchResult},
};
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    host::name,
    stream_world::{World, label, n, opening, read, stories},
};

fn host(raw_id: &str, arguments: &str) -> Opening {
    Opening {
        expected: Expected::Host(arguments.into()),
        ..opening(raw_id, "a")
    }
}

#[test]
fn the_server_matches_once_for_equal_arguments() {
    let mut world = World::new();
    let mut clients = [
        world.open(host("1", "{}")),
        world.open(host("2", "{}")),
        world.open(host("3", r#"{"a":1}"#)),
        world.open(opening("4", "a")),
    ];
    let classes = world.classes("a");
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
    let changed = MatchResult::Transformed(r#"{"n":20}"#.into());
    let results = [
        (
            classes[1].0,
            vec![
                MatchResult::Matched,
                changed,
                MatchResult::NotMatched,
                MatchResult::Matched,
            ],
        ),
        (
            classes[0].0,
            vec![
                MatchResult::Failed,
                MatchResult::Failed,
                MatchResult::Matched,
            ],
        ),
    ];
    world.deliver("a", &mut clients, &results);
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
fn a_class_without_match_results_stays_behind_until_it_has_them() {
    let mut world = World::new();
    let mut clients = [world.open(host("1", "{}")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    assert_eq!(stories(&clients), [&["active"][..], &["active", "1"]]);
    let stream = clients[0].stream;
    assert_eq!(world.streams.take_left(), [stream]);
    assert!(world.classes("a").is_empty(), "all are behind");
    let query = world.streams.query_of(stream).unwrap();
    let page = world.page(&query);
    let bytes = world
        .streams
        .handle_own_page(stream, &page, &[MatchResult::Matched])
        .unwrap();
    clients[0].messages.extend(read(&bytes));
    assert_eq!(clients[0].story(), ["active", "1"]);
    assert_eq!(world.classes("a").len(), 1);
}

#[test]
fn groups_that_stay_the_same_change_nothing() {
    let mut world = World::new();
    let client = world.open(Opening {
        groups: vec![label("x"), label("y")],
        ..host("1", "{}")
    });
    let class = world.classes("a")[0].0;
    let groups = ["y", "x", "y"].map(label).to_vec();
    assert!(!world.streams.handle_groups(client.stream, groups));
    assert_eq!(world.classes("a")[0].0, class);
    let others = vec![label("y")];
    assert!(world.streams.handle_groups(client.stream, others));
    assert_ne!(world.classes("a")[0].0, class);
}

#[test]
fn the_number_of_a_class_is_not_used_for_another() {
    let mut world = World::new();
    let first = world.open(host("1", "{}"));
    let keeper = world.open(opening("2", "a"));
    let class = world.classes("a")[0].0;
    world.streams.remove(first.stream);
    world.open(host("3", r#"{"a":1}"#));
    assert_ne!(world.classes("a")[0].0, class);
    assert!(world.streams.heartbeat(keeper.stream).is_some());
}
