use mcp_listen::{
    bus::Bus,
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    listen::{EndReason, ServerStream, StreamKind},
    message,
    position::{Cursor, Position},
    sse,
    upstream::ResumePoint,
    wire::ProtocolError,
};
use proptest::collection::vec;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    alone::{Alone, Frame},
    any::{any_event, any_filter, check},
    follow,
    session_root::session_start,
};

fn edge(filter: SubscriptionFilter) -> Alone {
    let id = RequestId::from_raw("1", 256).unwrap();
    Alone::new(ServerStream::new(id, filter, Millis(15_000), Millis(0)))
}

fn frames(edge: &mut Alone) -> Vec<Frame> {
    std::iter::from_fn(|| edge.poll_frame(Millis(0))).collect()
}

fn bytes(message: &str) -> Frame {
    Frame::Bytes(sse::event(message))
}

#[test]
fn an_event_before_the_confirmation_is_out_of_place() {
    let mut edge = edge(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    edge.attach_message();
    let event = follow::batch(0, 1, &ServerEvent::ToolsListChanged);
    assert_eq!(
        edge.handle_bus_message(&event, Millis(0)),
        Err(ProtocolError::OutOfPlace)
    );
    assert_eq!(edge.cursor(), None);
}

#[test]
fn a_foreign_frame_changes_nothing() {
    let mut edge = edge(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    edge.attach_message();
    for text in [
        "",
        "{}",
        r#"{"v":9,"type":"followed"}"#,
        r#"{"v":1,"type":"followed","seq":1,"epoch":1,"position":1,"after":1}"#,
        r#"{"v":1,"type":"followed","epoch":"e","position":1,"after":1}"#,
    ] {
        assert!(edge.handle_bus_message(text, Millis(0)).is_err());
    }
    assert_eq!(frames(&mut edge), []);
    assert!(edge.stream().is_opening());
}

#[test]
fn a_draining_stream_does_not_claim_events_that_it_drops() {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let stream = ServerStream::with_kind(StreamKind::Session, filter, Millis(0), Millis(0));
    let mut edge = Alone::of_session(stream, session_start(1, ResumePoint::None));
    edge.attach_message();
    let event = ServerEvent::ToolsListChanged;
    let attached = follow::joined(1, 0, &[]);
    for frame in [attached, follow::batch(0, 1, &event)] {
        edge.handle_bus_message(&frame, Millis(0)).unwrap();
    }
    edge.retire(EndReason::Rotated);
    let later = follow::batch(1, 2, &event);
    edge.handle_bus_message(&later, Millis(0)).unwrap();
    let Some(Frame::Bytes(last)) = frames(&mut edge).into_iter().nth(1) else {
        panic!("nothing is written");
    };
    assert!(last.starts_with(b"id: 1-e\n"));
}

#[test]
fn an_empty_filter_is_acknowledged_and_ends() {
    let mut edge = edge(SubscriptionFilter::default());
    let id = RequestId::from_raw("1", 256).unwrap();
    assert_eq!(
        frames(&mut edge),
        [
            bytes(&message::acknowledged(&id, &SubscriptionFilter::default())),
            bytes(&message::listen_result(&id, None)),
            Frame::End,
        ]
    );
}

#[test]
fn bus_and_edge_back_to_back_deliver_exactly_what_was_honored() {
    check(
        (any_filter(), vec(any_event(), 0..20)),
        |(filter, events)| {
            let mut bus = Bus::new(Cursor {
                epoch: "e".into(),
                position: Position(0),
            });
            if filter.is_empty() {
                return;
            }
            let mut edge = edge(filter.clone());
            let number = bus.connect();
            let reply = follow::accepted(&mut bus, number, &edge.attach_message());
            let frame = reply.finish(&mut bus).remove(0);
            edge.handle_bus_message(&frame, Millis(0)).unwrap();
            let id = RequestId::from_raw("1", 256).unwrap();
            assert_eq!(
                frames(&mut edge),
                [bytes(&message::acknowledged(&id, &filter))]
            );
            for event in events {
                let publication = bus.publish(&event);
                let frame = publication.message_for(number);
                assert_eq!(frame.is_some(), filter.accepts(&event));
                let expected: Vec<Frame> = frame
                    .iter()
                    .map(|_| bytes(&message::notification(&id, &event)))
                    .collect();
                if let Some(frame) = frame {
                    edge.handle_bus_message(frame, Millis(0)).unwrap();
                    assert_eq!(edge.cursor().unwrap().position, publication.position);
                }
                assert_eq!(frames(&mut edge), expected);
            }
            assert_eq!(edge.cursor().unwrap().epoch, bus.cursor().epoch);
        },
    );
}

#[test]
fn an_edge_filters_what_a_bus_that_does_not_filter_sends() {
    let mut edge = edge(SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    });
    edge.attach_message();
    let unwanted = follow::batch(0, 1, &ServerEvent::PromptsListChanged);
    for frame in [follow::attached(1, 0, 0), unwanted] {
        edge.handle_bus_message(&frame, Millis(0)).unwrap();
    }
    let filter = edge.stream().honored().clone();
    let id = RequestId::from_raw("1", 256).unwrap();
    assert_eq!(
        frames(&mut edge),
        [bytes(&message::acknowledged(&id, &filter))]
    );
}
