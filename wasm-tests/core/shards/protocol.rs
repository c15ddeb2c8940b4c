use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    position::{Cursor, Position},
    topic::Topic,
    wire::{
        Backlog, Batch, BatchAck, BusMessage, Claim, EdgeMessage, Follow, FollowResponse, Followed,
        ProtocolError, SessionCall, SessionInterest,
    },
};
use proptest::{collection::vec, option, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, any_filter, any_uri, check, task},
    follow,
};

fn any_position() -> impl Strategy<Value = Position> {
    (0..1u64 << 53).prop_map(Position)
}

fn any_keys() -> impl Strategy<Value = Vec<Topic>> {
    prop_oneof![
        1 => Just(vec![Topic::Everything]),
        4 => any_filter().prop_map(|filter| filter.topics()),
    ]
}

fn any_claim() -> impl Strategy<Value = Claim> {
    let principal = option::of("\\PC{0,8}".prop_map(Into::into));
    ("[^ \\pC]{0,8}", any::<u64>(), principal).prop_map(|(session, stream, principal)| Claim {
        session: session.into(),
        stream,
        principal,
    })
}

fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
    vec(any_claim(), 0..3)
}

fn any_follow() -> impl Strategy<Value = Follow> {
    let numbers = (0..1u64 << 53, any::<u32>(), any::<[bool; 2]>());
    let sessions = (any_claims(), any_claims());
    let topics = (any_keys(), any_keys());
    let epoch = option::of("\\PC{0,8}".prop_map(Box::<str>::from));
    let since = (option::of(any_position()), epoch);
    let rest = (topics, since, sessions);
    (numbers, rest).prop_map(
        |((seq, edges, [is_fresh, is_low]), ((add, drop), (since, epoch), (joined, left)))| {
            Follow {
                seq,
                is_fresh,
                edges,
                is_low,
                add,
                drop,
                since,
                epoch,
                joined,
                left,
            }
        },
    )
}

fn any_events() -> impl Strategy<Value = Vec<(Position, ServerEvent)>> {
    vec((any_position(), any_event()), 0..4)
}

fn any_response() -> impl Strategy<Value = FollowResponse> {
    let cursor = ("\\PC{0,8}", any_position());
    let missed = option::of((any_position(), any_events()));
    let of_session = (any_claim(), vec(any_uri(), 0..3), any::<bool>());
    let of_session = of_session.prop_map(|(session, uris, is_paused)| SessionInterest {
        session,
        uris,
        is_paused,
    });
    let watches = vec(of_session, 0..3);
    let room = option::of(0..1usize << 31);
    let seq = 0..1u64 << 53;
    let followed = (seq, cursor, any::<bool>(), missed, watches, room).prop_map(
        |(seq, (epoch, position), is_settled, missed, watches, room)| Followed {
            seq,
            cursor: Cursor {
                epoch: epoch.into(),
                position,
            },
            is_settled,
            missed: missed.map(|(after, events)| Backlog { after, events }),
            interests: watches,
            room,
        },
    );
    let full = (0..1u64 << 53, option::of(0..1usize << 31))
        .prop_map(|(seq, room)| FollowResponse::Full { seq, room });
    prop_oneof![
        4 => followed.prop_map(FollowResponse::Followed),
        1 => (0..1u64 << 53).prop_map(|seq| FollowResponse::Stale { seq }),
        1 => full,
        1 => Just(FollowResponse::Unknown),
    ]
}

#[test]
fn messages_round_trip_through_json() {
    let batch = (
        option::of(any_position()),
        any_events(),
        any_position(),
        any::<bool>(),
    );
    let ack = (any::<u32>(), any::<bool>());
    let all = (any_follow(), any_response(), batch, ack);
    check(
        all,
        |(follow, response, (previous, events, through, is_last), ack)| {
            let text = follow.to_json();
            assert_eq!(Follow::from_json(&text), Ok(follow.clone()));
            assert_eq!(
                EdgeMessage::from_json(&text),
                Ok(EdgeMessage::Follow(follow))
            );
            let text = response.to_json();
            assert_eq!(FollowResponse::from_json(&text), Ok(response.clone()));
            assert_eq!(
                BusMessage::from_json(&text),
                Ok(BusMessage::Response(response))
            );
            let (edges, is_retired) = ack;
            let ack = BatchAck { edges, is_retired };
            assert_eq!(BatchAck::from_json(&ack.to_json()), Ok(ack));
            let at = previous.map(|Position(at)| Millis(at));
            let texts = events
                .iter()
                .map(|(at, event)| (*at, Arc::from(event.to_json())));
            let texts: Vec<(Position, Arc<str>)> = texts.collect();
            let epoch: Box<str> = "e".into();
            let end = Cursor {
                epoch: epoch.clone(),
                position: through,
            };
            let reported = || texts.iter().map(|(at, text)| (*at, text.clone()));
            let text = Batch::for_shard(&end, previous, at, reported(), is_last);
            let batch = Batch {
                epoch: Some(epoch),
                previous,
                through,
                at,
                events,
                is_last,
            };
            assert_eq!(Batch::from_json(&text), Ok(batch.clone()));
            let text = Batch::for_edge(previous, through, at, reported());
            let batch = Batch {
                epoch: None,
                is_last: false,
                ..batch
            };
            assert_eq!(BusMessage::from_json(&text), Ok(BusMessage::Batch(batch)));
        },
    );
}

#[test]
fn session_calls_round_trip_through_json() {
    check(any_claims(), |sessions| {
        for session in sessions {
            for call in [
                SessionCall::Changed(session.clone()),
                SessionCall::Release(session),
            ] {
                assert_eq!(SessionCall::from_json(&call.to_json()), Ok(call));
            }
        }
    });
}

#[test]
fn topics_have_distinct_texts() {
    check((any_event(), any_filter()), |(event, filter)| {
        let topics = follow::topics(&filter);
        assert_eq!(topics.contains(&Topic::of(&event)), filter.accepts(&event));
        for topic in topics.iter() {
            assert_eq!(Topic::from_text(&topic.to_text()).as_ref(), Some(topic));
        }
    });
    for text in ["", "tool", "resource:", "task:", "other:x", "resource:\n"] {
        assert_eq!(Topic::from_text(text), None, "{text}");
    }
}

#[test]
fn members_of_a_newer_peer_are_ignored() {
    let text = r#"{"v":1,"type":"ack","edges":3,"unknown-kind":{}}"#;
    let ack = BatchAck {
        edges: 3,
        is_retired: false,
    };
    assert_eq!(BatchAck::from_json(text), Ok(ack));
    let text = r#"{"v":1,"type":"follow","seq":1,"edges":0,"unknown-kind":1}"#;
    assert!(Follow::from_json(text).is_ok());
}

#[test]
fn foreign_messages_are_refused_with_a_code() {
    for (text, error) in [
        ("", ProtocolError::Malformed),
        ("null", ProtocolError::Malformed),
        (r#"{"type":"batch"}"#, ProtocolError::Malformed),
        (r#"{"v":1}"#, ProtocolError::Malformed),
        (r#"{"v":1,"v":1,"type":"batch"}"#, ProtocolError::Malformed),
        (r#"{"v":2,"type":"batch"}"#, ProtocolError::UnknownVersion),
        (r#"{"v":1,"type":"new"}"#, ProtocolError::UnknownType),
    ] {
        assert_eq!(Batch::from_json(text), Err(error), "{text}");
        assert_eq!(Follow::from_json(text), Err(error), "{text}");
        assert_eq!(BatchAck::from_json(text), Err(error), "{text}");
    }
    for text in [
        r#"{"v":1,"type":"batch","epoch":"e","through":1,"previous":"x"}"#,
        r#"{"v":1,"type":"batch","epoch":"e"}"#,
        r#"{"v":1,"type":"batch","epoch":1,"through":1}"#,
        r#"{"v":1,"type":"batch","epoch":"e","through":1,"events":[{}]}"#,
        r#"{"v":1,"type":"batch","epoch":"e","through":1,"events":[{"event":{"kind":"tools_list_changed"}}]}"#,
    ] {
        assert_eq!(
            Batch::from_json(text),
            Err(ProtocolError::Malformed),
            "{text}"
        );
    }
    for text in [
        r#"{"v":1,"type":"follow","seq":1,"edges":0,"add":["x"]}"#,
        r#"{"v":1,"type":"follow","seq":1,"edges":0,"add":[1]}"#,
        r#"{"v":1,"type":"follow","seq":1,"edges":4294967296}"#,
        r#"{"v":1,"type":"follow","seq":1,"edges":0,"joined":[1]}"#,
    ] {
        assert_eq!(
            Follow::from_json(text),
            Err(ProtocolError::Malformed),
            "{text}"
        );
    }
    for text in [r#"{"v":1,"type":"watch"}"#, r#"{"v":1,"type":"changed"}"#] {
        assert!(SessionCall::from_json(text).is_err(), "{text}");
    }
    assert_eq!(
        FollowResponse::from_json(r#"{"v":1,"type":"ack","edges":0}"#),
        Err(ProtocolError::UnknownType)
    );
}

#[test]
fn the_deepest_valid_event_survives_a_batch() {
    let (open, close) = ("[".repeat(61), "]".repeat(61));
    let event = task(&format!(
        r#"{{"taskId":"t","status":"working","x":{open}{close}}}"#
    ));
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(1),
    };
    let events = [(Position(1), event.to_json())];
    let text = Batch::for_shard(&cursor, None, None, events.into_iter(), false);
    assert_eq!(
        Batch::from_json(&text).unwrap().events,
        [(Position(1), event)]
    );
}
