//! How a stream handles lost events of its bus, and the position from which it requests missed
//! ones.

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamOutput},
    message,
    scope::{Name, Scope},
    upstream::BusCall,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::Alone;
use crate::{any::id, follow};

const T0: Millis = Millis(0);

/// Returns the topics of a caller with this name and these groups.
fn filter(principal: &str, groups: &[&str]) -> SubscriptionFilter {
    let names = |texts: &[&str]| texts.iter().map(|text| Name::new(text).unwrap()).collect();
    SubscriptionFilter {
        tools_list_changed: true,
        scope: Scope {
            groups: names(groups),
            principals: names(&[principal]),
            disconnects: false,
        },
        ..SubscriptionFilter::default()
    }
}

/// A stream that has sent its acknowledgment.
fn open(filter: SubscriptionFilter) -> ServerStream {
    let mut stream = ServerStream::new(id("1"), filter, T0, T0);
    stream.handle_attached(T0);
    stream.poll_output(T0).unwrap();
    stream
}

fn cue() -> StreamOutput {
    StreamOutput::Message(message::notification(
        &id("1"),
        &ServerEvent::ToolsListChanged,
    ))
}

#[test]
fn a_possible_loss_ends_the_streams_of_named_callers() {
    let mut named = open(filter("ann", &[]));
    named.handle_loss();
    assert_eq!(named.end_reason(), Some(EndReason::Denied));
    assert_eq!(named.poll_output(T0), Some(StreamOutput::End));
    let unnamed = SubscriptionFilter {
        scope: Scope::default(),
        ..filter("ann", &[])
    };
    let mut unnamed = open(unnamed);
    unnamed.handle_loss();
    assert_eq!(unnamed.poll_output(T0), Some(cue()));
}

#[test]
fn a_possible_loss_reauthorizes_named_callers_with_a_grant() {
    let honored = filter("ann", &[]);
    let mut stream = open(honored.clone());
    stream.grant_for(Millis(60_000), T0);
    stream.handle_loss();
    assert_eq!(stream.poll_output(T0), None);
    assert!(stream.poll_question().is_some());
    // Another loss: the reply belongs to an earlier request.
    stream.handle_loss();
    stream.handle_granted(&honored, T0);
    assert_eq!(stream.poll_output(T0), None);
    assert!(stream.poll_question().is_some());
    stream.handle_granted(&honored, T0);
    assert_eq!(stream.poll_output(T0), Some(cue()));
    assert!(stream.is_open());
}

#[test]
fn a_request_without_a_reply_is_repeated_from_the_same_position() {
    let stream = ServerStream::new(id("1"), filter("ann", &[]), T0, T0);
    let mut edge = Alone::new(stream);
    edge.attach_message();
    edge.handle_bus_message(&follow::attached(1, 0, 0), T0)
        .unwrap();
    let scope = filter("ann", &["acme"]).scope;
    edge.handle_scope(scope, T0);
    assert_eq!(edge.poll_call(Millis(1_000)), Some(BusCall::Ask));
    // An earlier event for the new group, which a bus that was not asked yet does not send.
    let event = follow::batch(0, 2, &ServerEvent::ToolsListChanged);
    edge.handle_bus_message(&event, T0).unwrap();
    edge.handle_bus_lost(T0, 0.5, false);
    let now = Millis(60_000);
    assert_eq!(edge.poll_call(now), Some(BusCall::Attach));
    let attach = edge.attach_message();
    assert!(attach.ends_with(r#""since":0,"epoch":"e"}"#), "{attach}");
}
