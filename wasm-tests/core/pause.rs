//! The stream of a session whose client is not ready.

use mcp_listen::{
    bus::EdgeId,
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    isolate::SessionStart,
    listen::{EndReason, ServerStream, StreamKind, StreamOutput},
    message,
    position::Position,
    upstream::{BusCall, ResumePoint},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::{Alone, Frame};
use crate::any::{any_event, any_filter, check, updated, uri};
use crate::follow;
use crate::session_root::{SessionRoot, session_start};

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

/// A stream of a session at an edge of its bus, which attached at position 7.
struct Joined {
    session: SessionRoot,
    number: EdgeId,
    edge: Alone,
}

impl Joined {
    fn new(session: SessionRoot) -> Self {
        Self::without(session, &[])
    }

    /// The same for a client that may not receive the `denied` resources.
    fn without(mut session: SessionRoot, denied: &[&str]) -> Self {
        for _ in 0..7 {
            session.publish(&ServerEvent::PromptsListChanged);
        }
        let mut edge = edge(denied);
        Self {
            number: session.attach(&mut edge),
            session,
            edge,
        }
    }

    /// Delivers and returns what the bus sends after a change of the session.
    fn changed(&mut self) -> String {
        let frame = self.session.frame_for(self.number);
        self.edge.handle_bus_message(&frame, T0).unwrap();
        frame
    }

    fn publish(&mut self, event: &ServerEvent) {
        let edge = &mut self.edge;
        self.session.publish_to(self.number, edge, event);
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

fn edge(denied: &[&str]) -> Alone {
    let start = SessionStart {
        denied: denied.iter().map(|name| uri(name)).collect(),
        ..session_start(1, ResumePoint::None)
    };
    Alone::of_session(stream(&lists()), start)
}

#[test]
fn an_attach_needs_the_subscriptions_of_its_session() {
    let mut edge = edge(&[]);
    edge.attach_message();
    let frame = follow::attached(1, 0, 0);
    edge.handle_bus_message(&frame, T0).unwrap();
    assert!(edge.stream().is_opening());
    SessionRoot::paused().attach(&mut edge);
    assert!(!edge.stream().is_opening());
}

#[test]
fn a_paused_stream_verifies_when_an_event_comes() {
    let mut joined = Joined::new(SessionRoot::paused());
    joined.session.ready();
    let lost = joined.session.frame_for(joined.number);
    assert_eq!(joined.edge.poll_call(T0), None);
    joined.publish(&ServerEvent::ToolsListChanged);
    assert_eq!(joined.edge.poll_call(T0), Some(BusCall::Ask));
    joined.edge.handle_bus_message(&lost, T0).unwrap();
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
    let mut joined = Joined::new(SessionRoot::paused());
    joined.session.watch("a");
    assert_eq!(
        joined.changed(),
        r#"{"v":1,"type":"interest","uris":["a"],"paused":true}"#
    );
    joined.publish(&updated("a"));
    assert_eq!(joined.text(), "id: 7-e\ndata: \n\n");
    joined.session.watch("b");
    joined.changed();
    assert_eq!(joined.text(), "");
    joined.session.ready();
    assert_eq!(
        joined.changed(),
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
        let mut joined = Joined::new(SessionRoot::new());
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
    let mut session = SessionRoot::new();
    session.watch("a");
    session.watch("b");
    let mut joined = Joined::without(session, &["a", "never watched"]);
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
    let mut session = SessionRoot::new();
    session.watch("a");
    let mut joined = Joined::without(session, &["a"]);
    joined.session.watch("b");
    joined.changed();
    joined.publish(&updated("a"));
    assert!(!joined.text().contains("updated"));
    joined.session.unwatch("a");
    joined.changed();
    joined.session.watch("a");
    joined.changed();
    joined.publish(&updated("a"));
    assert!(joined.text().contains(r#""uri":"a""#));
}
