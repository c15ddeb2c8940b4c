use std::collections::BTreeSet;

use mcp_listen::{
    bus::{Bus, EdgeId},
    clock::Millis,
    event::{ServerEvent, ServerEventError},
    fanout::Fanout,
    filter::SubscriptionFilter,
    isolate::{Isolate, IsolateOutput},
    limits::Limits,
    listen::{EndReason, ServerStream, StreamKind, StreamOutput},
    message,
    position::{Cursor, Position},
    scope::{Name, Scope},
    topic::Topic,
    upstream::{BusCall, ResumePoint, Timeouts, UpstreamCall},
    uri::Uri,
    wire::Follow,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::Alone;
use crate::any::{id, updated};
use crate::follow;
use crate::follow::{Publish as _, Receivers as _};
use crate::session_root::session_start;

const T0: Millis = Millis(0);
const TOOLS: ServerEvent = ServerEvent::ToolsListChanged;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn of(group: &str, event: ServerEvent) -> ServerEvent {
    let group = name(group);
    let event = Box::new(event);
    ServerEvent::ForGroup { group, event }
}

fn disconnected(principal: &str) -> ServerEvent {
    ServerEvent::Disconnect {
        principal: name(principal),
    }
}

/// Returns the topics of a caller and its groups, with the list of tools.
fn filter(principal: &str, groups: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        scope: Scope {
            groups: groups.iter().map(|text| name(text)).collect(),
            principals: vec![name(principal)],
            disconnects: false,
        },
        ..SubscriptionFilter::default()
    }
}

fn bus() -> Bus {
    Bus::new(cursor(0))
}

fn cursor(position: u64) -> Cursor {
    let position = Position(position);
    let epoch = "e".into();
    Cursor { epoch, position }
}

fn attach(bus: &mut Bus, filter: &SubscriptionFilter) -> EdgeId {
    let edge = bus.connect();
    let message = follow::fresh(1, filter).to_json();
    assert!(bus.handle_message(edge, &message).is_ok());
    edge
}

#[test]
fn group_events_and_disconnects_round_trip() {
    for event in [
        of("acme", TOOLS),
        of("a\"b", updated("x")),
        disconnected("ann"),
    ] {
        assert_eq!(ServerEvent::from_json(&event.to_json()), Ok(event));
    }
    assert_eq!(
        of("acme", TOOLS).to_json(),
        r#"{"kind":"for_group","group":"acme","event":{"kind":"tools_list_changed"}}"#
    );
    assert_eq!(
        disconnected("ann").to_json(),
        r#"{"kind":"disconnect","principal":"ann"}"#
    );
}

#[test]
fn invalid_group_events_and_disconnects_are_refused() {
    let nested = r#"{"kind":"for_group","group":"a","event":{"kind":"for_group","group":"b","event":{"kind":"tools_list_changed"}}}"#;
    for (text, error) in [
        (nested, ServerEventError::UnknownKind),
        (
            r#"{"kind":"for_group","group":"a","event":{"kind":"disconnect","principal":"b"}}"#,
            ServerEventError::UnknownKind,
        ),
        (
            r#"{"kind":"for_group","event":{"kind":"tools_list_changed"}}"#,
            ServerEventError::Group,
        ),
        (
            r#"{"kind":"for_group","group":"","event":{"kind":"tools_list_changed"}}"#,
            ServerEventError::Group,
        ),
        (
            r#"{"kind":"for_group","group":"a"}"#,
            ServerEventError::Malformed,
        ),
        (r#"{"kind":"disconnect"}"#, ServerEventError::Principal),
        (
            r#"{"kind":"disconnect","principal":"a\u000ab"}"#,
            ServerEventError::Principal,
        ),
    ] {
        assert_eq!(ServerEvent::from_json(text), Err(error), "{text}");
    }
}

#[test]
fn clients_can_neither_request_nor_see_groups() {
    let text =
        r#"{"toolsListChanged":true,"groups":["acme"],"principals":["ann"],"disconnects":true}"#;
    let read = SubscriptionFilter::from_json(text, &Limits::default()).unwrap();
    assert!(read.scope.is_empty());
    let acknowledged = message::acknowledged(&id("1"), &filter("ann", &["acme"]));
    assert!(!acknowledged.contains("acme") && !acknowledged.contains("ann"));
}

#[test]
fn a_bus_sends_group_events_only_to_that_group() {
    let mut bus = bus();
    let ann = attach(&mut bus, &filter("ann", &["acme"]));
    let ben = attach(&mut bus, &filter("ben", &["acme", "bolt"]));
    let cid = attach(&mut bus, &filter("cid", &[]));
    assert_eq!(bus.publish(&of("acme", TOOLS)).edges(), [ann, ben]);
    assert_eq!(bus.publish(&of("bolt", TOOLS)).edges(), [ben]);
    assert_eq!(bus.publish(&of("acme", updated("x"))).edges(), []);
    assert_eq!(bus.publish(&TOOLS).edges(), [ann, ben, cid]);
    assert_eq!(bus.publish(&disconnected("cid")).edges(), [cid]);
    bus.disconnect(ben);
    assert_eq!(bus.publish(&of("bolt", TOOLS)).edges(), []);
}

#[test]
fn a_returning_edge_gets_missed_group_events_and_disconnects() {
    let mut bus = bus();
    let events = [
        TOOLS,
        of("acme", TOOLS),
        of("bolt", TOOLS),
        disconnected("ben"),
        disconnected("ann"),
    ];
    for (place, event) in (1..).zip(&events) {
        bus.publish(event);
        bus.index_event(Position(place), event);
    }
    let reported = |bus: &mut Bus, topics: Vec<Topic>| {
        let edge = bus.connect();
        let text = Follow::fresh(1, topics).since(&cursor(0)).to_json();
        follow::accepted(bus, edge, &text);
        let missed = bus.missed(edge, Position(0)).into_iter();
        missed.map(|position| position.0).collect::<Vec<_>>()
    };
    let mut bus = bus.with_floor(Position(0));
    let ann = filter("ann", &["acme"]).topics();
    assert_eq!(reported(&mut bus, ann), [1, 2, 5]);
    let cid = filter("cid", &[]).topics();
    assert_eq!(reported(&mut bus, cid), [1]);
    assert_eq!(reported(&mut bus, vec![Topic::Everything]), [1, 2, 3, 4, 5]);
}

#[test]
fn a_change_adds_and_drops_groups() {
    let scoped = |groups: &[&str]| filter("ann", groups);
    let change = follow::change(1, &scoped(&["bolt"]), &scoped(&["acme"]));
    assert_eq!(Follow::from_json(&change.to_json()), Ok(change.clone()));
    let mut topics = follow::topics(&scoped(&["acme"]));
    topics.apply(change.delta());
    assert!(topics.iter().eq(follow::topics(&scoped(&["bolt"])).iter()));
}

#[test]
fn no_uri_is_taken_for_another_topic() {
    let uris = ["group:acme", "group:", "disconnects", "everything", "tools"];
    let resources = uris.map(|text| Topic::Resource(Uri::new(text, 100).unwrap()));
    let others = [Topic::Group(name("acme")), Topic::Disconnects];
    let topics: Vec<Topic> = resources.into_iter().chain(others).collect();
    let texts: BTreeSet<String> = topics.iter().map(Topic::to_text).collect();
    assert_eq!(texts.len(), topics.len(), "{texts:?}");
    for topic in topics {
        assert_eq!(Topic::from_text(&topic.to_text()), Some(topic));
    }
}

fn open(filter: SubscriptionFilter) -> ServerStream {
    let mut stream = ServerStream::new(id("1"), filter, T0, T0);
    stream.handle_attached(T0);
    stream.poll_output(T0);
    stream
}

fn cue() -> StreamOutput {
    StreamOutput::Message(message::notification(&id("1"), &TOOLS))
}

#[test]
fn a_stream_gets_one_cue_for_group_and_common_events() {
    let mut stream = open(filter("ann", &["acme"]));
    stream.handle_event(&of("bolt", TOOLS));
    assert_eq!(stream.poll_output(T0), None);
    stream.handle_event(&of("acme", TOOLS));
    stream.handle_event(&of("bolt", TOOLS));
    stream.handle_event(&TOOLS);
    assert_eq!(stream.poll_output(T0), Some(cue()));
    stream.handle_event(&of("bolt", TOOLS));
    assert_eq!(stream.poll_output(T0), None);
}

#[test]
fn a_disconnected_caller_gets_nothing_more() {
    let mut stream = open(filter("ann", &[]));
    stream.handle_event(&disconnected("ben"));
    stream.handle_event(&TOOLS);
    stream.handle_event(&disconnected("ann"));
    assert_eq!(stream.end_reason(), Some(EndReason::Denied));
    assert_eq!(stream.poll_output(T0), Some(StreamOutput::End));
}

#[test]
fn a_fanout_writes_group_events_to_that_group_and_ends_disconnected_streams() {
    let mut fanout = Fanout::default();
    let [ann, ben] = [("ann", "acme"), ("ben", "bolt")].map(|(name, group)| {
        let stream = ServerStream::new(id("1"), filter(name, &[group]), T0, T0);
        let opened = fanout.open(stream, T0);
        fanout.handle_attached(opened, T0);
        fanout.poll(opened, T0);
        opened
    });
    let received = |fanout: &mut Fanout, event| {
        let batch = fanout.publish(event, T0, T0);
        let writes = batch.writes.iter().map(|(stream, _)| *stream);
        writes.collect::<Vec<_>>()
    };
    assert_eq!(received(&mut fanout, of("acme", TOOLS)), [ann]);
    assert_eq!(received(&mut fanout, of("bolt", TOOLS)), [ben]);
    assert_eq!(received(&mut fanout, of("acme", updated("x"))), []);
    let both = vec![of("acme", TOOLS), of("bolt", TOOLS)];
    assert_eq!(fanout.publish_all(both, T0, T0).writes.len(), 2);
    assert_eq!(received(&mut fanout, disconnected("ann")), []);
    assert_eq!(fanout.take_due(), [ann]);
    assert_eq!(fanout.remove(ann), Some(EndReason::Denied));
    assert_eq!(received(&mut fanout, TOOLS), [ben]);
}

#[test]
fn an_isolate_follows_all_groups_and_disconnects_of_its_streams() {
    let mut isolate = Isolate::new(Timeouts::default(), T0);
    let [ann, ben] = [filter("ann", &["acme"]), filter("ben", &["bolt"])].map(|filter| {
        let stream = ServerStream::new(id("1"), filter, T0, T0);
        isolate.open(stream, T0)
    });
    isolate.handle_timeout(T0, 0.5);
    let Some(UpstreamCall::Attach(text)) = isolate.poll_call(T0) else {
        panic!("no attach");
    };
    assert!(text.contains(r#""group:acme","group:bolt","disconnects""#));
    let mut bus = bus();
    let edge = bus.connect();
    let reply = follow::accepted(&mut bus, edge, &text);
    let frame = reply.finish(&mut bus).remove(0);
    isolate.handle_message(&frame, T0).unwrap();
    while isolate.poll_output(T0).is_some() {}
    for stream in [ann, ben] {
        assert!(isolate.fanout().poll(stream, T0).is_some());
    }
    for (event, wanted, ended) in [
        (of("acme", TOOLS), vec![ann], vec![]),
        (of("bolt", TOOLS), vec![ben], vec![]),
        (of("acme", updated("x")), vec![], vec![]),
        (disconnected("ben"), vec![], vec![ben]),
    ] {
        let publication = bus.publish(&event);
        if let Some(frame) = publication.message_for(edge) {
            isolate.handle_message(frame, T0).unwrap();
        }
        let mut reported = Vec::new();
        while let Some(IsolateOutput::Write(batch)) = isolate.poll_output(T0) {
            reported.extend(batch.writes.into_iter().map(|(id, _)| id));
        }
        let due = isolate.fanout().take_due();
        assert_eq!((reported, due), (wanted, ended), "{event:?}");
    }
}

/// The stream of a session that returns to the bus, which replays what happened since.
fn resumed() -> Alone {
    let stream = ServerStream::with_kind(StreamKind::Session, filter("ann", &[]), T0, T0);
    let mut edge = Alone::of_session(stream, session_start(1, ResumePoint::Since(cursor(0))));
    edge.attach_message();
    edge.handle_bus_message(&follow::joined(1, 0, &[]), T0)
        .unwrap();
    edge
}

#[test]
fn a_disconnect_before_the_stream_opened_is_ignored() {
    let mut edge = resumed();
    let before = follow::batch(0, 1, &disconnected("ann"));
    edge.handle_bus_message(&before, T0).unwrap();
    assert!(edge.stream().is_open());
    let live =
        follow::batch(1, 2, &disconnected("ann")).replace(r#","events""#, r#","at":5,"events""#);
    edge.handle_bus_message(&live, T0).unwrap();
    assert_eq!(edge.stream().end_reason(), Some(EndReason::Denied));
}

#[test]
fn a_disconnect_during_an_outage_applies_after_it() {
    let mut edge = resumed();
    edge.handle_bus_lost(T0, 0.5, false);
    let now = Millis(60_000);
    edge.handle_timeout(now, 0.5);
    assert_eq!(edge.poll_call(now), Some(BusCall::Attach));
    for frame in [
        follow::joined(2, 0, &[]),
        follow::batch(0, 1, &disconnected("ann")),
    ] {
        edge.handle_bus_message(&frame, now).unwrap();
    }
    assert_eq!(edge.stream().end_reason(), Some(EndReason::Denied));
}

#[test]
fn an_edge_filters_by_its_own_groups() {
    let mut edge = resumed();
    let watched = r#"{"v":1,"type":"interest","groups":["bolt"],"add":["group:bolt"]}"#;
    edge.handle_bus_message(watched, T0).unwrap();
    assert_eq!(edge.stream().honored(), &filter("ann", &[]));
}
