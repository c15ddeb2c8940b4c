//! The names of edges are bounded in bytes: a few edges with many names take no room from many
//! edges with few.

use mcp_listen::{
    bus::{Bus, EdgeId, NameBudget, Persist, Received},
    filter::SubscriptionFilter,
    wire::FollowResponse,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{check, updated, uri},
    delta::{attach, bus, change, watching},
    follow,
};

/// The bytes that a name counts in addition to its length.
const NAME: usize = 64;
const NOTHING: SubscriptionFilter = SubscriptionFilter {
    tools_list_changed: false,
    prompts_list_changed: false,
    resources_list_changed: false,
    events_list_changed: false,
    resource_subscriptions: Vec::new(),
    task_ids: Vec::new(),
    scope: mcp_listen::scope::Scope {
        groups: Vec::new(),
        principals: Vec::new(),
        disconnects: false,
    },
};

/// Returns names that count exactly this many bytes together.
fn counting(bytes: usize, cursor: &str) -> SubscriptionFilter {
    let text = format!("{cursor}{}", "x".repeat(bytes - NAME - cursor.len()));
    watching([uri(&text)])
}

#[test]
fn the_sum_of_all_holders_is_right_and_bounded() {
    let steps = vec((0..8usize, 0..6_000usize, any::<bool>()), 0..200);
    check((steps, 0..40_000usize), |(steps, max_bytes)| {
        let mut room = NameBudget::new(max_bytes, 8);
        let base = max_bytes.div_euclid(16).min(4_096);
        let mut held = [0; 8];
        for (place, bytes, is_leaving) in steps {
            let to = if is_leaving { 0 } else { bytes };
            let is_admitted = room.admits(held[place], to);
            assert_eq!(is_admitted, to <= held[place] || to <= room.of(held[place]));
            assert!(
                is_admitted || to > base,
                "a small room is there in any case"
            );
            if is_admitted {
                room.change(held[place], to);
                held[place] = to;
            }
            assert_eq!(room.used(), held.iter().sum::<usize>());
            assert!(room.used() <= max_bytes);
        }
        for held in held {
            room.change(held, 0);
        }
        assert_eq!((room.used(), room.spare()), (0, max_bytes - base * 8));
    });
}

#[test]
fn one_holder_gets_at_most_its_share() {
    // Shares of 10,000 bytes, with 4,096 bytes reserved for each of eight.
    let room = NameBudget::new(320_000, 8);
    assert!(room.admits(0, 9_999) && room.admits(0, 10_000));
    assert!(!room.admits(0, 10_001));
}

#[test]
fn the_common_room_is_usable_to_the_last_byte() {
    // 1,000 bytes are reserved for each of 16, and as much is common; a share is no larger than
    // that.
    let mut room = NameBudget::new(32_000, 16);
    room.set_elsewhere(16_000 - 1);
    assert!(room.admits(0, 999) && room.admits(0, 1_000));
    assert!(!room.admits(0, 1_001));
    let mut room = NameBudget::new(320_000, 1);
    room.change(0, 10_000);
    room.set_elsewhere(room.spare() - 100);
    assert!(room.admits(0, 4_096 + 99) && room.admits(0, 4_096 + 100));
    assert!(!room.admits(0, 4_096 + 101));
    // A holder of fewer bytes than before is always admitted, even beyond all limits.
    room.set_elsewhere(usize::MAX);
    assert!(room.admits(10_000, 9_999));
}

fn bus_with_room(max_bytes: usize, edges: usize) -> Bus {
    let mut bus = bus();
    bus.set_room(max_bytes, edges);
    bus
}

fn refused_at(bus: &mut Bus, edge: EdgeId, add: &SubscriptionFilter) -> bool {
    let response = change(bus, edge, add, &NOTHING);
    matches!(response, FollowResponse::Full { .. })
}

#[test]
fn a_bus_reports_its_room_and_refuses_more() {
    let mut bus = bus_with_room(320_000, 8);
    let edge = bus.connect();
    let all = follow::fresh(1, &counting(2_000, "a"));
    let FollowResponse::Followed(followed) = follow::reply_to(&mut bus, edge, &all) else {
        panic!("not followed");
    };
    assert_eq!(followed.room, Some(10_000));
    for cursor in ["b", "h"] {
        assert!(!refused_at(&mut bus, edge, &counting(2_000, cursor)));
    }
    assert!(!refused_at(&mut bus, edge, &counting(1_999, "c")));
    assert!(!refused_at(&mut bus, edge, &counting(1_000, "d")));
    assert_eq!(bus.registry().name_bytes(), 8_999);
    // One byte below, at, and beyond the room.
    assert!(refused_at(&mut bus, edge, &counting(1_002, "e")));
    assert!(!refused_at(&mut bus, edge, &counting(1_000, "f")));
    assert!(refused_at(&mut bus, edge, &counting(100, "g")));
    assert_eq!(bus.registry().name_bytes(), 9_999);
}

#[test]
fn refused_additions_change_nothing_and_drops_free_room() {
    let mut bus = bus_with_room(320_000, 8);
    let edge = bus.connect();
    attach(&mut bus, edge, &counting(2_000, "a"));
    for cursor in ["b", "c", "d", "e"] {
        assert!(!refused_at(&mut bus, edge, &counting(2_000, cursor)));
    }
    let wanted = bus.registry().stored_topics(edge);
    assert!(refused_at(&mut bus, edge, &watching([uri("x")])));
    assert_eq!(bus.registry().stored_topics(edge), wanted);
    assert_eq!(bus.publish(&updated("x")).edges(), []);
    let response = change(&mut bus, edge, &watching([uri("x")]), &counting(2_000, "b"));
    assert!(matches!(response, FollowResponse::Followed(_)));
    assert_eq!(bus.publish(&updated("x")).edges(), [edge]);
    // Drops take effect even if the additions are refused.
    let more = watching((0..5).map(|number| uri(&format!("{number}{}", "y".repeat(1_900)))));
    let seq = bus.registry().seq(edge).unwrap() + 1;
    let text = follow::change(seq, &more, &counting(2_000, "c")).to_json();
    let reply = follow::accepted(&mut bus, edge, &text);
    let Persist::Delta(stored) = reply.persist().clone() else {
        panic!("nothing is dropped");
    };
    assert_eq!((stored.add.len(), stored.drop.len()), (0, 1));
    let response = FollowResponse::from_json(&reply.finish(&mut bus)[0]);
    let room = Some(10_000);
    assert_eq!(response, Ok(FollowResponse::Full { seq, room }));
    assert_eq!(bus.registry().name_bytes(), 6_000 + 65);
}

#[test]
fn an_edge_beyond_its_room_is_refused_and_others_stay() {
    let mut bus = bus_with_room(64_000, 8);
    let small = bus.connect();
    attach(&mut bus, small, &watching([uri("note://a")]));
    let greedy = bus.connect();
    let more = watching((0..40).map(|number| uri(&format!("{number}{}", "y".repeat(2_000)))));
    assert!(matches!(attach(&mut bus, greedy, &more), Received::Full));
    assert_eq!(
        (bus.registry().attached(), bus.registry().name_bytes()),
        (1, 8 + NAME)
    );
    assert_eq!(bus.publish(&updated("note://a")).edges(), [small]);
}

#[test]
fn greedy_edges_leave_room_for_a_small_one() {
    let mut bus = bus_with_room(2_097_152, 125);
    let mut accepted = 0;
    for number in 0..124 {
        let edge = bus.connect();
        let names = (0..31).map(|place| uri(&format!("{number}/{place}/{}", "z".repeat(1_980))));
        let received = attach(&mut bus, edge, &watching(names));
        accepted += usize::from(!matches!(received, Received::Full));
    }
    assert!((20..30).contains(&accepted), "{accepted}");
    assert!(bus.registry().name_bytes() < 2_097_152);
    let edge = bus.connect();
    let small = watching([uri("note://a"), uri("note://b")]);
    assert!(matches!(
        attach(&mut bus, edge, &small),
        Received::Followed(_)
    ));
}
