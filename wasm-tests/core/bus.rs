use mcp_listen::{
    bus::{
        Attach, Bus, BusMessage, EdgeId, EdgeMessage, Interest, Mark, Position, ProtocolError,
        Received,
    },
    clock::Millis,
    event::ServerEvent,
};
use proptest::{collection::vec, option, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, check, task, updated};

fn bus() -> Bus {
    Bus::new(Mark {
        epoch: "e".into(),
        position: Position(7),
    })
}

fn attach(bus: &mut Bus, interest: Interest) -> EdgeId {
    let edge = bus.connect();
    let received = bus.handle_message(edge, &EdgeMessage::Attach(Attach::new(interest)).to_json());
    assert!(matches!(received, Ok(Received::Attached { .. })));
    edge
}

#[test]
fn an_attach_is_answered_with_the_end_of_the_log() {
    let mut bus = bus();
    let edge = bus.connect();
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    let message = r#"{"v":1,"type":"attach","interest":{"toolsListChanged":true}}"#;
    let Ok(Received::Attached {
        answer, interest, ..
    }) = bus.handle_message(edge, message)
    else {
        panic!("not attached");
    };
    assert_eq!(
        answer,
        r#"{"v":1,"type":"attached","epoch":"e","position":8,"head":8,"adjust":true,"since":null}"#
    );
    assert_eq!(interest.to_json(), r#"{"toolsListChanged":true}"#);
    assert_eq!(bus.attached(), 1);
}

#[test]
fn a_publish_gets_the_next_position_and_goes_to_whom_it_concerns() {
    let mut bus = bus();
    let everything = attach(&mut bus, Interest::Everything);
    let _nothing = bus.connect();
    let publication = bus.publish(&updated("note://a"));
    assert_eq!(publication.position, Position(8));
    assert_eq!(publication.edges(), [everything]);
    assert_eq!(
        publication.message_for(everything).unwrap(),
        r#"{"v":1,"type":"event","position":8,"previous":7,"event":{"kind":"resource_updated","uri":"note://a"}}"#
    );
    assert_eq!(bus.publish(&updated("note://a")).position, Position(9));
}

#[test]
fn detached_and_disconnected_edges_get_nothing() {
    let mut bus = bus();
    let one = attach(&mut bus, Interest::Everything);
    let two = attach(&mut bus, Interest::Everything);
    assert_eq!(
        bus.handle_message(one, r#"{"v":1,"type":"detach"}"#),
        Ok(Received::Detached)
    );
    bus.disconnect(two);
    bus.disconnect(two);
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    assert_eq!(bus.attached(), 0);
    assert_eq!(
        bus.handle_message(one, r#"{"v":1,"type":"attach","interest":"everything"}"#),
        Err(ProtocolError::OutOfPlace)
    );
}

#[test]
fn a_second_attach_takes_the_place_of_the_first() {
    let mut bus = bus();
    let edge = attach(
        &mut bus,
        Interest::from_json(r#"{"toolsListChanged":true,"resourceSubscriptions":["a"]}"#).unwrap(),
    );
    assert_eq!(bus.publish(&updated("a")).edges(), [edge]);
    let again = r#"{"v":1,"type":"attach","interest":{"promptsListChanged":true}}"#;
    let Ok(Received::Attached { answer, .. }) = bus.handle_message(edge, again) else {
        panic!("not attached");
    };
    assert_eq!(
        answer,
        r#"{"v":1,"type":"attached","epoch":"e","position":8,"head":8,"adjust":true,"since":null}"#
    );
    assert_eq!(bus.publish(&ServerEvent::ToolsListChanged).edges(), []);
    assert_eq!(bus.publish(&updated("a")).edges(), []);
    let publication = bus.publish(&ServerEvent::PromptsListChanged);
    assert!(
        publication
            .message_for(edge)
            .unwrap()
            .contains(r#""position":11,"previous":8,"#)
    );
    assert_eq!(bus.attached(), 1);
}

#[test]
fn each_edge_is_told_what_it_was_sent_before() {
    let mut bus = bus();
    let early = attach(&mut bus, Interest::Everything);
    bus.publish(&ServerEvent::ToolsListChanged);
    let late = attach(&mut bus, Interest::Everything);
    let tools = attach(
        &mut bus,
        Interest::from_json(r#"{"toolsListChanged":true}"#).unwrap(),
    );
    bus.publish(&ServerEvent::PromptsListChanged);
    let third = bus.publish(&ServerEvent::ToolsListChanged);
    assert_eq!(third.deliveries.len(), 2);
    for (edge, previous) in [(early, 9), (late, 9), (tools, 8)] {
        let frame = third.message_for(edge).unwrap();
        assert!(frame.contains(&format!(r#""previous":{previous},"#)));
        assert_eq!(bus.last(edge), Some(Position(10)));
    }
    assert_eq!(
        bus.publish(&ServerEvent::ToolsListChanged).deliveries.len(),
        1
    );
}

#[test]
fn one_edge_among_many_is_found() {
    let mut bus = bus();
    let interest = |text: &str| Interest::from_json(text).unwrap();
    for _ in 0..100 {
        attach(&mut bus, interest(r#"{"toolsListChanged":true}"#));
    }
    let one = attach(&mut bus, interest(r#"{"resourceSubscriptions":["a"]}"#));
    for (position, previous) in [(8, 7), (9, 8)] {
        let publication = bus.publish(&updated("a"));
        assert_eq!(publication.edges(), [one]);
        let place = format!(r#""position":{position},"previous":{previous},"#);
        assert!(publication.message_for(one).unwrap().contains(&place));
    }
    assert_eq!(
        bus.publish(&ServerEvent::ToolsListChanged).edges().len(),
        100
    );
}

#[test]
fn a_restored_edge_is_told_what_it_was_sent_before() {
    for (last, said) in [(Some(Position(3)), Some(r#""previous":3,"#)), (None, None)] {
        let mut bus = bus();
        let edge = bus.restore(&Interest::Everything, last);
        let publication = bus.publish(&ServerEvent::ToolsListChanged);
        let frame = publication.message_for(edge).unwrap();
        assert_eq!(frame.contains("previous"), said.is_some());
        assert!(said.is_none_or(|said| frame.contains(said)));
    }
}

#[test]
fn frames_that_are_not_ours_are_refused_by_name() {
    let mut bus = bus();
    let edge = bus.connect();
    for (text, error) in [
        ("", ProtocolError::Malformed),
        ("null", ProtocolError::Malformed),
        (
            r#"{"type":"attach","interest":"everything"}"#,
            ProtocolError::Malformed,
        ),
        (
            r#"{"v":1,"interest":"everything"}"#,
            ProtocolError::Malformed,
        ),
        (r#"{"v":1,"type":"attach"}"#, ProtocolError::Malformed),
        (
            r#"{"v":1,"type":"attach","interest":"some"}"#,
            ProtocolError::Malformed,
        ),
        (r#"{"v":1,"v":1,"type":"detach"}"#, ProtocolError::Malformed),
        (
            r#"{"v":2,"type":"attach","interest":"everything"}"#,
            ProtocolError::UnknownVersion,
        ),
        (r#"{"v":1,"type":"listen"}"#, ProtocolError::UnknownType),
    ] {
        assert_eq!(bus.handle_message(edge, text), Err(error), "{text}");
    }
    assert_eq!(bus.attached(), 0);
}

#[test]
fn members_of_a_newer_peer_are_ignored() {
    let text = r#"{"v":1,"type":"event","position":3,"event":{"kind":"tools_list_changed","x":1},"after":2}"#;
    let event = ServerEvent::ToolsListChanged;
    assert_eq!(
        BusMessage::from_json(text),
        Ok(BusMessage::Event {
            position: Position(3),
            previous: None,
            at: None,
            event
        })
    );
    let text = r#"{"v":1,"type":"attach","interest":{"toolsListChanged":true,"x":1},"since":9}"#;
    assert!(EdgeMessage::from_json(text).is_ok());
}

#[test]
fn the_deepest_event_that_is_one_survives_the_frame() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        ServerEvent::from_json(&format!(
            r#"{{"kind":"task_status","task":{{"taskId":"t","status":"working","x":{open}{close}}}}}"#
        ))
    };
    assert!(nested(63).is_err());
    let mut bus = bus();
    let edge = attach(&mut bus, Interest::Everything);
    let publication = bus.publish(&nested(62).unwrap());
    assert!(matches!(
        BusMessage::from_json(publication.message_for(edge).unwrap()),
        Ok(BusMessage::Event { .. })
    ));
}

#[test]
fn a_task_goes_to_those_who_named_it() {
    let mut bus = bus();
    let interest = |text: &str| Interest::from_json(text).unwrap();
    let named = attach(&mut bus, interest(r#"{"taskIds":["s","t"]}"#));
    attach(
        &mut bus,
        interest(r#"{"taskIds":["s"],"resourceSubscriptions":["t"]}"#),
    );
    let publication = bus.publish(&task(r#"{"taskId":"t","status":"working"}"#));
    assert_eq!(publication.edges(), [named]);
    assert_eq!(
        publication.message_for(named).unwrap(),
        r#"{"v":1,"type":"event","position":8,"previous":7,"event":{"kind":"task_status","task":{"taskId":"t","status":"working"}}}"#
    );
}

#[test]
fn every_message_survives_the_way_to_json_and_back() {
    check(
        (
            (any_event(), any_filter()),
            (
                0..1u64 << 53,
                option::of(0..1u64 << 53),
                option::of(0..1u64 << 53),
            ),
            "\\PC{0,8}",
        ),
        |((event, filter), (position, previous, at), epoch)| {
            let position = Position(position);
            let previous = previous.map(Position);
            let attached = BusMessage::Attached(Mark {
                epoch: epoch.into(),
                position,
            });
            let event = BusMessage::Event {
                position,
                previous,
                at: at.map(Millis),
                event,
            };
            for message in [attached, event] {
                assert_eq!(BusMessage::from_json(&message.to_json()), Ok(message));
            }
            let from_edges = [Interest::Everything, Interest::Filter(filter)]
                .map(|interest| EdgeMessage::Attach(Attach::new(interest)));
            for message in from_edges.into_iter().chain([EdgeMessage::Detach]) {
                assert_eq!(EdgeMessage::from_json(&message.to_json()), Ok(message));
            }
        },
    );
}

#[test]
fn the_index_answers_as_asking_each_filter_would() {
    let strategy = (
        vec((any_filter(), any::<bool>()), 0..8),
        vec(any_event(), 1..8),
    );
    check(strategy, |(edges, events)| {
        let mut bus = bus();
        let mut alive = Vec::new();
        for (filter, stays) in edges {
            let edge = attach(&mut bus, Interest::Filter(filter.clone()));
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
fn a_restored_edge_hears_what_it_heard_before() {
    check((any_filter(), any_event()), |(filter, event)| {
        let mut before = bus();
        let edge = before.connect();
        let message = EdgeMessage::Attach(Attach::new(Interest::Filter(filter))).to_json();
        let Ok(Received::Attached { interest, .. }) = before.handle_message(edge, &message) else {
            panic!("not attached");
        };
        let mut after = Bus::new(before.mark().clone());
        after.restore(
            &Interest::from_json(&interest.to_json()).unwrap(),
            before.last(edge),
        );
        assert_eq!(
            after.publish(&event).deliveries,
            before.publish(&event).deliveries
        );
        assert_eq!(after.mark(), before.mark());
    });
}
