//! What edges hold is bounded in bytes: a few that want much take no room from many that want
//! little.

use mcp_listen::{
    bus::{Bus, EdgeId, Keeps, Received, Room},
    filter::SubscriptionFilter,
    wire::FollowAnswer,
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

/// What a name counts beside its bytes.
const NAME: usize = 64;
const NOTHING: SubscriptionFilter = SubscriptionFilter {
    tools_list_changed: false,
    prompts_list_changed: false,
    resources_list_changed: false,
    resource_subscriptions: Vec::new(),
    task_ids: Vec::new(),
    scope: mcp_listen::scope::Scope {
        groups: Vec::new(),
        principals: Vec::new(),
        disconnects: false,
    },
};

/// Names that count just so many bytes together.
fn counting(bytes: usize, mark: &str) -> SubscriptionFilter {
    let text = format!("{mark}{}", "x".repeat(bytes - NAME - mark.len()));
    watching([uri(&text)])
}

#[test]
fn whatever_holders_come_to_hold_the_sum_is_right_and_within_bounds() {
    let steps = vec((0..8usize, 0..6_000usize, any::<bool>()), 0..200);
    check((steps, 0..40_000usize), |(steps, most)| {
        let mut room = Room::new(most, 8);
        let base = most.div_euclid(16).min(4_096);
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
            assert_eq!(room.held(), held.iter().sum::<usize>());
            assert!(room.held() <= most);
        }
        for held in held {
            room.change(held, 0);
        }
        assert_eq!((room.held(), room.spare()), (0, most - base * 8));
    });
}

#[test]
fn one_holder_gets_its_share_and_not_a_byte_more() {
    // Shares of 10,000 bytes, and a small room of 4,096 for each of eight.
    let room = Room::new(320_000, 8);
    assert!(room.admits(0, 9_999) && room.admits(0, 10_000));
    assert!(!room.admits(0, 10_001));
}

#[test]
fn what_is_left_is_given_to_the_last_byte() {
    // A small room of 1,000 bytes for each of 16, and as much for all together; shares are no
    // larger than that.
    let mut room = Room::new(32_000, 16);
    room.set_elsewhere(16_000 - 1);
    assert!(room.admits(0, 999) && room.admits(0, 1_000));
    assert!(!room.admits(0, 1_001));
    let mut room = Room::new(320_000, 1);
    room.change(0, 10_000);
    room.set_elsewhere(room.spare() - 100);
    assert!(room.admits(0, 4_096 + 99) && room.admits(0, 4_096 + 100));
    assert!(!room.admits(0, 4_096 + 101));
    // Who holds less than before is always admitted, even beyond all bounds.
    room.set_elsewhere(usize::MAX);
    assert!(room.admits(10_000, 9_999));
}

fn bus_with_room(most: usize, edges: usize) -> Bus {
    let mut bus = bus();
    bus.set_room(most, edges);
    bus
}

fn refused_at(bus: &mut Bus, edge: EdgeId, add: &SubscriptionFilter) -> bool {
    let answer = change(bus, edge, add, &NOTHING);
    matches!(answer, FollowAnswer::Full { .. })
}

#[test]
fn a_bus_tells_an_edge_its_room_and_refuses_what_is_beyond() {
    let mut bus = bus_with_room(320_000, 8);
    let edge = bus.connect();
    let all = follow::fresh(1, &counting(2_000, "a"));
    let FollowAnswer::Followed(followed) = follow::answered(&mut bus, edge, &all) else {
        panic!("not followed");
    };
    assert_eq!(followed.room, Some(10_000));
    for mark in ["b", "h"] {
        assert!(!refused_at(&mut bus, edge, &counting(2_000, mark)));
    }
    assert!(!refused_at(&mut bus, edge, &counting(1_999, "c")));
    assert!(!refused_at(&mut bus, edge, &counting(1_000, "d")));
    assert_eq!(bus.registry().names(), 8_999);
    // One byte below, at, and beyond the room.
    assert!(refused_at(&mut bus, edge, &counting(1_002, "e")));
    assert!(!refused_at(&mut bus, edge, &counting(1_000, "f")));
    assert!(refused_at(&mut bus, edge, &counting(100, "g")));
    assert_eq!(bus.registry().names(), 9_999);
}

#[test]
fn what_is_refused_changes_nothing_and_what_is_dropped_makes_room() {
    let mut bus = bus_with_room(320_000, 8);
    let edge = bus.connect();
    attach(&mut bus, edge, &counting(2_000, "a"));
    for mark in ["b", "c", "d", "e"] {
        assert!(!refused_at(&mut bus, edge, &counting(2_000, mark)));
    }
    let wanted = bus.registry().kept(edge);
    assert!(refused_at(&mut bus, edge, &watching([uri("x")])));
    assert_eq!(bus.registry().kept(edge), wanted);
    assert_eq!(bus.publish(&updated("x")).edges(), []);
    let answer = change(&mut bus, edge, &watching([uri("x")]), &counting(2_000, "b"));
    assert!(matches!(answer, FollowAnswer::Followed(_)));
    assert_eq!(bus.publish(&updated("x")).edges(), [edge]);
    // What is dropped is dropped even where the rest is refused.
    let more = watching((0..5).map(|number| uri(&format!("{number}{}", "y".repeat(1_900)))));
    let seq = bus.registry().seq(edge).unwrap() + 1;
    let text = follow::change(seq, &more, &counting(2_000, "c")).to_json();
    let reply = follow::taken(&mut bus, edge, &text);
    let Keeps::Delta(kept) = reply.keeps().clone() else {
        panic!("nothing is dropped");
    };
    assert_eq!((kept.add.len(), kept.drop.len()), (0, 1));
    let answer = FollowAnswer::from_json(&reply.finish(&mut bus)[0]);
    let room = Some(10_000);
    assert_eq!(answer, Ok(FollowAnswer::Full { seq, room }));
    assert_eq!(bus.registry().names(), 6_000 + 65);
}

#[test]
fn an_edge_beyond_its_room_is_not_taken_and_the_others_stay() {
    let mut bus = bus_with_room(64_000, 8);
    let small = bus.connect();
    attach(&mut bus, small, &watching([uri("note://a")]));
    let greedy = bus.connect();
    let more = watching((0..40).map(|number| uri(&format!("{number}{}", "y".repeat(2_000)))));
    assert!(matches!(attach(&mut bus, greedy, &more), Received::Full));
    assert_eq!(
        (bus.registry().attached(), bus.registry().names()),
        (1, 8 + NAME)
    );
    assert_eq!(bus.publish(&updated("note://a")).edges(), [small]);
}

#[test]
fn greedy_edges_leave_room_for_a_small_one() {
    let mut bus = bus_with_room(2_097_152, 125);
    let mut taken = 0;
    for number in 0..124 {
        let edge = bus.connect();
        let names = (0..31).map(|place| uri(&format!("{number}/{place}/{}", "z".repeat(1_980))));
        let received = attach(&mut bus, edge, &watching(names));
        taken += usize::from(!matches!(received, Received::Full));
    }
    assert!((20..30).contains(&taken), "{taken}");
    assert!(bus.registry().names() < 2_097_152);
    let edge = bus.connect();
    let small = watching([uri("note://a"), uri("note://b")]);
    assert!(matches!(
        attach(&mut bus, edge, &small),
        Received::Followed(_)
    ));
}
