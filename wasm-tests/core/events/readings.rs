//! Readings of the log for all streams of a type.

use mcp_listen::{clock::Millis, events::Opening};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    host::name,
    stream_world::{World, label, n, opening, write},
};

#[test]
fn one_reading_is_under_way_at_a_time_and_a_failed_one_is_due_again() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    let due = world.streams.query(&name("a"), world.now);
    assert!(due.is_none(), "nothing is due");
    world.publish("a", &n(1), None);
    let reading = world.cued("a").unwrap();
    assert!(world.cued("a").is_none());
    world.streams.handle_failure(&name("a"), reading.number);
    world.deliver("a", &mut clients, &[]);
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn a_reading_that_takes_a_second_is_repeated_and_whichever_page_comes_counts() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world.publish("a", &n(1), None);
    let first = world.cued("a").unwrap();
    let early = world.page(&first.query);
    world.now = world.now + Millis(999);
    assert!(world.streams.query(&name("a"), world.now).is_none());
    world.now = world.now + Millis(1);
    let second = world.streams.query(&name("a"), world.now).unwrap();
    world.publish("a", &n(2), None);
    let late = world.page(&second.query);
    world.streams.handle_failure(&name("a"), first.number);
    let due = world.streams.query(&name("a"), world.now);
    assert!(due.is_none(), "the second is under way");
    world.read("a", &first, early.clone());
    assert!(world.streams.poll_batch().is_none(), "it has failed");
    world.read("a", &second, late);
    write(&world.streams.poll_batch().unwrap(), &mut clients);
    assert_eq!(clients[0].story(), ["active", "1", "2"]);
    // The other way round: a page that was overtaken is not even matched.
    let third = world.cued("a").unwrap();
    world.now = world.now + Millis(1_000);
    let fourth = world.streams.query(&name("a"), world.now).unwrap();
    let page = world.page(&fourth.query);
    world.read("a", &fourth, page.clone());
    assert!(world.streams.classes(&name("a"), third.number).is_none());
    world.read("a", &third, page);
    assert!(world.streams.poll_batch().is_none());
}

#[test]
fn a_log_that_never_responds_is_asked_less_and_less_and_costs_no_more() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    let first = world.cued("a").unwrap();
    let page = world.page(&first.query);
    world.publish("a", &n(1), None);
    let mut latest = first.clone();
    for seconds in 1..=8 {
        world.now = world.now + Millis(seconds * 1_000 - 1);
        assert!(world.streams.query(&name("a"), world.now).is_none());
        world.now = world.now + Millis(1);
        latest = world.streams.query(&name("a"), world.now).unwrap();
    }
    world.read("a", &first, page);
    assert!(world.streams.poll_batch().is_none(), "it is forgotten");
    let page = world.page(&latest.query);
    world.read("a", &latest, page);
    write(&world.streams.poll_batch().unwrap(), &mut clients);
    assert_eq!(clients[0].story(), ["active", "1"]);
}

#[test]
fn a_cue_while_the_log_is_read_reads_it_again() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world.publish("a", &n(1), None);
    let reading = world.cued("a").unwrap();
    let page = world.page(&reading.query);
    world.publish("a", &n(2), None);
    world.streams.handle_cue(&name("a"));
    world.read("a", &reading, page);
    while let Some(batch) = world.streams.poll_batch() {
        write(&batch, &mut clients);
    }
    world.deliver("a", &mut clients, &[]);
    assert_eq!(clients[0].story(), ["active", "1", "2"]);
}

#[test]
fn a_page_that_was_asked_for_before_a_group_was_known_is_not_for_that_group() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    world.publish("a", &n(1), None);
    let reading = world.cued("a").unwrap();
    let member = Opening {
        groups: vec![label("x")],
        ..opening("2", "a")
    };
    let mut member = world.open(member);
    world
        .streams
        .handle_groups(clients[0].stream, vec![label("y")]);
    for (number, group) in [(2, "x"), (3, "y")] {
        world.publish("a", &n(number), Some(group));
    }
    let page = world.page(&reading.query);
    world.read("a", &reading, page);
    assert!(world.streams.poll_batch().is_none());
    let mut left = world.streams.take_left();
    left.sort_unstable();
    assert_eq!(left, [clients[0].stream, member.stream]);
    world.catch_up(&mut clients[0]);
    world.catch_up(&mut member);
    assert_eq!(clients[0].story(), ["active", "1", "3"]);
    assert_eq!(member.story(), ["active", "2"]);
}

#[test]
fn a_page_that_comes_late_is_not_for_the_groups_of_a_later_query() {
    let mut world = World::new();
    let mut clients = [world.open(opening("1", "a"))];
    let reading = world.cued("a").unwrap();
    let member = clients[0].stream;
    world.streams.handle_groups(member, vec![label("x")]);
    world.now = world.now + Millis(1_000);
    assert!(world.streams.query(&name("a"), world.now).is_some());
    world.publish("a", &n(1), Some("x"));
    world.publish("a", &n(2), None);
    let page = world.page(&reading.query);
    world.read("a", &reading, page);
    assert!(world.streams.poll_batch().is_none());
    assert_eq!(world.streams.take_left(), [member]);
    world.catch_up(&mut clients[0]);
    assert_eq!(clients[0].story(), ["active", "1", "2"]);
}
