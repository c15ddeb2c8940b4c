use mcp_listen::{
    bus::{EdgeCloseReason, EdgeId},
    clock::Millis,
    root::RootOutput,
    session::{Ask, NewSession, Reply},
    wire::SessionCall,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{claim, uri};

use super::world::*;

#[test]
fn a_client_that_was_not_offered_subscriptions_may_not_subscribe() {
    let new = NewSession {
        capabilities: r#"{"resources":{"listChanged":true}}"#.into(),
        ..of(None)
    };
    let mut world = World::with("s", new);
    for ask in [
        Ask::MaySubscribe,
        Ask::Subscribe {
            uri: uri("a"),
            limits: LIMITS,
        },
        Ask::Unsubscribe(uri("a")),
    ] {
        assert_eq!(world.ask("s", ask), Reply::NotOffered);
    }
    let mut world = World::with("s", of(None));
    assert_eq!(world.ask("s", Ask::MaySubscribe), Reply::Done);
}

#[test]
fn a_stream_follows_the_subscriptions_of_its_session() {
    let mut world = World::with("s", of(Some("ann")));
    let as_ann = |world: &mut World, ask| world.ask_as(Some("ann"), "s", ask);
    as_ann(
        &mut world,
        Ask::Subscribe {
            uri: uri("b"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [], "no edge follows");
    assert_eq!(
        world.joined("s ann", 1),
        Some(watching("s 1 ann", &["b"], true))
    );
    as_ann(
        &mut world,
        Ask::Subscribe {
            uri: uri("a"),
            limits: LIMITS,
        },
    );
    let both = send(1, &["a", "b"], true);
    assert_eq!(world.outputs(), [both]);
    assert!(world.joined_shard("s ann", 7).is_some());
    assert_eq!(
        world.outputs(),
        [RootOutput::Close(EdgeId(1), EdgeCloseReason::Over)],
        "another one is elsewhere"
    );
    world.left(1);
    as_ann(&mut world, Ask::Unsubscribe(uri("b")));
    let changed = |stream| SessionCall::Changed(claim(&format!("s {stream} ann")));
    assert_eq!(world.outputs(), [call(7, changed(2), true)]);
    assert!(world.joined_shard("s ann", 8).is_some());
    let gone = |stream| SessionCall::Release(claim(&format!("s {stream} ann")));
    assert_eq!(world.outputs(), [call(7, gone(3), false)]);
    world.left_shard("s 2 ann", 7);
    as_ann(
        &mut world,
        Ask::Subscribe {
            uri: uri("c"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [call(8, changed(3), true)]);
    assert_eq!(
        as_ann(
            &mut world,
            Ask::End {
                is_forwarded: false
            }
        ),
        Reply::Done
    );
    assert_eq!(world.outputs(), [call(8, gone(4), true)]);
}

#[test]
fn a_call_to_a_shard_is_repeated_until_it_joins() {
    let changed = |is_awaited| call(7, SessionCall::Changed(claim("s 1")), is_awaited);
    let mut world = World::with("s", of(None));
    world.joined_shard("s", 7);
    let ready = Ask::Initialized {
        is_forwarded: false,
    };
    assert_eq!(world.ask("s", ready.clone()), Reply::Done);
    assert_eq!(world.outputs(), [changed(true)]);
    assert_eq!(world.ask("s", ready.clone()), Reply::Done);
    assert_eq!(world.outputs(), [changed(true)], "a repeated request waits");
    // The call fails, and the object is reset.
    world.reset();
    for _ in 0..2 {
        world.now = world.now + IDLE + Millis(1);
        world.sweep();
        assert_eq!(world.outputs(), [changed(false)]);
    }
    let reported = world.joins_shard(&claim("s 1"), 7);
    assert_eq!(reported, Some(watching("s 1", &[], false)));
    world.now = world.now + IDLE + Millis(1);
    world.sweep();
    assert_eq!(world.ask("s", ready), Reply::Done);
    assert_eq!(world.outputs(), [], "it knows");
}

#[test]
fn a_repeated_request_waits_for_the_shard_too() {
    let changed = || call(7, SessionCall::Changed(claim("s 1")), true);
    let mut world = World::with("s", of(None));
    world.joined_shard("s", 7);
    for _ in 0..2 {
        assert_eq!(world.watch("s", "a"), Reply::Done);
        assert_eq!(world.outputs(), [changed()]);
    }
    for _ in 0..2 {
        assert_eq!(world.ask("s", Ask::Unsubscribe(uri("a"))), Reply::Done);
        assert_eq!(world.outputs(), [changed()]);
    }
    world.joined("s", 1);
    assert_eq!(
        world.outputs(),
        [call(7, SessionCall::Release(claim("s 2")), false)]
    );
    assert_eq!(world.watch("s", "b"), Reply::Done);
    let here = send(1, &["b"], true);
    assert_eq!(world.outputs(), [here], "the shard no longer matters");
}

#[test]
fn a_second_stream_is_refused_unless_it_resumes() {
    let mut world = World::with("s", of(None));
    world.watch("s", "a");
    let open = |resumes| Ask::Open { resumes };
    let opens = |stream| Reply::Open {
        capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
        stream,
        since: "0-e".into(),
        subscriptions: vec![uri("a")],
    };
    assert_eq!(world.ask("s", open(false)), opens(1));
    world.joins(&claim("s 1"), 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    assert_eq!(world.ask("s", open(true)), opens(2));
    world.joins(&claim("s 2"), 2);
    let over = RootOutput::Close(EdgeId(1), EdgeCloseReason::Over);
    assert_eq!(world.outputs(), [over]);
    world.left(1);
    assert_eq!(
        world.ask("s", open(false)),
        Reply::Taken,
        "the second is there"
    );
    world.left(2);
    assert_eq!(world.ask("s", open(false)), opens(3));
    world.joins_shard(&claim("s 3"), 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    world.emptied(1);
    assert_eq!(world.ask("s", open(false)), opens(4));
    let restored = world.sessions().restore(&claim("s 3"), EdgeId(3));
    assert_eq!(restored.map(|it| it.is_some()), Ok(true));
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
}

#[test]
fn an_older_stream_does_not_replace_a_newer_one() {
    for is_at_shard in [false, true] {
        let mut world = World::with("s", of(None));
        let older = world.open("s");
        if is_at_shard {
            world.joined_shard("s", 7);
        } else {
            world.joined("s", 1);
        }
        assert_eq!(world.joins(&older, 2), None);
        assert_eq!(world.joins_shard(&older, 8), None);
        assert_eq!(world.joins_shard(&older, 7), None);
        world.left_shard("s 1", 7);
        let open = Ask::Open { resumes: false };
        assert_eq!(world.ask("s", open), Reply::Taken, "the newer one is there");
        assert_eq!(world.outputs(), []);
        world.reset();
        assert_eq!(world.sessions().restore(&older, EdgeId(2)), Ok(None));
        world.emptied(7);
        assert_eq!(world.joins(&older, 2), None, "its client has given it up");
    }
}

#[test]
fn a_stream_attaches_only_if_it_was_opened() {
    let mut world = World::with("s", of(None));
    for text in ["s 0", "s 1"] {
        assert_eq!(world.joins(&claim(text), 1), None);
        assert_eq!(world.joins_shard(&claim(text), 7), None);
    }
    world.open("s");
    assert!(world.joins(&claim("s 1"), 1).is_some());
    assert_eq!(world.joins(&claim("s 2"), 2), None);
}

/// The edge may have abandoned the later connection: then the stream is on the other one.
#[test]
fn a_reattached_stream_is_lost_at_its_former_place() {
    let mut world = World::with("s", of(None));
    let stream = world.open("s");
    for edge in [1, 2, 1] {
        assert!(world.joins(&stream, edge).is_some());
    }
    let lost = |edge| RootOutput::Close(EdgeId(edge), EdgeCloseReason::Lost);
    assert_eq!(world.outputs(), [lost(1), lost(2)]);
    assert!(world.joins_shard(&stream, 7).is_some());
    assert_eq!(world.outputs(), [lost(1)]);
    assert!(world.joins_shard(&stream, 7).is_some());
    assert_eq!(world.outputs(), []);
    assert!(world.joins(&stream, 2).is_some());
    let release = SessionCall::Release(stream);
    assert_eq!(world.outputs(), [call(7, release, false)]);
}

#[test]
fn a_release_is_repeated_until_confirmed() {
    let mut world = World::with("s", of(None));
    world.joined_shard("s", 7);
    world.joined_shard("s", 8);
    let older = SessionCall::Release(claim("s 2"));
    assert_eq!(world.outputs(), [call(7, older.clone(), false)]);
    world.end("s");
    let all = SessionCall::Release(claim("s 3"));
    assert_eq!(world.outputs(), [call(8, all.clone(), true)]);
    // The calls fail, and the object is reset.
    world.reset();
    let again = |world: &mut World| {
        world.sweep();
        world.outputs()
    };
    let both = [call(7, older.clone(), false), call(8, all.clone(), false)];
    assert_eq!(again(&mut world), both, "although the session is over");
    world.sessions().handle_confirmed(7, &older).unwrap();
    assert_eq!(again(&mut world), [call(8, all, false)]);
    world.emptied(8);
    assert_eq!(again(&mut world), [], "none of its streams is there");
}

#[test]
fn a_stream_that_returns_to_a_shard_is_not_released_there() {
    let mut world = World::with("s", of(None));
    let stream = world.open("s");
    for shard in [7, 8, 7] {
        assert!(world.joins_shard(&stream, shard).is_some());
    }
    let release = |shard| call(shard, SessionCall::Release(claim("s 1")), false);
    assert_eq!(world.outputs(), [release(7), release(8)]);
    world.sweep();
    assert_eq!(world.outputs(), [release(8)]);
}

#[test]
fn a_stream_that_has_moved_does_not_end_with_its_former_shard() {
    let mut world = World::with("s", of(None));
    let stream = world.open("s");
    for shard in [7, 8] {
        assert!(world.joins_shard(&stream, shard).is_some());
    }
    let open = Ask::Open { resumes: false };
    world.left_shard("s 1", 7);
    assert_eq!(world.ask("s", open.clone()), Reply::Taken);
    world.left_shard("s 1", 8);
    assert!(matches!(world.ask("s", open), Reply::Open { .. }));
}

#[test]
fn an_edge_whose_stream_has_moved_to_a_shard_is_not_restored() {
    let mut world = World::with("s", of(None));
    let stream = world.open("s");
    assert!(world.joins(&stream, 1).is_some());
    assert!(world.joins_shard(&stream, 7).is_some());
    world.reset();
    assert_eq!(world.sessions().restore(&stream, EdgeId(1)), Ok(None));
    world.left(1);
    let open = Ask::Open { resumes: false };
    assert_eq!(world.ask("s", open), Reply::Taken, "the stream is there");
}
