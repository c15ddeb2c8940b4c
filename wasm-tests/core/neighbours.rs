//! Frames of the version before, as it wrote and read them, against those of this one: a deploy
//! replaces edges and bus at different moments.

use mcp_listen::{
    bus::{EdgeId, Hub, Mark, Position, Received},
    clock::Millis,
    edge::{BusCall, Edge},
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::ServerStream,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{id, updated, uri};

const ATTACH: &str =
    r#"{"v":1,"type":"attach","interest":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}"#;
const ATTACH_SINCE: &str = r#"{"v":1,"type":"attach","interest":{"toolsListChanged":true,"resourceSubscriptions":["a"]},"since":{"epoch":"e","position":8}}"#;
const DETACH: &str = r#"{"v":1,"type":"detach"}"#;
const ATTACHED: &str = r#"{"v":1,"type":"attached","epoch":"e","position":7,"adjust":true}"#;
const INTEREST: &str = r#"{"v":1,"type":"interest","interest":{"toolsListChanged":true}}"#;
const TOOLS: &str = r#"{"v":1,"type":"event","position":8,"event":{"kind":"tools_list_changed"}}"#;
const LATER: &str =
    r#"{"v":1,"type":"event","position":30,"event":{"kind":"resource_updated","uri":"a"}}"#;

fn edge() -> Edge {
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a")],
        ..SubscriptionFilter::default()
    };
    Edge::new(ServerStream::new(id("1"), filter, Millis(0), Millis(0)))
}

fn hub() -> (Hub, EdgeId) {
    let mut hub = Hub::new(Mark {
        epoch: "e".into(),
        position: Position(7),
    });
    let edge = hub.connect();
    (hub, edge)
}

#[test]
fn a_bus_of_the_version_before_is_followed() {
    let mut edge = edge();
    assert_eq!(edge.attach_message(), ATTACH);
    for frame in [ATTACHED, TOOLS] {
        edge.handle_bus_message(frame, Millis(0)).unwrap();
    }
    edge.handle_bus_lost(Millis(0), 0.5, false);
    edge.handle_timeout(Millis(2_000), 0.5);
    assert_eq!(edge.poll_call(Millis(2_000)), Some(BusCall::Attach));
    assert_eq!(edge.attach_message(), ATTACH_SINCE);
    let answer = ATTACHED.replace(":7", ":8");
    for frame in [answer.as_str(), LATER, INTEREST] {
        edge.handle_bus_message(frame, Millis(2_000)).unwrap();
    }
    assert_eq!(edge.mark().unwrap().position, Position(30));
    assert_eq!(edge.poll_call(Millis(60_000)), None);
    assert_eq!(edge.counts().resyncs, 0);
    assert_eq!(
        edge.stream().pending_cues(),
        1,
        "the interest took one away"
    );
}

#[test]
fn a_bus_of_the_version_before_answers_no_second_attach_and_is_left() {
    let mut edge = edge();
    edge.handle_bus_message(ATTACHED, Millis(0)).unwrap();
    edge.handle_bus_message("{", Millis(0)).unwrap_err();
    assert_eq!(edge.poll_call(Millis(0)), Some(BusCall::Ask));
    edge.handle_bus_message(TOOLS, Millis(1)).unwrap();
    edge.handle_timeout(Millis(5_000), 0.5);
    assert_eq!(edge.poll_call(Millis(5_000)), Some(BusCall::Leave));
    assert_eq!(edge.poll_call(Millis(5_000)), None);
    edge.handle_timeout(Millis(7_000), 0.5);
    assert_eq!(edge.poll_call(Millis(7_000)), Some(BusCall::Attach));
    // What came in doubt is asked for once more.
    assert_eq!(edge.attach_message(), ATTACH_SINCE.replace(":8}", ":7}"));
}

#[test]
fn an_edge_of_the_version_before_is_served() {
    let (mut hub, edge) = hub();
    let Ok(Received::Attached { answer, .. }) = hub.handle_message(edge, ATTACH) else {
        panic!("not attached");
    };
    assert_eq!(answer, ATTACHED);
    for (event, former) in [
        (ServerEvent::ToolsListChanged, TOOLS),
        (updated("a"), &LATER.replace(":30,", ":9,")),
    ] {
        let publication = hub.publish(&event);
        // It passes over the one member that it does not know.
        let frame = publication.message_for(edge).unwrap();
        let previous = format!(r#""previous":{},"#, publication.position.previous().0);
        assert_eq!(frame.replace(&previous, ""), former);
    }
    assert_eq!(hub.handle_message(edge, DETACH), Ok(Received::Detached));
}
