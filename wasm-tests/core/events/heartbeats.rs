//! The cursors of streams that get no events.

use mcp_listen::events::Opening;
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::stream_world::{World, label, n, opening, small, values};

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
fn a_page_with_nothing_for_them_advances_the_cursors_of_idle_streams() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    clients[1].has_room = false;
    world.cue("a", &mut clients);
    world.publish("b", &n(2), None);
    for _ in 3..=9 {
        world.pass();
    }
    world.cue("a", &mut clients);
    let positions = clients.each_mut().map(|client| {
        world.beat(client);
        client.position()
    });
    assert_eq!(positions, [Some(9), Some(0)], "one is behind");
    clients[1].has_room = true;
    world.catch_up(&mut clients[1]);
    assert_eq!(clients[1].story(), ["active", "heartbeat", "1"]);
}

#[test]
fn a_quiet_stream_of_a_busy_type_keeps_its_place_while_it_reads_now_and_then() {
    let mut world = small();
    let mut clients = [world.open(Opening {
        groups: vec![label("x")],
        ..opening("1", "a")
    })];
    for number in 1..=9 {
        world.publish("a", &n(number), Some("other"));
        world.cue("a", &mut clients);
    }
    world.publish("a", &n(10), Some("x"));
    world.cue("a", &mut clients);
    assert_eq!(clients[0].story(), ["active", "10"]);
}
