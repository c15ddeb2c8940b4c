use mcp_listen::{
    bus::EdgeId,
    clock::Millis,
    session::{Ask, NewSession, Output, Reply, Sessions},
    wire::SessionCall,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::uri;

use super::{rows::Rows, world::*};

#[test]
fn who_was_not_told_that_it_could_watch_may_not() {
    let new = NewSession {
        capabilities: r#"{"resources":{"listChanged":true}}"#.into(),
        ..of(None)
    };
    let mut world = World::with("s", new);
    for ask in [
        Ask::MayWatch,
        Ask::Watch {
            uri: uri("a"),
            limits: LIMITS,
        },
        Ask::Unwatch(uri("a")),
    ] {
        assert_eq!(world.ask("s", ask), Reply::NotOffered);
    }
    let mut world = World::with("s", of(None));
    assert_eq!(world.ask("s", Ask::MayWatch), Reply::Done);
}

#[test]
fn a_stream_follows_what_its_session_watches() {
    let mut world = World::with("s", of(Some("ann")));
    let as_ann = |world: &mut World, ask| world.ask_as(Some("ann"), "s", ask);
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("b"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [], "no edge follows");
    assert_eq!(
        world.joined("s ann", 1),
        Some(watching("s ann", &["b"], true))
    );
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("a"),
            limits: LIMITS,
        },
    );
    let both = Output::Watch(EdgeId(1), watching("s ann", &["a", "b"], true));
    assert_eq!(world.outputs(), [both]);
    assert!(world.joined_shard("s ann", 7).is_some());
    assert_eq!(
        world.outputs(),
        [Output::Release(EdgeId(1))],
        "it is elsewhere"
    );
    world.left(1);
    as_ann(&mut world, Ask::Unwatch(uri("b")));
    let changed = || SessionCall::Changed("s ann".into());
    assert_eq!(world.outputs(), [tell(7, changed(), true)]);
    assert!(world.joined_shard("s ann", 8).is_some());
    let gone = || SessionCall::Release("s ann".into());
    assert_eq!(world.outputs(), [tell(7, gone(), false)]);
    world.left_shard("s ann", 7);
    as_ann(
        &mut world,
        Ask::Watch {
            uri: uri("c"),
            limits: LIMITS,
        },
    );
    assert_eq!(world.outputs(), [tell(8, changed(), true)]);
    assert_eq!(as_ann(&mut world, Ask::End { is_told: false }), Reply::Done);
    assert_eq!(world.outputs(), [tell(8, gone(), true)]);
}

#[test]
fn a_shard_that_could_not_be_told_is_told_again_until_it_joins() {
    let changed = |is_awaited| tell(7, SessionCall::Changed("s".into()), is_awaited);
    let mut world = World::with("s", of(None));
    world.joined_shard("s", 7);
    let ready = Ask::Initialized { is_told: false };
    assert_eq!(world.ask("s", ready.clone()), Reply::Done);
    assert_eq!(world.outputs(), [changed(true)]);
    assert_eq!(world.ask("s", ready.clone()), Reply::Done);
    assert_eq!(world.outputs(), [changed(true)], "whoever asks again waits");
    // The call fails, and the object is reset.
    let former = core::mem::replace(&mut world.sessions, Sessions::new(Rows::default()));
    world.sessions = Sessions::new(former.into_store());
    for _ in 0..2 {
        world.now = world.now + IDLE + Millis(1);
        world.sessions.sweep(world.now).unwrap();
        assert_eq!(world.outputs(), [changed(false)]);
    }
    let told = world.joined_shard("s", 7);
    assert_eq!(told, Some(watching("s", &[], false)));
    world.now = world.now + IDLE + Millis(1);
    world.sessions.sweep(world.now).unwrap();
    assert_eq!(world.ask("s", ready), Reply::Done);
    assert_eq!(world.outputs(), [], "it knows");
}

#[test]
fn whoever_asks_for_the_same_again_waits_for_the_shard_too() {
    let changed = || tell(7, SessionCall::Changed("s".into()), true);
    let mut world = World::with("s", of(None));
    world.joined_shard("s", 7);
    for _ in 0..2 {
        assert_eq!(world.watch("s", "a"), Reply::Done);
        assert_eq!(world.outputs(), [changed()]);
    }
    for _ in 0..2 {
        assert_eq!(world.ask("s", Ask::Unwatch(uri("a"))), Reply::Done);
        assert_eq!(world.outputs(), [changed()]);
    }
    world.joined("s", 1);
    assert_eq!(
        world.outputs(),
        [tell(7, SessionCall::Release("s".into()), false)]
    );
    assert_eq!(world.watch("s", "b"), Reply::Done);
    let here = Output::Watch(EdgeId(1), watching("s", &["b"], true));
    assert_eq!(world.outputs(), [here], "the shard no longer matters");
}

#[test]
fn a_second_stream_is_refused_unless_it_resumes() {
    let mut world = World::with("s", of(None));
    world.watch("s", "a");
    let open = |resumes| Ask::Open { resumes };
    let opens = Reply::Open {
        capabilities: r#"{"resources":{"subscribe":true}}"#.into(),
        since: "0-e".into(),
        watched: vec![uri("a")],
    };
    assert_eq!(world.ask("s", open(false)), opens);
    world.joined("s", 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    assert_eq!(world.ask("s", open(true)), opens);
    world.joined("s", 2);
    assert_eq!(world.outputs(), [Output::Release(EdgeId(1))]);
    world.left(1);
    assert_eq!(
        world.ask("s", open(false)),
        Reply::Taken,
        "the second is there"
    );
    world.left(2);
    assert_eq!(world.ask("s", open(false)), opens);
    world.joined_shard("s", 1);
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
    world.sessions.handle_shard_emptied(1, world.now).unwrap();
    assert_eq!(world.ask("s", open(false)), opens);
    assert_eq!(
        world
            .sessions
            .restore("s", EdgeId(3))
            .map(|it| it.is_some()),
        Ok(true)
    );
    assert_eq!(world.ask("s", open(false)), Reply::Taken);
}
