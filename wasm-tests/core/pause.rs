//! The stream of a session whose client is not ready.

use mcp_listen::{
    bus::{Bus, EdgeId},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamKind, StreamOutput},
    message,
    position::{Cursor, Position},
    upstream::{BusCall, ResumePoint},
    wire::SessionInterest,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::{Alone, Frame};
use crate::any::{any_event, any_filter, check, claim, updated, uri};
use crate::follow;
use crate::follow::{Publish as _, Receivers as _};

const T0: Millis = Millis(0);

fn lists() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    }
}

fn stream(filter: &SubscriptionFilter) -> ServerStream {
    ServerStream::with_kind(StreamKind::Session, filter.clone(), Millis(15_000), T0)
}

fn paused() -> ServerStream {
    let mut stream = stream(&lists());
    stream.set_paused(true);
    stream.handle_attached(T0);
    assert_eq!(drain(&mut stream), [StreamOutput::Opened]);
    stream
}

fn drain(stream: &mut ServerStream) -> Vec<StreamOutput> {
    std::iter::from_fn(|| stream.poll_output(T0)).collect()
}

fn cue(event: &ServerEvent) -> StreamOutput {
    StreamOutput::Message(message::plain_notification(event))
}

/// An edge on a bus, which is sent the subscriptions of its session as a host sends them.
struct Joined {
    bus: Bus,
    number: EdgeId,
    edge: Alone,
}

impl Joined {
    fn new(denied: &[&str]) -> Self {
        let cursor = Cursor {
            epoch: "e".into(),
            position: Position(7),
        };
        let mut bus = Bus::new(cursor);
        let number = bus.connect();
        let denied = denied.iter().map(|name| uri(name)).collect();
        let mut edge = Alone::of_session(stream(&lists()), ResumePoint::None, denied);
        let attach = edge.attach_message();
        bus.handle_message(number, &attach).unwrap();
        Self { bus, number, edge }
    }

    fn watch(&mut self, uris: &[&str], is_paused: bool) -> String {
        let uris: Vec<_> = uris.iter().map(|name| uri(name)).collect();
        let frame = self
            .bus
            .set_interest(self.number, &uris, is_paused)
            .unwrap();
        self.edge.handle_bus_message(&frame, T0).unwrap();
        frame
    }

    /// The bus answers the last request of the stream with these subscriptions of its session.
    fn attached(&mut self, uris: &[&str], is_paused: bool) {
        let uris: Vec<_> = uris.iter().map(|name| uri(name)).collect();
        self.bus
            .set_interest(self.number, &uris, is_paused)
            .unwrap();
        let session = claim("s 1");
        let interest = SessionInterest {
            session,
            uris,
            is_paused,
        };
        let frame = follow::joined_as(1, 7, interest);
        self.edge.handle_bus_message(&frame, T0).unwrap();
    }

    fn publish(&mut self, event: &ServerEvent) {
        let publication = self.bus.publish(event);
        if let Some(frame) = publication.message_for(self.number) {
            self.edge.handle_bus_message(frame, T0).unwrap();
        }
    }

    fn text(&mut self) -> String {
        let edge = &mut self.edge;
        let frames = std::iter::from_fn(|| match edge.poll_frame(T0) {
            Some(Frame::Bytes(bytes)) => Some(bytes),
            Some(Frame::End) | None => None,
        });
        String::from_utf8(frames.flatten().collect()).unwrap()
    }
}

#[test]
fn an_attach_needs_the_subscriptions_of_its_session() {
    let mut joined = Joined::new(&[]);
    let frame = follow::attached(1, 7, 7);
    joined.edge.handle_bus_message(&frame, T0).unwrap();
    assert!(joined.edge.stream().is_opening());
    joined.attached(&["a"], true);
    assert!(!joined.edge.stream().is_opening());
}

#[test]
fn a_paused_stream_verifies_when_an_event_comes() {
    let mut joined = Joined::new(&[]);
    joined.attached(&[], true);
    joined.bus.set_interest(joined.number, &[], false);
    assert_eq!(joined.edge.poll_call(T0), None);
    joined.publish(&ServerEvent::ToolsListChanged);
    assert_eq!(joined.edge.poll_call(T0), Some(BusCall::Ask));
    joined.watch(&[], false);
    assert!(joined.text().contains("tools/list_changed"));
}

#[test]
fn a_paused_stream_opens_and_sends_only_keep_alives() {
    let mut stream = paused();
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_gap();
    assert_eq!(drain(&mut stream), []);
    stream.handle_timeout(Millis(15_000));
    assert_eq!(drain(&mut stream), [StreamOutput::KeepAlive]);
    stream.set_paused(false);
    assert_eq!(drain(&mut stream), [cue(&ServerEvent::ToolsListChanged)]);
}

#[test]
fn a_paused_stream_closes_without_its_cues() {
    let mut stream = paused();
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.close();
    assert_eq!(drain(&mut stream), [StreamOutput::End]);
}

#[test]
fn a_paused_cue_does_not_stall_the_client() {
    let mut stream = paused();
    stream.stall_after(Millis(1_000));
    stream.handle_event(&ServerEvent::ToolsListChanged);
    stream.handle_blocked(T0);
    stream.handle_timeout(Millis(1_000));
    assert_eq!(stream.end_reason(), None);
    stream.set_paused(false);
    stream.handle_blocked(Millis(1_000));
    stream.handle_timeout(Millis(2_000));
    assert_eq!(stream.end_reason(), Some(EndReason::Stalled));
}

#[test]
fn pending_cues_are_sent_after_the_pause() {
    check(
        (any_filter(), vec(any_event(), 0..20), any::<bool>()),
        |(filter, events, is_attached_first)| {
            let mut stream = stream(&filter);
            stream.set_paused(true);
            if is_attached_first {
                stream.handle_attached(T0);
            }
            for event in &events {
                stream.handle_event(event);
                assert!(
                    drain(&mut stream)
                        .iter()
                        .all(|said| *said == StreamOutput::Opened)
                );
            }
            stream.handle_attached(T0);
            let waiting = stream.pending_cues();
            stream.set_paused(false);
            let said = drain(&mut stream);
            let cues = said.iter().filter(|said| **said != StreamOutput::Opened);
            assert_eq!(cues.count(), waiting);
            let wanted = events.iter().filter(|event| filter.accepts(event));
            assert_eq!(wanted.count() > 0, waiting > 0);
        },
    );
}

#[test]
fn the_bus_reports_whether_a_stream_is_paused() {
    let mut joined = Joined::new(&[]);
    joined.attached(&[], false);
    assert_eq!(
        joined.watch(&["a"], true),
        r#"{"v":1,"type":"interest","uris":["a"],"paused":true}"#
    );
    joined.publish(&updated("a"));
    assert_eq!(joined.text(), "id: 7-e\ndata: \n\n");
    assert_eq!(
        joined.watch(&["a", "b"], false),
        r#"{"v":1,"type":"interest","uris":["a","b"]}"#
    );
    let change = message::plain_notification(&updated("a"));
    assert_eq!(
        joined.text(),
        format!("id: 8-e\nevent: message\ndata: {change}\n\n")
    );
}

#[test]
fn a_frame_without_a_valid_pause_flag_is_malformed() {
    for (held, is_frame) in [
        ("false", true),
        ("1", false),
        ("\"true\"", false),
        ("null", false),
    ] {
        let mut joined = Joined::new(&[]);
        joined.attached(&[], false);
        joined.text();
        let frame = format!(r#"{{"v":1,"type":"interest","paused":{held}}}"#);
        let handled = joined.edge.handle_bus_message(&frame, T0);
        assert_eq!(handled.is_ok(), is_frame, "{held}");
        joined.publish(&ServerEvent::ToolsListChanged);
        assert!(joined.text().contains("tools/list_changed"), "{held}");
    }
}

#[test]
fn denied_resources_are_removed_from_the_subscriptions() {
    let mut joined = Joined::new(&["a", "never watched"]);
    joined.attached(&["a", "b"], false);
    joined.text();
    for event in [updated("a"), updated("b"), ServerEvent::ToolsListChanged] {
        joined.publish(&event);
    }
    assert_eq!(joined.edge.counts().gaps, 0, "what is denied is not amiss");
    assert_eq!(joined.edge.cursor().unwrap().position, Position(10));
    joined.edge.miss();
    let said = joined.text();
    assert!(!said.contains(r#""uri":"a""#), "{said}");
    assert_eq!(said.matches("resources/updated").count(), 1);
    assert_eq!(said.matches("tools/list_changed").count(), 1);
}

#[test]
fn a_new_subscription_to_a_denied_resource_is_served() {
    let mut joined = Joined::new(&["a"]);
    joined.attached(&["a"], false);
    joined.watch(&["a", "b"], false);
    joined.publish(&updated("a"));
    assert!(!joined.text().contains("updated"));
    joined.watch(&["b"], false);
    joined.watch(&["b", "a"], false);
    joined.publish(&updated("a"));
    assert!(joined.text().contains(r#""uri":"a""#));
}
