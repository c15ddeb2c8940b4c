use mcp_listen::{
    bus::{EdgeCloseReason, EdgeId},
    clock::Millis,
    root::RootOutput,
    session::{Ask, Claim, Excess, NewSession, ROOT, Reply},
    wire::SessionCall,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::claim;

use super::world::*;

#[test]
fn a_session_belongs_to_its_principal() {
    let mut world = World::with("s", of(Some("ann")));
    for other in [None, Some("bob"), Some("")] {
        assert_eq!(world.ask_as(other, "s", Ask::Use), Reply::Unknown);
        assert_eq!(
            world.ask_as(
                other,
                "s",
                Ask::End {
                    is_forwarded: false
                }
            ),
            Reply::Unknown
        );
    }
    assert_eq!(world.ask_as(Some("ann"), "s", Ask::Use), Reply::Done);
    assert_eq!(world.ask_as(Some("ann"), "t", Ask::Use), Reply::Unknown);
    assert_eq!(world.joined("s", 1), None, "nor is its stream another's");
    assert_eq!(world.joined("s bob", 2), None);
    assert_eq!(world.outputs(), []);
    assert_eq!(world.joined_shard("s bob", 1), None);
    assert!(world.joined("s ann", 3).is_some());
}

#[test]
fn an_idle_session_ends() {
    let mut world = World::with("s", of(None));
    world.now = world.now + IDLE;
    assert!(world.is_there("s"), "its span to the last");
    world.now = world.now + IDLE + Millis(1);
    assert!(!world.is_there("s"));
    assert_eq!(world.sessions().count(), Ok(1), "not swept yet");
    world.sweep();
    assert_eq!(world.sessions().count(), Ok(0));
}

#[test]
fn the_idle_time_starts_at_the_end_of_the_stream() {
    for is_at_shard in [false, true] {
        let mut world = World::with("s", of(None));
        if is_at_shard {
            world.joined_shard("s", 3);
        } else {
            world.joined("s", 1);
        }
        world.now = world.now + Millis(5_000);
        world.sweep();
        assert_eq!(world.sessions().count(), Ok(1));
        world.now = world.now + Millis(5_000);
        if is_at_shard {
            world.left_shard("s 1", 3);
        } else {
            world.left(1);
        }
        world.now = world.now + IDLE;
        world.sweep();
        assert!(world.is_there("s"));
        world.now = world.now + IDLE + Millis(1);
        world.sweep();
        assert_eq!(world.sessions().count(), Ok(0));
    }
}

#[test]
fn requests_in_quick_succession_are_counted_without_a_write() {
    let mut world = World::with("s", of(None));
    for _ in 0..20 {
        world.now = world.now + Millis(5);
        assert!(world.is_there("s"));
    }
    assert_eq!(world.rows.writes(), 1);
    world.now = world.now + IDLE;
    assert!(
        world.is_there("s"),
        "used 1,000 ms ago, written 1,100 ms ago"
    );
    world.sweep();
    assert_eq!(world.sessions().count(), Ok(1));
}

#[test]
fn the_server_is_updated_first() {
    let new = NewSession {
        upstream_id: Some("theirs".into()),
        ..of(None)
    };
    let mut world = World::with("s", new);
    let theirs = || Reply::UpstreamId(Some("theirs".into()));
    assert_eq!(world.ask("s", Ask::UpstreamId), theirs());
    for ask in [
        Ask::Initialized {
            is_forwarded: false,
        },
        Ask::End {
            is_forwarded: false,
        },
    ] {
        assert_eq!(world.ask("s", ask), Reply::ForwardFirst("theirs".into()));
    }
    let held = world.joined("s", 1);
    assert_eq!(
        held,
        Some(watching("s 1", &[], true)),
        "nothing has changed"
    );
    let reported = Ask::Initialized { is_forwarded: true };
    assert_eq!(world.ask("s", reported.clone()), Reply::Done);
    let released = send(1, &[], false);
    assert_eq!(world.outputs(), [released]);
    assert_eq!(world.ask("s", reported), Reply::Done);
    assert_eq!(world.outputs(), [], "once");
    assert_eq!(world.ask("s", Ask::End { is_forwarded: true }), Reply::Done);
    assert_eq!(
        world.outputs(),
        [RootOutput::Close(EdgeId(1), EdgeCloseReason::Over)]
    );
    assert_eq!(world.ask("s", Ask::UpstreamId), Reply::Unknown);

    let mut world = World::with("s", of(None));
    assert_eq!(world.ask("s", Ask::UpstreamId), Reply::UpstreamId(None));
    world.end("s");
}

#[test]
fn a_session_is_restored_from_its_record() {
    let mut world = World::with("s", of(Some("ann")));
    assert!(world.begin("t", of(None)));
    world.watch("t", "a");
    let stream = world.open("s ann");
    world.joined_shard("t", 4);
    world.reset();
    assert_eq!(world.sessions().count(), Ok(2));
    let restored = world.sessions().restore(&stream, EdgeId(9)).unwrap();
    assert_eq!(restored, Some(watching("s 1 ann", &[], true)));
    let unknown = world.sessions().restore(&claim("u 1"), EdgeId(8));
    assert_eq!(unknown, Ok(None));
    let open = Ask::Open { resumes: false };
    assert_eq!(world.ask_as(Some("ann"), "s", open.clone()), Reply::Taken);
    assert_eq!(world.ask("t", open), Reply::Taken);
    assert_eq!(world.watch("t", "b"), Reply::Done);
    let changed = SessionCall::Changed(claim("t 1"));
    assert_eq!(world.outputs(), [call(4, changed, true)]);
    assert_eq!(
        world.watch("t", &"c".repeat(999)),
        Reply::Full(Excess::Uris(2))
    );
}

#[test]
fn sessions_with_unknown_streams_get_their_idle_time() {
    let mut world = World::with("s", of(None));
    assert!(world.begin("t", of(None)));
    world.joined("s", 1);
    world.joined("t", 2);
    world.now = world.now + Millis(9_000);
    world.reset();
    world.sessions().restore(&claim("t 1"), EdgeId(2)).unwrap();
    let begun = world.now;
    world.emptied(ROOT);
    world.now = begun + IDLE;
    world.sweep();
    assert_eq!(world.sessions().count(), Ok(2));
    // A bus that restarts repeatedly keeps none of them.
    world.reset();
    world.sessions().restore(&claim("t 1"), EdgeId(2)).unwrap();
    world.emptied(ROOT);
    world.now = world.now + Millis(1);
    world.sweep();
    assert!(!world.is_there("s"));
    assert!(world.is_there("t"), "its stream is there");
}

#[test]
fn a_claim_is_one_text() {
    for (principal, text) in [
        (None, "s 7"),
        (Some(""), "s 7 "),
        (Some("ann"), "s 7 ann"),
        (Some("a b"), "s 7 a b"),
    ] {
        let claim = Claim {
            session: "s".into(),
            stream: 7,
            principal: principal.map(Into::into),
        };
        assert_eq!(claim.to_text(), text);
        assert_eq!(Claim::from_text(text), Some(claim));
    }
    for text in ["", "s", "s ", "s ann", "s -1"] {
        assert_eq!(Claim::from_text(text), None, "{text:?}");
    }
}
