use mcp_listen::{
    bus::{Bus, JournalEntry, Route, Shard, ShardId},
    clock::Millis,
    position::{Cursor, Position},
    topic::Topic,
    wire::{Follow, FollowResponse},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::bus_with_shards;
use crate::any::uri;

fn root() -> Bus {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(7),
    };
    bus_with_shards(cursor, Position(0), 0, 10)
}

/// Opens shards as edges of these continents arrive, and returns their routes.
fn placed(root: &mut Bus, continents: &[&str]) -> Vec<u32> {
    let places = continents
        .iter()
        .map(|continent| shard(root, continent, None));
    places.collect()
}

fn shard(root: &mut Bus, continent: &str, full: Option<ShardId>) -> u32 {
    match root.route(continent, 10, full) {
        Route::Shard(shard) => shard.0,
        _ => panic!("at the root"),
    }
}

fn report(root: &mut Bus, shard: u32, seq: u64, edges: u32, is_low: bool) {
    let follow = Follow {
        seq,
        edges,
        is_low,
        ..Follow::default()
    };
    let response = root.handle_follow(ShardId(shard), &follow.to_json());
    let response = FollowResponse::from_json(&response.unwrap().finish(root)[0]);
    assert!(matches!(response, Ok(FollowResponse::Followed(_))));
}

fn changes(root: &mut Bus) -> Vec<JournalEntry> {
    std::iter::from_fn(|| root.poll_entry()).collect()
}

fn leaving(root: &mut Bus) -> Vec<u32> {
    let leaving = changes(root).into_iter().filter_map(|change| match change {
        JournalEntry::Leaving(shard) => Some(shard.0),
        _ => None,
    });
    leaving.collect()
}

#[test]
fn edges_stay_at_the_root_until_it_is_full() {
    let mut root = root();
    assert_eq!(root.route("EU", 9, None), Route::Root);
    assert_eq!(root.shards().count(), 0);
    assert_eq!(changes(&mut root), []);
    assert_eq!(root.route("EU", 10, None), Route::Shard(ShardId(1)));
    let opened = JournalEntry::Opened {
        shard: ShardId(1),
        continent: "EU".into(),
    };
    assert_eq!(
        changes(&mut root),
        [JournalEntry::Settled(Position(7)), opened]
    );
    // None goes to the root while there is a shard, even an empty one.
    assert_eq!(root.route("EU", 0, None), Route::Shard(ShardId(1)));
}

#[test]
fn an_edge_goes_to_the_fullest_shard_of_its_continent_that_has_room() {
    let mut root = root();
    assert_eq!(placed(&mut root, &["EU", "OC", "EU", "OC"]), [1, 2, 1, 2]);
    report(&mut root, 1, 1, 10, false);
    assert_eq!(placed(&mut root, &["EU", "OC"]), [3, 2]);
    report(&mut root, 1, 2, 8, false);
    report(&mut root, 3, 1, 7, false);
    assert_eq!(placed(&mut root, &["EU", "EU", "EU"]), [1, 1, 3]);
    report(&mut root, 1, 3, 8, false);
    // Two are equally full: the older one is chosen.
    assert_eq!(placed(&mut root, &["EU"]), [1]);
}

#[test]
fn a_full_shard_is_skipped_until_it_reports() {
    let mut root = root();
    assert_eq!(placed(&mut root, &["EU"]), [1]);
    assert_eq!(shard(&mut root, "EU", Some(ShardId(1))), 2);
    assert_eq!(placed(&mut root, &["EU"]), [2]);
    report(&mut root, 1, 1, 4, false);
    assert_eq!(placed(&mut root, &["EU"]), [1]);
}

#[test]
fn an_empty_shard_is_closed_and_others_stay() {
    let mut root = root();
    placed(&mut root, &["EU", "OC"]);
    report(&mut root, 1, 1, 9, false);
    report(&mut root, 2, 1, 0, true);
    assert_eq!(leaving(&mut root), [2]);
    // It accepts no edges any more, and its number is not reused.
    assert_eq!(placed(&mut root, &["OC"]), [3]);
}

#[test]
fn a_shard_with_edges_stays_although_the_others_have_room_for_them() {
    let mut root = root();
    placed(&mut root, &["EU"]);
    for full in [1, 2] {
        shard(&mut root, "EU", Some(ShardId(full)));
    }
    report(&mut root, 1, 1, 5, false);
    report(&mut root, 2, 1, 4, false);
    report(&mut root, 3, 1, 1, true);
    assert!(leaving(&mut root).is_empty());
    report(&mut root, 3, 2, 0, true);
    assert_eq!(leaving(&mut root), [3]);
}

#[test]
fn all_shards_are_closed_when_the_root_suffices() {
    let mut root = root();
    placed(&mut root, &["EU", "OC"]);
    report(&mut root, 1, 1, 3, false);
    report(&mut root, 2, 1, 3, true);
    assert!(leaving(&mut root).is_empty());
    report(&mut root, 2, 2, 2, true);
    assert_eq!(leaving(&mut root), [1, 2]);
    assert_eq!(root.route("EU", 0, None), Route::Root);
}

#[test]
fn a_count_without_a_report_closes_nothing() {
    let mut root = root();
    placed(&mut root, &["EU"]);
    report(&mut root, 1, 1, 1, false);
    assert!(leaving(&mut root).is_empty());
}

#[test]
fn after_a_restart_numbers_are_not_reused_and_shards_count_as_full() {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(7),
    };
    let mut root = bus_with_shards(cursor, Position(0), 5, 10);
    root.restore_shard(ShardId(2), "EU", 8, false);
    root.restore_shard(ShardId(3), "OC", 8, false);
    report(&mut root, 2, 9, 4, true);
    assert!(leaving(&mut root).is_empty());
    // It is tried all the same.
    assert_eq!(placed(&mut root, &["OC"]), [3]);
    assert_eq!(shard(&mut root, "OC", Some(ShardId(3))), 6);
}

#[test]
fn after_a_restart_the_newest_shard_that_has_not_reported_is_tried_first() {
    let mut root = root();
    for shard in 1..=8 {
        root.restore_shard(ShardId(shard), "EU", 8, false);
    }
    assert_eq!(placed(&mut root, &["EU", "EU"]), [8, 8]);
    assert_eq!(shard(&mut root, "EU", Some(ShardId(8))), 7);
    report(&mut root, 2, 9, 0, false);
    assert_eq!(placed(&mut root, &["EU"]), [7], "an empty shard may close");
    report(&mut root, 2, 10, 1, false);
    assert_eq!(placed(&mut root, &["EU"]), [2]);
}

/// The call that announced the bus to it may have been lost with the root.
#[test]
fn a_shard_that_has_never_called_is_asked_again_after_a_restart() {
    let mut root = root();
    for (shard, seq) in [(2, 8), (3, 0), (4, 1)] {
        root.restore_shard(ShardId(shard), "EU", seq, false);
    }
    let calls = std::iter::from_fn(|| root.poll_batch(Millis(0)));
    let asked: Vec<ShardId> = calls.map(|call| call.shard).collect();
    assert_eq!(asked, [ShardId(3)], "the others are not woken");
}

/// No edge may have returned to them, so that they hold their names for nothing.
#[test]
fn shards_are_asked_after_a_restart_once_their_names_take_half_of_the_room() {
    for (max_bytes, expected) in [(400, &[][..]), (380, &[ShardId(1), ShardId(2)])] {
        let mut root = root();
        root.set_room(max_bytes, 0);
        for (shard, name) in [(1, "a"), (2, "b"), (3, "c")] {
            root.restore_shard(ShardId(shard), "EU", 8, false);
            root.restore_topic(ShardId(shard), Topic::Resource(uri(name)));
        }
        report(&mut root, 3, 9, 1, false);
        let calls = std::iter::from_fn(|| root.poll_batch(Millis(0)));
        let asked: Vec<ShardId> = calls.map(|call| call.shard).collect();
        assert_eq!(asked, expected, "the names take 195 bytes");
    }
}

#[test]
fn shards_are_asked_in_turn_after_a_restart_while_that_matters() {
    let mut root = root();
    for shard in 1..=3 {
        root.restore_shard(ShardId(shard), "EU", 8, false);
    }
    report(&mut root, 2, 9, 1, false);
    let mut asked_in = |minute: u64| {
        let now = Millis(minute * 60_000);
        root.ask_in_turn(now);
        root.ask_in_turn(now + Millis(59_999));
        let calls = std::iter::from_fn(|| root.poll_batch(now));
        let asked: Vec<u32> = calls.map(|call| call.shard.0).collect();
        asked
    };
    let asked: Vec<Vec<u32>> = (0..16).map(&mut asked_in).collect();
    assert_eq!(asked[1..4], [vec![1], vec![], vec![3]]);
    assert_eq!(asked.concat(), [1, 3], "the second has reported");
}

#[test]
fn the_topics_of_a_shard_to_which_no_edge_returned_are_dropped_once_it_was_asked() {
    let (mut root, mut shard) = (root(), Shard::new(8));
    let (topic, mut now) = (Topic::Resource(uri("a")), Millis(60_000));
    root.restore_shard(ShardId(1), "EU", 8, false);
    root.restore_topic(ShardId(1), topic.clone());
    root.ask_in_turn(now);
    let call = root.poll_batch(now).unwrap();
    let ack = shard.handle_batch(&call.text, now).unwrap();
    root.handle_ack(call.shard, call.call, &ack, now, 0.5)
        .unwrap();
    assert!(root.wants(&topic), "edges have ten seconds to return");
    now = now + Millis(10_000);
    shard.handle_timeout(now, 0.5);
    let follow = shard.poll_call(now).unwrap();
    let reply = root.handle_follow(ShardId(1), &follow.text).unwrap();
    reply.finish(&mut root);
    assert!(!root.wants(&topic));
}
