use core::time::Duration;

use mcp_listen::{
    clock::Millis,
    session::{Ask, Excess, NewSession, Reply, SessionLimits, SessionStore},
    wire::SessionCall,
};
use proptest::collection;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{check, claim, uri};

use super::world::*;

#[test]
fn a_caller_makes_room_at_its_own_expense() {
    let mut world = World::with("other", of(Some("bob")));
    for (id, after) in [("a", 10), ("b", 20)] {
        world.now = Millis(5_000 + after);
        assert!(world.begin(id, of(Some("ann"))));
    }
    world.now = Millis(5_030);
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(world.begin("c", of(Some("ann"))));
    assert_eq!(world.ask_as(Some("ann"), "b", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Done);

    world.joined("c ann", 1);
    world.joined_shard("a ann", 2);
    world.ask_as(Some("ann"), "a", Ask::Use);
    world.left_shard("a 1 ann", 2);
    world.now = Millis(5_040);
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(
        world.begin("d", of(Some("ann"))),
        "one without a stream goes first"
    );
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "c", Ask::Use), Reply::Done);

    world.joined("d ann", 4);
    world.joined_shard("c ann", 2);
    world.ask_as(Some("ann"), "d", Ask::Use);
    world.outputs();
    assert!(world.begin("e", of(Some("ann"))));
    let gone = SessionCall::Release(claim("c 3 ann"));
    assert_eq!(world.outputs(), [call(2, gone, false)], "with its stream");
    assert_eq!(world.ask_as(Some("bob"), "other", Ask::Use), Reply::Done);
    assert_eq!(world.sessions().count(), Ok(3));
}

#[test]
fn uses_at_the_same_time_keep_their_order() {
    let mut world = World::new();
    for id in ["a", "b"] {
        assert!(world.begin(id, of(Some("ann"))));
    }
    world.ask_as(Some("ann"), "a", Ask::Use);
    assert!(world.begin("c", of(Some("ann"))));
    assert_eq!(world.ask_as(Some("ann"), "b", Ask::Use), Reply::Unknown);
    assert_eq!(world.ask_as(Some("ann"), "a", Ask::Use), Reply::Done);
}

#[test]
fn an_address_and_a_name_are_different_callers() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        world.now = world.now + Millis(1);
        assert!(world.begin(id, at("ann")));
    }
    assert!(!world.is_there("a"));
    assert!(world.begin("d", of(Some("ann"))));
    assert!(world.is_there("b") && world.is_there("c"));
}

#[test]
fn without_room_no_session_of_another_caller_ends() {
    let mut world = World::new();
    for id in ["a", "b", "c"] {
        assert!(world.begin(id, of(None)));
    }
    assert!(
        !world.begin("d", of(None)),
        "callers without a name leave some"
    );
    assert!(world.begin("e", of(Some("ann"))));
    assert!(!world.begin("f", of(Some("bob"))), "all of them");
    assert!(["a", "b", "c"].into_iter().all(|id| world.is_there(id)));
    world.now = world.now + IDLE + Millis(1);
    assert!(
        world.begin("f", of(Some("bob"))),
        "but for those that are over"
    );
    assert_eq!(world.sessions().count(), Ok(1));
    let none = SessionLimits {
        sessions_per_principal: 0,
        ..LIMITS
    };
    assert!(!world.begin_within("g", of(Some("ann")), &none));
}

#[test]
fn sessions_refused_in_quick_succession_repeat_pending_calls_once() {
    let mut world = World::with("a", of(Some("ann")));
    world.joined_shard("a ann", 2);
    world.ask_as(
        Some("ann"),
        "a",
        Ask::End {
            is_forwarded: false,
        },
    );
    for caller in ["bob", "cid", "dan", "eve"] {
        let lasting = NewSession {
            idle: Duration::from_secs(3_600),
            ..of(Some(caller))
        };
        assert!(world.begin(caller, lasting));
    }
    world.outputs();
    let release = || call(2, SessionCall::Release(claim("a 2 ann")), false);
    for expected in [vec![release()], vec![], vec![]] {
        assert!(!world.begin("f", of(Some("fay"))));
        assert_eq!(world.outputs(), expected);
        world.now = world.now + Millis(400);
    }
    assert!(!world.begin("f", of(Some("fay"))));
    assert_eq!(world.outputs(), [release()], "after a second");
}

#[test]
fn subscriptions_are_bounded() {
    let mut world = World::with("s", of(None));
    assert!(world.begin("t", of(None)));
    assert_eq!(world.watch("s", &"a".repeat(100)), Reply::Done);
    assert_eq!(world.watch("s", &"a".repeat(100)), Reply::Done, "once");
    let too_long = world.watch("s", &"b".repeat(73));
    assert_eq!(too_long, Reply::Full(Excess::Bytes(300)));
    assert_eq!(world.watch("s", "c"), Reply::Done);
    assert_eq!(world.watch("s", "d"), Reply::Full(Excess::Uris(2)));
    assert_eq!(world.watch("s", "c"), Reply::Done, "it does already");
    let all = world.watch("t", &"e".repeat(108));
    assert_eq!(all, Reply::Full(Excess::Bytes(400)));
    assert_eq!(world.watch("t", &"e".repeat(107)), Reply::Done);
    assert_eq!(world.ask("s", Ask::Unsubscribe(uri("c"))), Reply::Done);
    assert_eq!(
        world.ask("s", Ask::Unsubscribe(uri("c"))),
        Reply::Done,
        "never"
    );
    assert_eq!(world.watch("t", "f"), Reply::Done, "there is room again");
    world.end("t");
    assert!(world.begin("u", of(Some("ann"))));
    let name = uri(&"g".repeat(236));
    let watch = Ask::Subscribe {
        uri: name,
        limits: LIMITS,
    };
    assert_eq!(world.ask_as(Some("ann"), "u", watch), Reply::Done);
}

/// The counts match the store after any sequence of steps.
#[test]
fn the_counts_match_the_store() {
    let steps = collection::vec((0..9_u8, 0..3_usize, 0..4_u32), 1..60);
    check(steps, |steps| {
        let mut world = World::new();
        let ids = ["a", "b", "c"];
        let owners = [None, Some("ann"), Some("bob")];
        for (step, which, number) in steps {
            let (id, principal) = (ids[which], owners[which]);
            let session = principal.map_or(id.into(), |name| format!("{id} {name}"));
            let name = uri(&"n".repeat(number as usize * 60 + 1));
            match step {
                0 | 1 => {
                    if world.rows.get(id).unwrap().is_none() {
                        world.begin(id, of(principal));
                    }
                }
                2 | 3 => {
                    world.ask_as(
                        principal,
                        id,
                        Ask::Subscribe {
                            uri: name,
                            limits: LIMITS,
                        },
                    );
                }
                4 => {
                    world.ask_as(principal, id, Ask::Unsubscribe(name));
                }
                5 => {
                    world.joined(&session, number);
                }
                6 => {
                    world.joined_shard(&session, number);
                }
                7 => {
                    world.ask_as(
                        principal,
                        id,
                        Ask::End {
                            is_forwarded: false,
                        },
                    );
                }
                _ => {
                    world.now = world.now + Millis(400);
                    world.sweep();
                }
            }
        }
        assert_counted(&mut world);
    });
}

/// Checks the counts of the store against its rows.
fn assert_counted(world: &mut World) {
    let [named, unnamed] = world.rows.totals().unwrap();
    let held = world.sessions().count().unwrap();
    assert_eq!(held, named.sessions + unnamed.sessions);
    assert!(named.bytes + unnamed.bytes <= LIMITS.bus_uri_bytes);
    assert!(unnamed.bytes <= LIMITS.unnamed_uri_bytes);
    for (id, session) in world.rows.all() {
        let subscriptions = world.rows.subscriptions(&id).unwrap();
        assert_eq!(session.uris, subscriptions.len());
        let bytes: usize = subscriptions.iter().map(|uri| uri.len() + 64).sum();
        assert_eq!(session.uri_bytes, bytes);
    }
}
