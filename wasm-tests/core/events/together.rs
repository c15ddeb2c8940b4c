//! Many streams of events, which share what is read and written.

use mcp_listen::events::Opening;
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::stream_world::{Client, World, label, n, opening, read, small, stories, values, write};

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
    let reading = world.cued("a").unwrap();
    let page = world.page(&reading.query);
    world.read("a", &reading, page);
    let batch = world.streams.poll_batch().unwrap();
    let [one, text, again] = opened;
    assert_eq!(
        batch.writes,
        [(one, 0), (text, 1), (again, 0), (same, 0), (own, 2)]
    );
    assert_eq!(batch.ends.len(), 3);
    assert!(world.streams.poll_batch().is_none());
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
    assert!(world.is_behind(&clients[0]) && !world.is_behind(&clients[1]));
    clients[0].has_room = true;
    world.catch_up(&mut clients[0]);
    assert_eq!(clients[0].story(), ["active", "1", "2", "3"]);
    assert!(!world.is_behind(&clients[0]));
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
    let query = world.streams.query_of(stream).unwrap();
    assert!(query.max_bytes == 262_144 && query.max_scan == 1 << 20);
    let page = world.page(&query);
    assert_eq!(
        read(&world.streams.begin(stream, &page, &[]).unwrap()).len(),
        3
    );
    assert!(world.cued("a").is_none(), "every stream is behind");
    assert!(world.streams.query_of(stream).is_some());
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
    let query = world.streams.query_of(stream).unwrap();
    let early = world.page(&query);
    world.most = 3;
    let late = world.page(&query);
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
    let second = world.open(opening("2", "a"));
    assert!(!world.is_behind(&first) && !world.is_behind(&second));
}

#[test]
fn what_is_trimmed_past_the_streams_is_reported_to_all_of_them_at_once() {
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
fn what_is_trimmed_past_one_stream_is_reported_to_that_alone() {
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
fn a_stream_that_begins_after_the_disk_was_lost_leaves_the_others_with_their_page() {
    let mut world = World::new();
    let mut clients = vec![world.open(opening("1", "a")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    world.cue("a", &mut clients);
    world.lose_disk("f");
    world.publish("a", &n(2), None);
    clients.push(world.open(opening("3", "a")));
    assert!(clients.iter().all(|client| !world.is_behind(client)));
    world.deliver("a", &mut clients, &[]);
    world.publish("a", &n(3), None);
    world.cue("a", &mut clients);
    let others = ["active", "1", "truncated", "2", "3"];
    assert_eq!(
        stories(&clients),
        [&others[..], &others[..], &["active", "3"]]
    );
}

#[test]
fn a_stream_that_a_page_of_the_lost_log_leaves_behind_waits_with_the_others() {
    let mut world = World::new();
    let mut clients = vec![world.open(opening("1", "a"))];
    world.publish("a", &n(1), None);
    let reading = world.cued("a").unwrap();
    let page = world.page(&reading.query);
    world.lose_disk("f");
    clients.push(world.open(opening("2", "a")));
    world.read("a", &reading, page);
    write(&world.streams.poll_batch().unwrap(), &mut clients);
    assert!(world.streams.poll_batch().is_none());
    assert_eq!(world.streams.take_left(), [clients[1].stream]);
    world.catch_up(&mut clients[1]);
    assert!(!world.is_behind(&clients[1]));
    world.deliver("a", &mut clients, &[]);
    world.publish("a", &n(2), None);
    world.cue("a", &mut clients);
    assert_eq!(
        stories(&clients),
        [&["active", "1", "truncated", "2"][..], &["active", "2"]]
    );
}

#[test]
fn a_stream_that_comes_up_to_the_others_behind_a_page_under_way_reads_alone() {
    let mut world = World::new();
    world.publish("a", &n(1), None);
    world.publish("a", &n(2), None);
    let late = world.streams.open(Opening {
        cursor: Some(world.cursor(0).into()),
        ..opening("1", "a")
    });
    world.most = 1;
    let query = world.streams.query_of(late).unwrap();
    let page = world.page(&query);
    let mut late = Client {
        stream: late,
        has_room: true,
        messages: read(&world.streams.begin(late, &page, &[]).unwrap()),
    };
    world.publish("a", &n(3), None);
    let newcomer = world.open(opening("2", "a"));
    world.publish("a", &n(4), None);
    let reading = world.cued("a").unwrap();
    assert_eq!(reading.query.cursor, Some(world.cursor(3).into()));
    let page = world.page(&reading.query);
    let own = world.streams.query_of(late.stream).unwrap();
    let own = world.page(&own);
    let bytes = world.streams.handle_own_page(late.stream, &own, &[]);
    late.messages.extend(read(&bytes.unwrap()));
    assert!(!world.is_behind(&late), "it is where the log was read to");
    world.read("a", &reading, page);
    let batch = world.streams.poll_batch().unwrap();
    assert_eq!(batch.writes, [(newcomer.stream, 0)]);
    assert!(world.streams.poll_batch().is_none());
    assert_eq!(world.streams.take_left(), [late.stream]);
    world.catch_up(&mut late);
    assert_eq!(late.story(), ["active", "1", "2", "3", "4"]);
}

#[test]
fn a_stream_that_is_removed_while_a_page_is_spread_gets_nothing() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a")), world.open(opening("2", "a"))];
    world.publish("a", &n(1), None);
    let reading = world.cued("a").unwrap();
    let page = world.page(&reading.query);
    world.read("a", &reading, page);
    world.streams.remove(clients[0].stream);
    let other = world.streams.open(opening("3", "b"));
    assert_eq!(other.slot(), clients[0].stream.slot());
    let batch = world.streams.poll_batch().unwrap();
    assert_eq!(write(&batch, &mut clients), []);
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
    let reading = world.cued("a").unwrap();
    let page = world.page(&reading.query);
    world.read("a", &reading, page);
    let mut parts = 0;
    while let Some(batch) = world.streams.poll_batch() {
        assert!(batch.bytes.len() < 1_400_000);
        let missed = write(&batch, &mut clients);
        world.streams.handle_missed(missed);
        parts += 1;
    }
    assert!(parts > 2);
    assert!(world.is_behind(&clients[30]));
    let whole = clients
        .iter()
        .filter(|client| client.story() == ["active", "1"]);
    assert_eq!(whole.count(), 39);
}
