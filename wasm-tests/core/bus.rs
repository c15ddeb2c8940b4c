use mcp_listen::{
    bus::{Bus, EdgeId, Persist, Received},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    limits::Limits,
    position::{Cursor, Position},
    root::RootReceived,
    topic::{Topic, Topics},
    wire::{Batch, BusMessage, EdgeMessage, Follow, FollowResponse, ProtocolError, decode_topics},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{any_event, any_filter, check, task, task_id, updated, uri},
    follow,
    log::Log,
};

fn bus() -> Bus {
    Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(7),
    })
}

fn attach(bus: &mut Bus, topics: Vec<Topic>) -> EdgeId {
    let edge = bus.connect();
    follow::accepted(bus, edge, &Follow::fresh(1, topics).to_json());
    edge
}

fn topics(filter: &str) -> Vec<Topic> {
    let filter = SubscriptionFilter::from_json(filter, &Limits::default());
    filter.unwrap().topics()
}

/// Returns the frame for an edge that follows something new.
fn said(bus: &mut Bus, edge: EdgeId, text: &str) -> String {
    let reply = follow::accepted(bus, edge, text);
    let frames = reply.finish(bus);
    assert_eq!(frames.len(), 1);
    frames.into_iter().next().unwrap()
}

#[test]
fn the_reply_to_an_attach_has_the_end_of_the_log() {
    let mut bus = bus();
    let edge = bus.connect();
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    let message = r#"{"v":1,"type":"follow","seq":1,"fresh":true,"add":["tools"]}"#;
    assert_eq!(said(&mut bus, edge, message), follow::attached(1, 8, 8));
    assert_eq!(bus.registry().stored_topics(edge), [r#"{"add":["tools"]}"#]);
    assert_eq!(bus.registry().attached(), 1);
}

#[test]
fn a_publish_gets_the_next_position_and_reaches_its_followers() {
    let mut bus = bus();
    let everything = attach(&mut bus, vec![Topic::Everything]);
    let _nothing = bus.connect();
    let publication = bus.publish(&updated("note://a"));
    assert_eq!(publication.position, Position(8));
    assert_eq!(publication.edges(), [everything]);
    assert_eq!(
        publication.message_for(everything).unwrap(),
        r#"{"v":1,"type":"batch","previous":7,"through":8,"events":[{"position":8,"event":{"kind":"resource_updated","uri":"note://a"}}]}"#
    );
    assert_eq!(bus.publish(&updated("note://a")).position, Position(9));
}

#[test]
fn detached_and_disconnected_edges_get_nothing() {
    let mut bus = bus();
    let one = attach(&mut bus, vec![Topic::Everything]);
    let two = attach(&mut bus, vec![Topic::Everything]);
    let detach = r#"{"v":1,"type":"detach"}"#;
    assert!(matches!(
        bus.handle_message(one, detach),
        Ok(Received::Detached)
    ));
    bus.disconnect(two);
    bus.disconnect(two);
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    assert_eq!(bus.registry().attached(), 0);
    let again = follow::everything(2).to_json();
    let refused = bus.handle_message(one, &again).unwrap_err();
    assert_eq!(refused, ProtocolError::OutOfPlace);
}

#[test]
fn a_second_fresh_follow_replaces_the_first() {
    let mut bus = bus();
    let edge = attach(
        &mut bus,
        topics(r#"{"toolsListChanged":true,"resourceSubscriptions":["a"]}"#),
    );
    assert_eq!(bus.publish(&updated("a")).edges(), [edge]);
    let again = r#"{"v":1,"type":"follow","seq":2,"fresh":true,"add":["prompts"]}"#;
    assert_eq!(said(&mut bus, edge, again), follow::attached(2, 8, 8));
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    assert_eq!(bus.publish(&updated("a")).edges(), []);
    let publication = bus.publish(&ServerEvent::PromptsListChanged);
    assert!(
        publication
            .message_for(edge)
            .unwrap()
            .contains(r#""previous":8,"through":11,"#)
    );
    assert_eq!(bus.registry().attached(), 1);
}

#[test]
fn each_frame_names_the_previous_position_of_its_edge() {
    let mut bus = bus();
    let early = attach(&mut bus, vec![Topic::Everything]);
    bus.publish(&ServerEvent::ToolsListChanged);
    let late = attach(&mut bus, vec![Topic::Everything]);
    let tools = attach(&mut bus, vec![Topic::Tools]);
    bus.publish(&ServerEvent::PromptsListChanged);
    let third = bus.publish(&ServerEvent::ToolsListChanged);
    assert_eq!(third.deliveries.len(), 2);
    for (edge, previous) in [(early, 9), (late, 9), (tools, 8)] {
        let frame = third.message_for(edge).unwrap();
        assert!(frame.contains(&format!(r#""previous":{previous},"#)));
        assert_eq!(bus.registry().last(edge), Some(Position(10)));
    }
    assert_eq!(
        bus.publish(&ServerEvent::ToolsListChanged).deliveries.len(),
        1
    );
}

#[test]
fn one_edge_among_many_is_found() {
    let mut bus = bus();
    for _ in 0..100 {
        attach(&mut bus, vec![Topic::Tools]);
    }
    let one = attach(&mut bus, topics(r#"{"resourceSubscriptions":["a"]}"#));
    for (position, previous) in [(8, 7), (9, 8)] {
        let publication = bus.publish(&updated("a"));
        assert_eq!(publication.edges(), [one]);
        let place = format!(r#""previous":{previous},"through":{position},"#);
        assert!(publication.message_for(one).unwrap().contains(&place));
    }
    assert_eq!(
        bus.publish(&ServerEvent::ToolsListChanged).edges().len(),
        100
    );
}

#[test]
fn a_restored_edge_keeps_its_previous_position() {
    for (last, said) in [(Some(Position(3)), Some(r#""previous":3,"#)), (None, None)] {
        let mut bus = bus();
        let everything = Topics::from_iter([Topic::Everything]);
        let edge = bus.restore(&everything, last, 1);
        let publication = bus.publish(&ServerEvent::ToolsListChanged);
        let frame = publication.message_for(edge).unwrap();
        assert_eq!(frame.contains("previous"), said.is_some());
        assert!(said.is_none_or(|said| frame.contains(said)));
    }
}

#[test]
fn foreign_frames_are_refused_with_a_code() {
    let mut bus = bus();
    let edge = bus.connect();
    for (text, error) in [
        ("", ProtocolError::Malformed),
        ("null", ProtocolError::Malformed),
        (r#"{"type":"follow","seq":1}"#, ProtocolError::Malformed),
        (r#"{"v":1,"seq":1}"#, ProtocolError::Malformed),
        (r#"{"v":1,"type":"follow"}"#, ProtocolError::Malformed),
        (
            r#"{"v":1,"type":"follow","seq":1,"add":["some"]}"#,
            ProtocolError::Malformed,
        ),
        (
            r#"{"v":1,"type":"follow","seq":1,"add":["tools"]}"#,
            ProtocolError::OutOfPlace,
        ),
        (r#"{"v":1,"v":1,"type":"detach"}"#, ProtocolError::Malformed),
        (
            r#"{"v":2,"type":"follow","seq":1}"#,
            ProtocolError::UnknownVersion,
        ),
        (r#"{"v":1,"type":"listen"}"#, ProtocolError::UnknownType),
    ] {
        let refused = bus.handle_message(edge, text).unwrap_err();
        assert_eq!(refused, error, "{text}");
    }
    assert_eq!(bus.registry().attached(), 0);
}

#[test]
fn members_of_a_newer_peer_are_ignored() {
    let text = r#"{"v":1,"type":"batch","through":3,"events":[{"position":3,"event":{"kind":"tools_list_changed","x":1},"x":1},{"position":3,"event":{"kind":"unheard_of"}}],"x":2}"#;
    let batch = Batch {
        epoch: None,
        previous: None,
        through: Position(3),
        at: None,
        events: vec![(Position(3), ServerEvent::ToolsListChanged)],
        is_last: false,
    };
    assert_eq!(BusMessage::from_json(text), Ok(BusMessage::Batch(batch)));
    let text = r#"{"v":1,"type":"follow","seq":1,"add":["tools"],"x":9}"#;
    assert!(EdgeMessage::from_json(text).is_ok());
}

#[test]
fn the_deepest_valid_event_survives_the_frame() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        ServerEvent::from_json(&format!(
            r#"{{"kind":"task_status","task":{{"taskId":"t","status":"working","x":{open}{close}}}}}"#
        ))
    };
    assert!(nested(63).is_err());
    let mut bus = bus();
    let edge = attach(&mut bus, vec![Topic::Everything]);
    let deep = nested(62).unwrap();
    let publication = bus.publish(&deep);
    let read = BusMessage::from_json(publication.message_for(edge).unwrap());
    let Ok(BusMessage::Batch(batch)) = read else {
        panic!("{read:?}");
    };
    assert_eq!(batch.events, [(Position(8), deep)]);
}

#[test]
fn a_task_event_reaches_only_its_followers() {
    let mut bus = bus();
    let task_of = |id: &str| Topic::Task(task_id(id));
    let named = attach(&mut bus, vec![task_of("s"), task_of("t")]);
    let other = Topic::Resource(uri("t"));
    attach(&mut bus, vec![task_of("s"), other]);
    let publication = bus.publish(&task(r#"{"taskId":"t","status":"working"}"#));
    assert_eq!(publication.edges(), [named]);
    assert_eq!(
        publication.message_for(named).unwrap(),
        r#"{"v":1,"type":"batch","previous":7,"through":8,"events":[{"position":8,"event":{"kind":"task_status","task":{"taskId":"t","status":"working"}}}]}"#
    );
}

#[test]
fn the_index_matches_like_each_filter() {
    let strategy = (
        vec((any_filter(), any::<bool>()), 0..8),
        vec(any_event(), 1..8),
    );
    check(strategy, |(edges, events)| {
        let mut bus = bus();
        let mut alive = Vec::new();
        for (filter, stays) in edges {
            let edge = attach(&mut bus, filter.topics());
            if stays {
                alive.push((edge, filter));
            } else {
                bus.disconnect(edge);
            }
        }
        for event in events {
            let expected: Vec<EdgeId> = alive
                .iter()
                .filter(|(_, filter)| filter.accepts(&event))
                .map(|(edge, _)| *edge)
                .collect();
            assert_eq!(bus.publish(&event).edges(), expected);
        }
    });
}

#[test]
fn a_restored_edge_receives_the_same_events_as_before() {
    check((any_filter(), any_event()), |(filter, event)| {
        let mut before = bus();
        let edge = attach(&mut before, filter.topics());
        let mut after = Bus::new(before.cursor().clone());
        let stored = before.registry().stored_topics(edge);
        let texts = stored.iter().map(String::as_str);
        let (last, seq) = (
            before.registry().last(edge),
            before.registry().seq(edge).unwrap(),
        );
        after.restore(&decode_topics(texts).unwrap(), last, seq);
        assert_eq!(
            after.publish(&event).deliveries,
            before.publish(&event).deliveries
        );
        assert_eq!(after.cursor(), before.cursor());
    });
}

#[test]
fn an_overtaken_follow_changes_nothing() {
    let later = Follow::fresh(3, vec![Topic::Tools]);
    let earlier = [
        later.clone(),
        Follow::fresh(2, vec![Topic::Prompts]),
        follow::change(3, &SubscriptionFilter::default(), &tools()),
    ];
    let stale = FollowResponse::Stale { seq: 3 };
    for earlier in earlier {
        let mut bus = bus();
        let edge = bus.connect();
        follow::accepted(&mut bus, edge, &later.to_json());
        let mut woken = Bus::new(bus.cursor().clone());
        let stored = bus.registry().stored_topics(edge);
        let texts = stored.iter().map(String::as_str);
        let (last, seq) = (bus.registry().last(edge), bus.registry().seq(edge).unwrap());
        let restored = woken.restore(&decode_topics(texts).unwrap(), last, seq);
        for (bus, edge) in [(&mut bus, edge), (&mut woken, restored)] {
            let reply = follow::accepted(bus, edge, &earlier.to_json());
            assert_eq!(
                (reply.persist(), reply.replay_after()),
                (&Persist::Nothing, None)
            );
            let said = reply.finish(bus);
            assert_eq!(said, [stale.to_json()]);
            assert_eq!(
                (bus.registry().stored_topics(edge), bus.registry().seq(edge)),
                (stored.clone(), Some(3))
            );
            // A later follow is applied.
            let more = follow::change(4, &SubscriptionFilter::default(), &tools());
            follow::accepted(bus, edge, &more.to_json());
            assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
        }
    }
}

fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

#[test]
fn a_long_replay_comes_in_consecutive_bounded_batches() {
    let names: Vec<String> = (0..200)
        .map(|number| format!("note://{number}/{}", "x".repeat(1_000)))
        .collect();
    let log = Log::default();
    for name in &names {
        log.push(&updated(name));
    }
    let since = Cursor {
        epoch: "e".into(),
        position: Position(3),
    };
    let mut root = log.root();
    let edge = root.bus_mut().connect();
    let text = follow::everything(1).since(&since).to_json();
    let received = root.handle_message(edge, &text, Millis(0));
    let Ok(RootReceived::Followed { frames, .. }) = received else {
        panic!("{received:?}")
    };
    assert_eq!(frames[0], follow::attached(1, 3, 200));
    let (mut received, mut reported) = (Some(Position(3)), Vec::new());
    for frame in &frames[1..] {
        assert!(frame.len() < 68_000, "{}", frame.len());
        let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(frame) else {
            panic!("{frame}");
        };
        assert_eq!(batch.previous, received);
        assert_eq!(batch.events.last().unwrap().0, batch.through);
        received = Some(batch.through);
        reported.extend(batch.events.into_iter().map(|(position, _)| position.0));
    }
    assert_eq!(
        (frames.len(), root.bus().registry().last(edge)),
        (5, Some(Position(200)))
    );
    assert!(reported.into_iter().eq(4..=200));
}
