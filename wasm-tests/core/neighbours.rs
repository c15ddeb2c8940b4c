//! Frames of the previous version, as it wrote and read them, against those of this one: a deploy
//! replaces edges and bus at different times.

use mcp_listen::{
    bus::{Bus, EdgeId, Received, ShardId},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    json,
    listen::ServerStream,
    position::{Cursor, Position},
    scope::Name,
    upstream::BusCall,
    wire::{Batch, FollowResponse},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::alone::Alone;
use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{id, updated, uri},
    follow,
    shards::world::bus_with_shards,
};

/// The kinds of events that it reads; it drops events of other kinds, and a bus refuses them.
const KINDS: [&str; 5] = [
    "tools_list_changed",
    "prompts_list_changed",
    "resources_list_changed",
    "resource_updated",
    "task_status",
];

const FOLLOW: &str = r#"{"v":1,"type":"follow","seq":1,"fresh":true,"add":["tools","resource:a"]}"#;
const FOLLOW_SINCE: &str = r#"{"v":1,"type":"follow","seq":2,"fresh":true,"add":["tools","resource:a"],"since":8,"epoch":"e"}"#;
const DETACH: &str = r#"{"v":1,"type":"detach"}"#;
const FOLLOWED: &str =
    r#"{"v":1,"type":"followed","seq":1,"epoch":"e","position":7,"after":7,"events":[]}"#;
const INTEREST: &str = r#"{"v":1,"type":"interest","uris":["a"]}"#;
const TOOLS: &str = r#"{"v":1,"type":"batch","previous":7,"through":8,"events":[{"position":8,"event":{"kind":"tools_list_changed"}}]}"#;
/// An edge whose last sent position is unknown.
const LATER: &str = r#"{"v":1,"type":"batch","through":30,"events":[{"position":30,"event":{"kind":"resource_updated","uri":"a"}}]}"#;

fn edge() -> Alone {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    };
    Alone::new(ServerStream::new(id("1"), filter, Millis(0), Millis(0)))
}

fn bus() -> (Bus, EdgeId) {
    let mut bus = Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(7),
    });
    let edge = bus.connect();
    (bus, edge)
}

#[test]
fn a_bus_of_the_previous_version_is_followed() {
    let mut edge = edge();
    assert_eq!(edge.attach_message(), FOLLOW);
    for frame in [FOLLOWED, TOOLS] {
        edge.handle_bus_message(frame, Millis(0)).unwrap();
    }
    edge.handle_bus_lost(Millis(0), 0.5, false);
    edge.handle_timeout(Millis(2_000), 0.5);
    assert_eq!(edge.poll_call(Millis(2_000)), Some(BusCall::Attach));
    assert_eq!(edge.attach_message(), FOLLOW_SINCE);
    let reply = FOLLOWED
        .replace(":7", ":8")
        .replace(r#""seq":1"#, r#""seq":2"#);
    for frame in [reply.as_str(), LATER] {
        edge.handle_bus_message(frame, Millis(2_000)).unwrap();
    }
    // It belongs to no session.
    edge.handle_bus_message(INTEREST, Millis(2_000))
        .unwrap_err();
    assert_eq!(edge.cursor().unwrap().position, Position(30));
    assert_eq!(edge.poll_call(Millis(60_000)), None);
    assert_eq!(edge.counts().resyncs, 0);
    assert_eq!(edge.stream().pending_cues(), 2);
}

#[test]
fn a_bus_that_does_not_reply_is_left() {
    let mut edge = edge();
    assert_eq!(edge.attach_message(), FOLLOW);
    edge.handle_bus_message(FOLLOWED, Millis(0)).unwrap();
    edge.handle_bus_message("{", Millis(0)).unwrap_err();
    assert_eq!(edge.poll_call(Millis(0)), Some(BusCall::Ask));
    let unmarked = TOOLS.replace(r#""previous":7,"#, "");
    edge.handle_bus_message(&unmarked, Millis(1)).unwrap();
    edge.handle_timeout(Millis(5_000), 0.5);
    assert_eq!(edge.poll_call(Millis(5_000)), Some(BusCall::Leave));
    assert_eq!(edge.poll_call(Millis(5_000)), None);
    edge.handle_timeout(Millis(7_000), 0.5);
    assert_eq!(edge.poll_call(Millis(7_000)), Some(BusCall::Attach));
    // What arrived during a possible gap is requested once more.
    let again = FOLLOW_SINCE.replace(r#""seq":2"#, r#""seq":3"#);
    assert_eq!(edge.attach_message(), again.replace(":8,", ":7,"));
}

#[test]
fn an_edge_of_the_previous_version_is_served() {
    let (mut bus, edge) = bus();
    let reply = follow::accepted(&mut bus, edge, FOLLOW);
    assert_eq!(reply.finish(&mut bus), [FOLLOWED]);
    let second = LATER
        .replace(":30,", ":9,")
        .replace(r#""through""#, r#""previous":8,"through""#);
    for (event, former) in [
        (ServerEvent::ToolsListChanged, TOOLS),
        (updated("a"), &second),
    ] {
        let publication = bus.publish(&event);
        assert_eq!(publication.message_for(edge), Some(former));
    }
    let received = bus.handle_message(edge, DETACH);
    assert!(matches!(received, Ok(Received::Detached)));
}

fn for_acme(event: ServerEvent) -> ServerEvent {
    ServerEvent::ForGroup {
        group: Name::new("acme").unwrap(),
        event: Box::new(event),
    }
}

/// Events that are not for all streams.
fn confidential() -> [ServerEvent; 3] {
    let principal = Name::new("ann").unwrap();
    [
        for_acme(ServerEvent::ToolsListChanged),
        for_acme(updated("a")),
        ServerEvent::Disconnect { principal },
    ]
}

#[test]
fn an_edge_of_the_previous_version_gets_no_group_events() {
    let (mut bus, edge) = bus();
    bus.handle_message(edge, FOLLOW).unwrap();
    for event in confidential() {
        assert_eq!(bus.publish(&event).edges(), [], "{event:?}");
    }
    let published = bus.publish(&ServerEvent::ToolsListChanged);
    assert!(published.message_for(edge).is_some());
}

#[test]
fn a_returning_edge_of_the_previous_version_gets_no_group_events() {
    let (bus, _) = bus();
    let mut bus = bus.with_floor(Position(7));
    let events = confidential();
    for (position, event) in (8..).zip(&events) {
        bus.publish(event);
        bus.index_event(Position(position), event);
    }
    let edge = bus.connect();
    let since = FOLLOW_SINCE.replace(":8,", ":7,");
    bus.handle_message(edge, &since).unwrap();
    assert!(bus.missed(edge, Position(7)).is_empty());
}

#[test]
fn the_previous_version_ignores_group_events() {
    for event in confidential() {
        let text = event.to_json();
        let document = json::read(text.as_bytes(), 64).unwrap();
        let kind = document.root.get("kind").unwrap().as_str().unwrap();
        assert!(!KINDS.contains(&kind), "{text}");
    }
}

#[test]
fn a_shard_of_the_previous_version_gets_no_group_events() {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let shard = ShardId(1);
    let mut root = bus_with_shards(cursor, Position(0), 0, 1);
    root.route("EU", 1, None);
    let follow =
        r#"{"v":1,"type":"follow","seq":1,"edges":1,"add":["tools","resource:a"],"since":0}"#;
    let mut reply = root.handle_follow(shard, follow).unwrap();
    for (position, event) in (1..).zip(confidential()) {
        reply.push_event(&root, Position(position), &event);
    }
    reply.push_event(&root, Position(9), &ServerEvent::ToolsListChanged);
    let Ok(FollowResponse::Followed(reported)) =
        FollowResponse::from_json(&reply.finish(&mut root)[0])
    else {
        panic!("not followed");
    };
    let missed = reported.missed.unwrap().events;
    assert_eq!(missed, [(Position(9), ServerEvent::ToolsListChanged)]);
    for event in confidential() {
        root.publish(&event);
    }
    let position = root.publish(&ServerEvent::ToolsListChanged).position;
    let call = root.poll_batch(Millis(0)).unwrap();
    let sent = Batch::from_json(&call.text).unwrap().events;
    assert_eq!(sent, [(position, ServerEvent::ToolsListChanged)]);
}
